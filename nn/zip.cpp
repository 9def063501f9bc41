#include "vitruvian/nn/zip.hpp"

#if VITRUVIAN_HAS_LIBZIP

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/nn/file_formats.hpp"

#include <zip.h>

#include <algorithm>
#include <array>
#include <utility>

namespace vitruvian {
namespace {

// The memory that libzip takes grows with the list of entries at the end of the archive. Those of
// the published models have some hundred entries, 100 KB.
constexpr std::uint64_t largest_directory = 1U << 20U;
constexpr std::uint64_t smallest_listing = 46;  // of one entry in it, without its name
// Deflate writes 258 bytes with 2 bits at best.
constexpr std::uint64_t best_deflate = 1032;

// The record at the end of the archive (its last 22 bytes, no comment) says how large the directory
// is, or a 64-bit record before it, which PyTorch always writes and which is the one that counts.
void check_directory(const ByteSource& file) {
  const std::string& path = file.name();
  constexpr std::size_t record = 22;
  constexpr std::size_t locator = 20;
  constexpr std::size_t wide_record = 56;
  constexpr std::size_t reach = record + 65535;  // how far before the end libzip looks for one
  std::string tail(static_cast<std::size_t>(std::min<std::uint64_t>(file.size(), reach)), '\0');
  file.read_at(file.size() - tail.size(), tail);
  const std::size_t at = tail.find("PK\5\6");
  if (at == std::string::npos || at + record != tail.size()) {
    refuse(path, "the zip archive is cut short, or has more than its directory at its end");
  }
  const std::string_view end = std::string_view(tail).substr(at);
  std::uint64_t entries = little_endian(end.substr(10, 2));
  std::uint64_t size = little_endian(end.substr(12, 4));
  if (at >= locator && tail.compare(at - locator, 4, "PK\6\7") == 0) {
    const std::uint64_t place = little_endian(std::string_view(tail).substr(at - locator + 8, 8));
    std::array<char, wide_record> wide{};
    if (file.size() < wide_record || place > file.size() - wide_record) {
      refuse(path, "the zip archive's 64-bit directory lies outside of it");
    }
    file.read_at(place, wide);
    const std::string_view fields(wide.data(), wide.size());
    if (!fields.starts_with("PK\6\6")) refuse(path, "the zip archive has no 64-bit directory");
    entries = little_endian(fields.substr(32, 8));
    size = little_endian(fields.substr(40, 8));
  }
  if (size > largest_directory) {
    refuse(path, fmt::format("the zip archive has a directory of {} bytes, above {}", size,
                             largest_directory));
  }
  if (entries > size / smallest_listing) {
    refuse(path, fmt::format("the zip archive lists {} entries in {} bytes", entries, size));
  }
}

}  // namespace

// An archive that libzip reads from a source, by calling us.
class ZipArchive::Opened {
 public:
  explicit Opened(std::shared_ptr<const ByteSource> file) : file_(std::move(file)) {
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
  ~Opened() {
    zip_discard(zip_);
    zip_error_fini(&error_);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  [[nodiscard]] const std::string& path() const { return file_->name(); }
  [[nodiscard]] zip_t* zip() const { return zip_; }

 private:
  static zip_int64_t on_command(void* self, void* data, zip_uint64_t n, zip_source_cmd_t command) {
    return static_cast<Opened*>(self)->answer(data, n, command);
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

ZipArchive::ZipArchive(const std::shared_ptr<const ByteSource>& file) {
  check_directory(*file);
  opened_ = std::make_shared<const Opened>(file);
}

const std::string& ZipArchive::path() const { return opened_->path(); }

std::uint64_t ZipArchive::entries() const {
  return static_cast<std::uint64_t>(zip_get_num_entries(opened_->zip(), 0));
}

ZipArchive::Info ZipArchive::info(std::uint64_t index) const {
  zip_stat_t stat;
  if (zip_stat_index(opened_->zip(), index, ZIP_FL_ENC_RAW, &stat) != 0) {
    refuse(path(), fmt::format("entry {} of the zip archive cannot be read: {}", index,
                               zip_strerror(opened_->zip())));
  }
  const Packing packing = stat.comp_method == ZIP_CM_STORE     ? Packing::none
                          : stat.comp_method == ZIP_CM_DEFLATE ? Packing::deflate
                                                               : Packing::other;
  return {stat.name, stat.size, stat.comp_size, packing};
}

void ZipArchive::Info::check_size(const std::string& what) const {
  if (packing == Packing::none ? size != packed_size : size / best_deflate > packed_size) {
    refuse(what, fmt::format("{} packed bytes cannot hold {}", packed_size, size));
  }
}

ZipEntry::ZipEntry(const ZipArchive& archive, std::uint64_t index, std::string what)
    : what_(std::move(what)),
      file_(zip_fopen_index(archive.opened_->zip(), index, 0), &zip_fclose) {
  if (!file_) {
    refuse(what_, fmt::format("cannot be unpacked: {}", zip_strerror(archive.opened_->zip())));
  }
}

std::size_t ZipEntry::read(char* out, std::size_t n) {
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

void ZipEntry::read_rest(char* out, std::size_t n) {
  char more = 0;  // asking for it makes libzip compare the checksum
  if (read(out, n) != n || read(&more, 1) != 0) {
    refuse(what_, "the packed bytes are not as many as promised");
  }
}

void ZipEntry::seek(std::uint64_t offset) {
  if (zip_fseek(file_.get(), static_cast<zip_int64_t>(offset), SEEK_SET) != 0) {
    refuse(what_, "cannot be read from its middle");
  }
}

}  // namespace vitruvian

#endif
