#include "vitruvian/nn/safetensors_file.hpp"

#include "vitruvian/core/error.hpp"
#include "vitruvian/core/regular_file.hpp"
#include "vitruvian/core/safe_file.hpp"
#include "vitruvian/nn/file_formats.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

namespace vitruvian {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors' bytes are little-endian");

constexpr std::uint64_t largest_header = std::uint64_t{16} << 20U;

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
    if (const std::uint64_t needed =
            bytes_of_shape(*e.shape, e.type->bits, fmt::format("{}: '{}'", source, e.name));
        needed != end - begin) {
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

}  // namespace

TensorFile read_safetensors(const std::shared_ptr<const ByteSource>& file) {
  const std::string& source = file->name();
  const std::uint64_t size = file->size();
  std::uint64_t length = 0;
  if (size < sizeof length) {
    fail(Exit::checkpoint, "{}: {} bytes are too few for a safetensors file", source, size);
  }
  file->read_at(0, {reinterpret_cast<char*>(&length), sizeof length});
  if (length > largest_header) {
    fail(Exit::checkpoint,
         "{}: it promises a header of {} bytes, above {}: not a safetensors file?", source, length,
         largest_header);
  }
  const std::uint64_t rest = size - sizeof length;
  if (length > rest) {
    fail(Exit::checkpoint, "{}: its header has {} bytes, but only {} follow: the file is cut short",
         source, length, rest);
  }
  Header header;
  {
    std::string json(static_cast<std::size_t>(length), '\0');
    file->read_at(sizeof length, json);
    header = parse_header(json, source);
  }
  check_layout(header.entries, rest - length, source);

  TensorFile result{source, std::move(header.metadata), {}};
  for (HeaderEntry& e : header.entries) {
    const std::uint64_t begin = sizeof length + length + e.offsets->front();
    const auto bytes = static_cast<std::size_t>(e.offsets->back() - e.offsets->front());
    const auto read = [file, begin, bytes, type = *e.type, name = e.name] {
      check_readable(type, fmt::format("{}: '{}'", file->name(), name));
      Bytes numbers(bytes);
      file->read_at(begin, numbers);
      return upcast(std::move(numbers), type.type);
    };
    result.tensors.push_back(
        {std::move(e.name), dtype_of(e.type->type), std::move(*e.shape), read});
  }
  std::sort(result.tensors.begin(), result.tensors.end(),
            [](const StoredTensor& a, const StoredTensor& b) { return a.name < b.name; });
  return result;
}

TensorFile read_safetensors(const std::string& path) {
  return read_safetensors(std::make_shared<const RegularFile>(path, Exit::checkpoint));
}

void write_safetensors(const std::string& path, std::vector<StoredTensor> tensors,
                       const Metadata& metadata) {
  std::sort(tensors.begin(), tensors.end(),
            [](const StoredTensor& a, const StoredTensor& b) { return a.name < b.name; });
  const std::string header = format_header(tensors, metadata);
  const std::uint64_t length = header.size();
  write_file_safely(path, [&](const WriteBytes& write) {
    write({reinterpret_cast<const char*>(&length), sizeof length});
    write(header);
    for (const StoredTensor& t : tensors) {
      const Bytes bytes = t.read();
      write({bytes.data(), bytes.size()});
    }
  });
}

}  // namespace vitruvian
