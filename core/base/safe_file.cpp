#include "vitruvian/core/base/safe_file.hpp"

#include "vitruvian/core/base/error.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sys/file.h>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <system_error>

namespace vitruvian {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_on(const std::string& path, const char* action, int error) {
  fail(Exit::failure, "{}: cannot {}: {}", path, action, std::system_category().message(error));
}

void write_all(int descriptor, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ::ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EPIPE && descriptor == STDOUT_FILENO) throw ReaderLeft();
    if (written < 0 && errno != EINTR) fail_on(path, "be written", errno);
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

// The temporary file: closed and removed when its owner leaves early.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& target, ::mode_t mode) : target_(target) {
    for (int attempt = 0; descriptor_ < 0; ++attempt) {
      path_ = fmt::format("{}.{}-{}.tmp", target, ::getpid(), attempt);
      descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
      const bool taken = descriptor_ < 0 && errno == EEXIST && attempt < 100;
      if (descriptor_ < 0 && errno != EINTR && !taken) fail_on(target, "be written", errno);
    }
  }
  ~TemporaryFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(std::string_view bytes) { write_all(descriptor_, bytes, target_); }

  // What the umask took away. Where that cannot be, the mode is narrower than it was, never wider.
  void set_mode(::mode_t mode) { static_cast<void>(::fchmod(descriptor_, mode)); }

  // From here on the content is on the disk, under the target's name.
  void become_target() {
    while (::fsync(descriptor_) != 0) {
      if (errno != EINTR) fail_on(target_, "be brought to the disk", errno);
    }
    // An interrupted close has closed; there is nothing to try again.
    if (::close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) {
      fail_on(target_, "be closed", errno);
    }
    if (::rename(path_.c_str(), target_.c_str()) != 0) fail_on(target_, "be replaced", errno);
    path_.clear();
  }

 private:
  std::string target_;
  std::string path_;
  int descriptor_ = -1;
};

// Brings the new name itself to the disk. Some file systems cannot do it and say EINVAL.
void sync_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) fail_on(folder.string(), "be opened", errno);
  int result = 0;
  do {
    result = ::fsync(descriptor);
  } while (result != 0 && errno == EINTR);
  const int error = result == 0 || errno == EINVAL ? 0 : errno;
  ::close(descriptor);
  if (error != 0) fail_on(folder.string(), "be brought to the disk", error);
}

// The descriptor that a path stands for, or -1. It is used as it is: opened again, a file would be
// written from its beginning.
int descriptor_named(std::string_view path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    int descriptor = -1;
    const char* const end = path.data() + path.size();
    const auto number = std::from_chars(path.data() + folder.size(), end, descriptor);
    if (number.ec == std::errc{} && number.ptr == end) return descriptor;
  }
  return -1;
}

// What stands where a file is to be: nothing, or a file that may be replaced.
fs::file_status replaceable(const std::string& path) {
  std::error_code ignored;
  const fs::file_status status = fs::symlink_status(path, ignored);
  if (fs::is_symlink(status)) {
    fail(Exit::failure,
         "{}: cannot be written: it is a symbolic link, to {}; name that, or remove it", path,
         fs::read_symlink(path, ignored).string());
  }
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    fail(Exit::failure, "{}: cannot be written: it is not a regular file", path);
  }
  return status;
}

}  // namespace

void make_folder_of(const std::string& file) {
  std::error_code error;
  const fs::path folder = fs::path(file).parent_path();
  if (!folder.empty()) fs::create_directories(folder, error);
  if (error) fail("{}: its folder cannot be made: {}", file, error.message());
}

bool is_standard_output(const std::string& path) { return descriptor_named(path) == STDOUT_FILENO; }

void check_can_write(const std::string& path) {
  if (descriptor_named(path) >= 0) return;
  make_folder_of(path);
  static_cast<void>(replaceable(path));
  const TemporaryFile trial(path, 0600);
}

void write_file_safely(const std::string& path,
                       const std::function<void(const WriteBytes& write)>& content) {
  if (const int descriptor = descriptor_named(path); descriptor >= 0) {
    std::fflush(nullptr);  // what was printed before comes first
    return content([&](std::string_view piece) { write_all(descriptor, piece, path); });
  }
  const fs::file_status status = replaceable(path);
  const bool replaces = fs::exists(status);
  const auto mode = static_cast<::mode_t>(status.permissions() & fs::perms::all);
  TemporaryFile file(path, replaces ? mode : 0666);
  if (replaces) file.set_mode(mode);
  content([&file](std::string_view piece) { file.write(piece); });
  file.become_target();
  const fs::path target = path;
  sync_folder(target.has_parent_path() ? target.parent_path() : fs::path("."));
}

void write_file_safely(const std::string& path, std::string_view content) {
  write_file_safely(path, [content](const WriteBytes& write) { write(content); });
}

FolderLock::FolderLock(const std::string& folder) : folder_(folder) {
  do {
    descriptor_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  } while (descriptor_ < 0 && errno == EINTR);
  if (descriptor_ < 0) fail_on(folder, "be locked", errno);
  lock(LOCK_EX | LOCK_NB);
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

FolderLock& FolderLock::operator=(FolderLock&& other) noexcept {
  std::swap(folder_, other.folder_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(taken_, other.taken_);
  return *this;
}

void FolderLock::wait() {
  if (taken_) lock(LOCK_EX);
}

void FolderLock::lock(int how) {
  int result = 0;
  do {
    result = ::flock(descriptor_, how);
  } while (result != 0 && errno == EINTR);
  const int error = result == 0 ? 0 : errno;
  taken_ = error == EWOULDBLOCK;
  const bool knows_none = error == ENOLCK || error == EOPNOTSUPP || error == ENOSYS;
  if (error == 0 || taken_ || knows_none) return;
  ::close(std::exchange(descriptor_, -1));  // of a constructor that throws, nothing is destroyed
  fail_on(folder_, "be locked", error);
}

}  // namespace vitruvian
