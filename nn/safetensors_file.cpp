#include "nn/safetensors_file.hpp"

#include "core/error.hpp"
#include "core/nearest.hpp"
#include "core/safe_file.hpp"
#include "nn/safetensors_header.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>
#include <system_error>

namespace vitruvian {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors' bytes are little-endian");

constexpr std::uint64_t largest_header = std::uint64_t{16} << 20U;

std::size_t width(Dtype dtype) { return dtype == Dtype::f32 ? sizeof(float) : sizeof(double); }

// The bytes that a shape needs; throws when 64 bits do not hold them, or memory does not.
std::uint64_t bytes_needed(const HeaderEntry& e, const std::string& source) {
  std::uint64_t product = width(*e.dtype);
  // A length of 0 makes the product 0 wherever it stands, but must not hide an overflow before it.
  for (const std::uint64_t n : *e.shape) {
    if (n != 0 && product > std::numeric_limits<std::ptrdiff_t>::max() / n) {
      fail(Exit::checkpoint, "{}: the shape of '{}' ({}) overflows", source, e.name,
           fmt::join(*e.shape, ", "));
    }
    product *= std::max<std::uint64_t>(n, 1);
  }
  return std::find(e.shape->begin(), e.shape->end(), 0U) == e.shape->end() ? product : 0;
}

// Tensors in the order of their bytes must touch one another and fill the data.
void check_layout(std::vector<HeaderEntry>& entries, std::uint64_t data_size,
                  const std::string& source) {
  std::sort(entries.begin(), entries.end(),
            [](const HeaderEntry& a, const HeaderEntry& b) { return *a.offsets < *b.offsets; });
  std::uint64_t expected = 0;
  const std::string* before = nullptr;
  for (const HeaderEntry& e : entries) {
    const std::uint64_t begin = e.offsets->front();
    const std::uint64_t end = e.offsets->back();
    if (begin > end || end > data_size) {
      fail(Exit::checkpoint,
           "{}: '{}' lies at bytes [{}, {}) of {}: the file is cut short or wrong", source, e.name,
           begin, end, data_size);
    }
    if (const std::uint64_t needed = bytes_needed(e, source); needed != end - begin) {
      fail(Exit::checkpoint, "{}: '{}' of shape ({}) needs {} bytes but has {}", source, e.name,
           fmt::join(*e.shape, ", "), needed, end - begin);
    }
    if (begin < expected) {
      fail(Exit::checkpoint, "{}: '{}' and '{}' overlap", source, *before, e.name);
    }
    if (begin > expected) {
      fail(Exit::checkpoint, "{}: bytes [{}, {}) before '{}' belong to nobody", source, expected,
           begin, e.name);
    }
    expected = end;
    before = &e.name;
  }
  if (expected != data_size) {
    fail(Exit::checkpoint, "{}: the last {} bytes belong to nobody", source, data_size - expected);
  }
}

[[noreturn]] void fail_on(const std::string& path, int error) {
  fail(Exit::checkpoint, "{}: cannot be read: {}", path, std::system_category().message(error));
}

// A file descriptor that closes itself.
struct Descriptor {
  int number;
  explicit Descriptor(int n) : number(n) {}
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
};

std::vector<char> read_whole(const std::string& path) {
  // Not blocking: a pipe must be refused, not waited for.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.number < 0) fail_on(path, errno);
  struct ::stat info = {};
  if (::fstat(file.number, &info) != 0) fail_on(path, errno);
  if (!S_ISREG(info.st_mode)) fail(Exit::checkpoint, "{}: it is not a regular file", path);
  std::vector<char> bytes(static_cast<std::size_t>(info.st_size));
  for (std::size_t done = 0; done < bytes.size();) {
    const ::ssize_t n = ::read(file.number, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno != EINTR) fail_on(path, errno);
    if (n == 0) fail(Exit::checkpoint, "{}: the file shrank while it was read", path);
    if (n > 0) done += static_cast<std::size_t>(n);
  }
  return bytes;
}

}  // namespace

std::size_t StoredTensor::size() const { return bytes.size() / width(dtype); }

double StoredTensor::operator[](std::size_t i) const {
  if (dtype == Dtype::f64) {
    double value = 0;
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    return value;
  }
  float value = 0;
  std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
  return static_cast<double>(value);
}

const StoredTensor& Safetensors::at(std::string_view name) const {
  std::vector<std::string> names;
  for (const StoredTensor& t : tensors) {
    if (t.name == name) return t;
    names.push_back(t.name);
  }
  const std::string near = nearest(name, names);
  fail(Exit::checkpoint, "{}: it has no tensor '{}'{}", source, name,
       near.empty() ? "" : fmt::format("; the nearest is '{}'", near));
}

Safetensors parse_safetensors(std::span<const char> bytes, const std::string& source) {
  std::uint64_t length = 0;
  if (bytes.size() < sizeof length) {
    fail(Exit::checkpoint, "{}: {} bytes are too few for a safetensors file", source, bytes.size());
  }
  std::memcpy(&length, bytes.data(), sizeof length);
  if (length > largest_header) {
    fail(Exit::checkpoint,
         "{}: it promises a header of {} bytes, above {}: not a safetensors file?", source, length,
         largest_header);
  }
  const std::span<const char> rest = bytes.subspan(sizeof length);
  if (length > rest.size()) {
    fail(Exit::checkpoint, "{}: its header has {} bytes, but only {} follow: the file is cut short",
         source, length, rest.size());
  }
  const std::span<const char> data = rest.subspan(static_cast<std::size_t>(length));
  Header header = parse_header({rest.data(), static_cast<std::size_t>(length)}, source);
  check_layout(header.entries, data.size(), source);

  Safetensors result{source, std::move(header.metadata), {}};
  for (HeaderEntry& e : header.entries) {
    const auto begin = static_cast<std::size_t>(e.offsets->front());
    const auto end = static_cast<std::size_t>(e.offsets->back());
    result.tensors.push_back({std::move(e.name), *e.dtype,
                              std::vector<std::size_t>(e.shape->begin(), e.shape->end()),
                              data.subspan(begin, end - begin)});
  }
  std::sort(result.tensors.begin(), result.tensors.end(),
            [](const StoredTensor& a, const StoredTensor& b) { return a.name < b.name; });
  return result;
}

SafetensorsFile read_safetensors(const std::string& path) {
  SafetensorsFile file;
  file.bytes = read_whole(path);
  file.content = parse_safetensors(file.bytes, path);
  return file;
}

void write_safetensors(const std::string& path, std::vector<StoredTensor> tensors,
                       const Metadata& metadata) {
  std::sort(tensors.begin(), tensors.end(),
            [](const StoredTensor& a, const StoredTensor& b) { return a.name < b.name; });
  const std::string header = format_header(tensors, metadata);
  const std::uint64_t length = header.size();
  std::vector<std::string_view> pieces{{reinterpret_cast<const char*>(&length), sizeof length},
                                       header};
  for (const StoredTensor& t : tensors) pieces.emplace_back(t.bytes.data(), t.bytes.size());
  write_file_safely(path, pieces);
}

}  // namespace vitruvian
