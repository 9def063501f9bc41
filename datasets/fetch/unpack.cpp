#include "vitruvian/core/base/error.hpp"
#include "vitruvian/datasets/fetch/file.hpp"

#if VITRUVIAN_HAS_LIBARCHIVE
#include <archive.h>
#include <archive_entry.h>

#include <memory>
#include <set>
#endif

#include <system_error>

namespace vitruvian {

namespace fs = std::filesystem;

#if VITRUVIAN_HAS_LIBARCHIVE
namespace {

constexpr std::size_t most_entries = 10'000;

class Tar {
 public:
  explicit Tar(const ByteSource& source)
      : stream_(source), archive_(archive_read_new(), &archive_read_free) {
    if (!archive_ || archive_read_support_filter_gzip(archive_.get()) != ARCHIVE_OK ||
        archive_read_support_format_tar(archive_.get()) != ARCHIVE_OK) {
      fail("libarchive does not start");
    }
    if (archive_read_open(archive_.get(), this, nullptr, &on_read, nullptr) != ARCHIVE_OK) {
      damaged();
    }
  }

  // The next entry; null at the end.
  archive_entry* next() {
    archive_entry* entry = nullptr;
    const int result = archive_read_next_header(archive_.get(), &entry);
    if (result == ARCHIVE_EOF) return nullptr;
    if (result != ARCHIVE_OK) damaged();
    return entry;
  }

  // 0 at the end of the entry.
  std::size_t read(char* out, std::size_t n) {
    const la_ssize_t got = archive_read_data(archive_.get(), out, n);
    if (got < 0) damaged();
    return static_cast<std::size_t>(got);
  }

  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    fail(Exit::data, "{}: {}", stream_.source().name(),
         fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  [[noreturn]] void damaged() const {
    const char* const text = archive_error_string(archive_.get());
    refuse("damaged archive: {}", printable(text != nullptr ? text : "no tar"));
  }

  // No exception may pass through libarchive.
  static la_ssize_t on_read(archive* from, void* self, const void** bytes) {
    try {
      const std::span<const char> some = static_cast<Tar*>(self)->stream_.next();
      *bytes = some.data();
      return static_cast<la_ssize_t>(some.size());
    } catch (const Error& error) {
      archive_set_error(from, EIO, "%s", error.what());
      return -1;
    }
  }

  ByteStream stream_;
  std::unique_ptr<archive, int (*)(archive*)> archive_;
};

// The entry's path below the directory, if it stays there.
fs::path safe_path(const Tar& tar, archive_entry* entry) {
  const char* const text = archive_entry_pathname(entry);
  if (text == nullptr || *text == '\0') tar.refuse("an entry without a name");
  const fs::path path(text);
  const std::string name = printable(text);
  if (path.is_absolute()) tar.refuse("'{}' would leave the folder: its path is absolute", name);
  for (const auto& part : path) {
    if (part == "..") tar.refuse("'{}' would leave the folder", name);
  }
  const auto type = archive_entry_filetype(entry);
  if (archive_entry_hardlink(entry) != nullptr || archive_entry_symlink(entry) != nullptr ||
      (type != AE_IFREG && type != AE_IFDIR)) {
    tar.refuse("'{}' is a link or a device; only files and folders are unpacked", name);
  }
  return path.lexically_normal();
}

}  // namespace

void read_tar(const ByteSource& archive, std::uint64_t max_bytes, const TakeFile& take) {
  Tar tar(archive);
  std::set<fs::path> files;
  std::vector<char> buffer(std::size_t{1} << 16U);
  std::uint64_t total = 0;
  std::size_t entries = 0;
  const NextBytes next = [&] {
    const std::size_t n = tar.read(buffer.data(), buffer.size());
    total += n;
    if (total > max_bytes) tar.refuse("it unpacks to more than {} bytes", max_bytes);
    return std::span<const char>(buffer).first(n);
  };
  while (archive_entry* const entry = tar.next()) {
    if (++entries > most_entries) tar.refuse("it has more than {} entries", most_entries);
    const fs::path path = safe_path(tar, entry);
    if (archive_entry_filetype(entry) == AE_IFDIR) continue;
    if (!files.insert(path).second) tar.refuse("'{}' comes twice", printable(path.string()));
    take(path, next);
  }
  if (files.empty()) tar.refuse("there is no file in it");
}

#else

void read_tar(const ByteSource& archive, std::uint64_t, const TakeFile&) {
  fail(Exit::failure, "{}: this build cannot unpack it: it was made without libarchive",
       archive.name());
}

#endif

void unpack_tar(const fs::path& archive, const fs::path& directory, std::uint64_t max_bytes) {
  const auto write = [&](const fs::path& path, const NextBytes& next) {
    const fs::path target = directory / path;
    std::error_code error;
    fs::create_directories(target.parent_path(), error);
    if (error) fail(Exit::failure, "{}: cannot be made: {}", target.string(), error.message());
    if (fs::exists(target, error)) {
      fail(Exit::data, "{}: '{}' is there already", archive.string(), path.string());
    }
    write_bytes(target, next);
  };
  read_tar(RegularFile(archive.string(), Exit::data), max_bytes, write);
}

}  // namespace vitruvian
