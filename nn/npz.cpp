#include "vitruvian/nn/tensor_file.hpp"

#include "vitruvian/core/base/byte_source.hpp"
#include "vitruvian/core/base/error.hpp"

#if VITRUVIAN_HAS_LIBZIP
#include "vitruvian/nn/file_formats.hpp"

#include <zip.h>

#include <algorithm>
#include <cerrno>
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

[[noreturn]] void refuse(const std::string& what, const std::string& problem) {
  fail(Exit::checkpoint, "{}: {}", what, problem);
}

// The record at the end of the archive (its last 22 bytes, no comment) says how large the directory
// is. Archives that need the 64-bit form of it (above 4 GB) are refused.
void check_directory(const ByteSource& file) {
  const std::string& path = file.name();
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

// An archive that libzip reads from a source, by calling us.
class Archive {
 public:
  explicit Archive(std::shared_ptr<const ByteSource> file) : file_(std::move(file)) {
    zip_error_init(&error_);
    zip_error_t reason;
    zip_error_init(&reason);
    zip_source_t* const source = zip_source_function_create(&on_command, this, &reason);
    if (source != nullptr) zip_ = zip_open_from_source(source, ZIP_RDONLY, &reason);
    if (zip_ == nullptr) {
      const std::string text = zip_error_strerror(&reason);
      zip_error_fini(&reason);
      if (source != nullptr) zip_source_free(source);
      zip_error_fini(&error_);
      refuse(path(), "the zip archive cannot be read: " + text);
    }
    zip_error_fini(&reason);
  }
  ~Archive() {
    zip_discard(zip_);
    zip_error_fini(&error_);
  }
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  [[nodiscard]] const std::string& path() const { return file_->name(); }
  [[nodiscard]] zip_t* zip() const { return zip_; }

 private:
  static zip_int64_t on_command(void* self, void* data, zip_uint64_t n, zip_source_cmd_t command) {
    return static_cast<Archive*>(self)->answer(data, n, command);
  }

  zip_int64_t answer(void* data, zip_uint64_t n, zip_source_cmd_t command) {
    switch (command) {
      case ZIP_SOURCE_OPEN:
        offset_ = 0;
        return 0;
      case ZIP_SOURCE_READ:
        return read(static_cast<char*>(data), n);
      case ZIP_SOURCE_CLOSE:
      case ZIP_SOURCE_FREE:
        return 0;
      case ZIP_SOURCE_STAT: {
        zip_stat_t& stat = *static_cast<zip_stat_t*>(data);
        zip_stat_init(&stat);
        stat.size = file_->size();
        stat.valid = ZIP_STAT_SIZE;
        return sizeof stat;
      }
      case ZIP_SOURCE_SEEK: {
        const zip_int64_t at =
            zip_source_seek_compute_offset(offset_, file_->size(), data, n, &error_);
        if (at < 0) return -1;
        offset_ = static_cast<std::uint64_t>(at);
        return 0;
      }
      case ZIP_SOURCE_TELL:
        return static_cast<zip_int64_t>(offset_);
      case ZIP_SOURCE_ERROR:
        return zip_error_to_data(&error_, data, n);
      case ZIP_SOURCE_SUPPORTS:
        return zip_source_make_command_bitmap(
            ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_FREE, ZIP_SOURCE_STAT,
            ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL, ZIP_SOURCE_ERROR, ZIP_SOURCE_SUPPORTS, -1);
      default:
        zip_error_set(&error_, ZIP_ER_OPNOTSUPP, 0);
        return -1;
    }
  }

  // No exception may pass through libzip.
  zip_int64_t read(char* out, zip_uint64_t n) {
    n = std::min<std::uint64_t>(n, file_->size() - offset_);
    try {
      file_->read_at(offset_, {out, static_cast<std::size_t>(n)});
    } catch (const Error&) {
      zip_error_set(&error_, ZIP_ER_READ, EIO);
      return -1;
    }
    offset_ += n;
    return static_cast<zip_int64_t>(n);
  }

  std::shared_ptr<const ByteSource> file_;
  std::uint64_t offset_ = 0;
  zip_error_t error_{};
  zip_t* zip_ = nullptr;
};

// One entry of an archive, read from front to back.
class Entry {
 public:
  Entry(const Archive& archive, zip_uint64_t index, std::string what)
      : what_(std::move(what)), file_(zip_fopen_index(archive.zip(), index, 0), &zip_fclose) {
    if (!file_) refuse(what_, fmt::format("cannot be unpacked: {}", zip_strerror(archive.zip())));
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
  check_readable(header.type, what);
  Entry entry(archive, index, what);
  Bytes bytes(header.begin);
  entry.read(bytes.data(), bytes.size());
  bytes.resize(static_cast<std::size_t>(header.bytes));
  char more = 0;  // asking for it makes libzip compare the checksum
  if (entry.read(bytes.data(), bytes.size()) != bytes.size() || entry.read(&more, 1) != 0) {
    refuse(what, "the packed bytes are not as many as promised");
  }
  return upcast(std::move(bytes), header.type.type);
}

StoredTensor open_entry(const std::shared_ptr<const Archive>& archive, zip_uint64_t index) {
  zip_stat_t info;
  if (zip_stat_index(archive->zip(), index, ZIP_FL_ENC_RAW, &info) != 0) {
    refuse(archive->path(), fmt::format("entry {} of the zip archive cannot be read: {}", index,
                                        zip_strerror(archive->zip())));
  }
  std::string name = info.name;
  if (!name.ends_with(".npy") || name.size() > longest_name ||
      std::any_of(name.begin(), name.end(),
                  [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; })) {
    refuse(archive->path(),
           fmt::format("entry {} of the zip archive is not called NAME.npy", index));
  }
  name.resize(name.size() - 4);
  const std::string what = fmt::format("{}: '{}'", archive->path(), name);
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
  StoredTensor tensor{name, dtype_of(header.type.type), header.shape, read};
  if (header.fortran_order) {  // the bytes are those of the array with its axes turned round
    std::reverse(tensor.shape.begin(), tensor.shape.end());
    std::vector<std::size_t> axes(tensor.shape.size());
    std::iota(axes.rbegin(), axes.rend(), std::size_t{0});
    tensor = permuted(tensor, axes);
  }
  return tensor;
}

}  // namespace

TensorFile read_npz(const std::shared_ptr<const ByteSource>& file) {
  check_directory(*file);
  const auto archive = std::make_shared<const Archive>(file);
  TensorFile result{file->name(), {}, {}};
  const zip_int64_t entries = zip_get_num_entries(archive->zip(), 0);
  for (zip_int64_t i = 0; i < entries; ++i) {
    result.tensors.push_back(open_entry(archive, static_cast<zip_uint64_t>(i)));
  }
  sort_by_name(result.tensors);
  const auto twice = std::ranges::adjacent_find(result.tensors, {}, &StoredTensor::name);
  if (twice != result.tensors.end()) {
    refuse(file->name(), fmt::format("the name '{}' comes twice", twice->name));
  }
  return result;
}

#else

TensorFile read_npz(const std::shared_ptr<const ByteSource>& file) {
  fail(Exit::checkpoint, "{}: this build cannot read .npz files: it was made without libzip",
       file->name());
}

#endif

TensorFile read_npz(const std::string& path) {
  return read_npz(std::make_shared<const RegularFile>(path, Exit::checkpoint));
}

}  // namespace vitruvian
