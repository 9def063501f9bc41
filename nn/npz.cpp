#include "nn/npz.hpp"

#include "core/error.hpp"

#if VITRUVIAN_HAS_LIBZIP
#include "core/regular_file.hpp"
#include "nn/npy.hpp"

#include <zip.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string_view>
#include <utility>
#endif

namespace vitruvian {

#if VITRUVIAN_HAS_LIBZIP
namespace {

// The memory that libzip takes grows with the list of entries at the end of the archive. Those of
// the published models have some hundred entries, 100 KB.
constexpr std::uint64_t largest_directory = 1U << 20U;
// Deflate writes 258 bytes with 2 bits at best.
constexpr std::uint64_t best_deflate = 1032;

[[noreturn]] void refuse(const std::string& path, const std::string& problem) {
  fail(Exit::checkpoint, "{}: {}", path, problem);
}

// The record at the end of the archive (its last 22 bytes, no comment) says how large the directory
// is. Archives that need the 64-bit form of it (above 4 GB) are refused.
void check_directory(const std::string& path) {
  const RegularFile file(path, Exit::checkpoint);
  constexpr std::size_t record = 22;
  constexpr std::size_t reach = record + 65535;  // how far before the end libzip looks for one
  std::string tail(static_cast<std::size_t>(std::min<std::uint64_t>(file.size(), reach)), '\0');
  file.read_at(file.size() - tail.size(), tail);
  const std::size_t at = tail.find("PK\5\6");
  if (at == std::string::npos || at + record != tail.size()) {
    refuse(path, "the zip archive is cut short, or has more than its directory at its end");
  }
  if (tail.find("PK\6\7") != std::string::npos) {
    refuse(path, "zip archives in the 64-bit form are not read");
  }
  std::uint64_t size = 0;
  for (std::size_t i = 4; i-- > 0;) {
    size = size << 8U | static_cast<unsigned char>(tail[at + 12 + i]);
  }
  if (size > largest_directory) {
    refuse(path, fmt::format("the zip archive has a directory of {} bytes, above {}", size,
                             largest_directory));
  }
}

struct Archive {
  std::string path;
  zip_t* zip = nullptr;

  explicit Archive(std::string p) : path(std::move(p)) {
    int error = 0;
    zip = zip_open(path.c_str(), ZIP_RDONLY, &error);
    if (zip == nullptr) {
      zip_error_t reason;
      zip_error_init_with_code(&reason, error);
      const std::string text = zip_error_strerror(&reason);
      zip_error_fini(&reason);
      refuse(path, "the zip archive cannot be read: " + text);
    }
  }
  ~Archive() { zip_discard(zip); }
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;
};

// One entry of an archive, read from front to back.
class Entry {
 public:
  Entry(const Archive& archive, zip_uint64_t index, std::string what)
      : what_(std::move(what)), file_(zip_fopen_index(archive.zip, index, 0), &zip_fclose) {
    if (!file_) refuse(what_, fmt::format("cannot be unpacked: {}", zip_strerror(archive.zip)));
  }

  // As many bytes as there are, up to out's.
  std::size_t read(char* out, std::size_t n) {
    std::size_t done = 0;
    while (done < n) {
      const zip_int64_t got = zip_fread(file_.get(), out + done, n - done);
      if (got < 0) {
        refuse(what_, fmt::format("cannot be unpacked: {}", zip_file_strerror(file_.get())));
      }
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

 private:
  std::string what_;
  std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> file_;
};

Bytes read_numbers(const Archive& archive, zip_uint64_t index, const NpyHeader& header,
                   const std::string& what) {
  Entry entry(archive, index, what);
  Bytes bytes(header.begin);
  entry.read(bytes.data(), bytes.size());
  bytes.resize(static_cast<std::size_t>(header.bytes));
  char more = 0;  // asking for it makes libzip compare the checksum
  if (entry.read(bytes.data(), bytes.size()) != bytes.size() || entry.read(&more, 1) != 0) {
    refuse(what, "the packed bytes are not as many as promised");
  }
  return widened(std::move(bytes), header.type);
}

StoredTensor open_entry(const std::shared_ptr<const Archive>& archive, zip_uint64_t index) {
  zip_stat_t info;
  if (zip_stat_index(archive->zip, index, ZIP_FL_ENC_RAW, &info) != 0) {
    refuse(archive->path, fmt::format("entry {} of the zip archive cannot be read: {}", index,
                                      zip_strerror(archive->zip)));
  }
  std::string name = info.name;
  if (!name.ends_with(".npy") || name.size() > longest_name ||
      std::any_of(name.begin(), name.end(),
                  [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; })) {
    refuse(archive->path, fmt::format("entry {} of the zip archive is not called NAME.npy", index));
  }
  name.resize(name.size() - 4);
  const std::string what = fmt::format("{}: '{}'", archive->path, name);
  if (info.comp_method != ZIP_CM_STORE && info.comp_method != ZIP_CM_DEFLATE) {
    refuse(what, "it is packed by a method that numpy does not use");
  }
  const bool packed = info.comp_method == ZIP_CM_DEFLATE;
  if (packed ? info.size / best_deflate > info.comp_size : info.size != info.comp_size) {
    refuse(what, fmt::format("{} packed bytes cannot hold {}", info.comp_size, info.size));
  }
  std::string start(
      static_cast<std::size_t>(std::min<std::uint64_t>(info.size, largest_npy_header)), '\0');
  start.resize(Entry(*archive, index, what).read(start.data(), start.size()));
  const NpyHeader header = parse_npy_header(start, what);
  if (header.begin + header.bytes != info.size) {
    refuse(what,
           fmt::format("its shape {} needs {} bytes but it has {}", shape_text(header.shape),
                       header.bytes, info.size - std::min<std::uint64_t>(header.begin, info.size)));
  }
  const auto read = [archive, index, header, what] {
    return read_numbers(*archive, index, header, what);
  };
  StoredTensor tensor{name, dtype_of(header.type), header.shape, read};
  if (header.fortran_order) {  // the bytes are those of the array with its axes turned round
    std::reverse(tensor.shape.begin(), tensor.shape.end());
    std::vector<std::size_t> axes(tensor.shape.size());
    std::iota(axes.rbegin(), axes.rend(), std::size_t{0});
    tensor = permuted(tensor, axes);
  }
  return tensor;
}

}  // namespace

TensorFile read_npz(const std::string& path) {
  check_directory(path);
  const auto archive = std::make_shared<const Archive>(path);
  TensorFile result{path, {}, {}};
  const zip_int64_t entries = zip_get_num_entries(archive->zip, 0);
  for (zip_int64_t i = 0; i < entries; ++i) {
    result.tensors.push_back(open_entry(archive, static_cast<zip_uint64_t>(i)));
  }
  std::sort(result.tensors.begin(), result.tensors.end(),
            [](const StoredTensor& a, const StoredTensor& b) { return a.name < b.name; });
  const auto twice = std::adjacent_find(
      result.tensors.begin(), result.tensors.end(),
      [](const StoredTensor& a, const StoredTensor& b) { return a.name == b.name; });
  if (twice != result.tensors.end()) {
    refuse(path, fmt::format("the name '{}' comes twice", twice->name));
  }
  return result;
}

#else

TensorFile read_npz(const std::string& path) {
  fail(Exit::checkpoint, "{}: this build cannot read .npz files: it was made without libzip", path);
}

#endif

}  // namespace vitruvian
