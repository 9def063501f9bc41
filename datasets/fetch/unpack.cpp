#include "vitruvian/datasets/fetch/unpack.hpp"

#include "vitruvian/core/base/byte_source.hpp"
#include "vitruvian/core/base/error.hpp"

#if VITRUVIAN_HAS_LIBARCHIVE
#include <archive.h>
#include <archive_entry.h>

#include <memory>
#include <set>
#endif

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

namespace vitruvian {
namespace {

// One line, whatever the archive calls its entries.
std::string printable(std::string text) {
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text.size() > 200 ? text.substr(0, 200) + "..." : text;
}

}  // namespace

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
std::filesystem::path safe_path(const Tar& tar, archive_entry* entry) {
  const char* const text = archive_entry_pathname(entry);
  if (text == nullptr || *text == '\0') tar.refuse("an entry without a name");
  const std::filesystem::path path(text);
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

void read_tar(const ByteSource& archive, std::uint64_t max_bytes, TarSink& sink) {
  Tar tar(archive);
  std::set<std::filesystem::path> files;
  std::vector<char> buffer(std::size_t{1} << 16U);
  std::uint64_t total = 0;
  std::size_t entries = 0;
  while (archive_entry* const entry = tar.next()) {
    if (++entries > most_entries) tar.refuse("it has more than {} entries", most_entries);
    const std::filesystem::path path = safe_path(tar, entry);
    if (archive_entry_filetype(entry) == AE_IFDIR) {
      sink.folder(path);
      continue;
    }
    if (!files.insert(path).second) tar.refuse("'{}' comes twice", printable(path.string()));
    sink.file(path);
    while (const std::size_t n = tar.read(buffer.data(), buffer.size())) {
      total += n;
      if (total > max_bytes) tar.refuse("it unpacks to more than {} bytes", max_bytes);
      sink.bytes(std::span(buffer).first(n));
    }
  }
  if (files.empty()) tar.refuse("there is no file in it");
}

#else

void read_tar(const ByteSource& archive, std::uint64_t, TarSink&) {
  fail(Exit::failure, "{}: this build cannot unpack it: it was made without libarchive",
       archive.name());
}

#endif

namespace {

// A new file, closed in any case.
class NewFile {
 public:
  explicit NewFile(const std::filesystem::path& path) : path_(path.string()) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (descriptor_ < 0) failed();
  }
  ~NewFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(const char* bytes, std::size_t n) {
    while (n > 0) {
      const ::ssize_t done = ::write(descriptor_, bytes, n);
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) failed();
      bytes += done;
      n -= static_cast<std::size_t>(done);
    }
  }
  void close() {
    if (::fsync(descriptor_) != 0 || ::close(std::exchange(descriptor_, -1)) != 0) failed();
  }

 private:
  [[noreturn]] void failed() const {
    fail(Exit::failure, "{}: cannot be written: {}", path_, std::strerror(errno));
  }
  std::string path_;
  int descriptor_ = -1;
};

// Writes what it is handed below a directory.
class TarWriter final : public TarSink {
 public:
  TarWriter(std::string archive, std::filesystem::path directory)
      : archive_(std::move(archive)), directory_(std::move(directory)) {}

  void folder(const std::filesystem::path& path) override {
    std::error_code error;
    std::filesystem::create_directories(directory_ / path, error);
    if (error) {
      fail(Exit::failure, "{}: cannot be made: {}", (directory_ / path).string(), error.message());
    }
  }
  void file(const std::filesystem::path& path) override {
    close();
    folder(path.parent_path());
    std::error_code error;
    if (std::filesystem::exists(directory_ / path, error)) {
      fail(Exit::data, "{}: '{}' comes twice", archive_, printable(path.string()));
    }
    out_.emplace(directory_ / path);
    files_.push_back(path.string());
  }
  void bytes(std::span<const char> some) override { out_->write(some.data(), some.size()); }

  std::vector<std::string> take() {
    close();
    return std::move(files_);
  }

 private:
  void close() {
    if (out_) out_->close();
    out_.reset();
  }

  std::string archive_;
  std::filesystem::path directory_;
  std::vector<std::string> files_;
  std::optional<NewFile> out_;
};

}  // namespace

std::vector<std::string> unpack_tar(const std::filesystem::path& archive,
                                    const std::filesystem::path& directory,
                                    std::uint64_t max_bytes) {
  TarWriter writer(archive.string(), directory);
  read_tar(RegularFile(archive.string(), Exit::data), max_bytes, writer);
  return writer.take();
}

}  // namespace vitruvian
