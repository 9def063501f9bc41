#include "core/safe_file.hpp"

#include "core/error.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

namespace vitruvian {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_on(const std::string& path, const char* action, int error) {
  fail(Exit::failure, "{}: cannot {}: {}", path, action, std::system_category().message(error));
}

// The temporary file: closed and removed when its owner leaves early.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& target) : target_(target) {
    for (int attempt = 0; descriptor_ < 0; ++attempt) {
      path_ = fmt::format("{}.{}-{}.tmp", target, ::getpid(), attempt);
      descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
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

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ::ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno != EINTR) fail_on(target_, "be written", errno);
      if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }

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

}  // namespace

void write_file_safely(const std::string& path,
                       const std::function<void(const WriteBytes& write)>& content) {
  std::error_code ignored;
  // A link stays a link: what it points to is replaced.
  fs::path target = path;
  if (fs::is_symlink(target, ignored)) target = fs::weakly_canonical(target, ignored);
  if (target.empty()) fail(Exit::failure, "{}: cannot be written: a link that leads nowhere", path);
  if (fs::exists(target, ignored) && !fs::is_regular_file(target, ignored)) {
    fail(Exit::failure, "{}: cannot be written: it is not a regular file", path);
  }
  TemporaryFile file(target.string());
  content([&file](std::string_view piece) { file.write(piece); });
  file.become_target();
  sync_folder(target.has_parent_path() ? target.parent_path() : fs::path("."));
}

void write_file_safely(const std::string& path, std::string_view content) {
  write_file_safely(path, [content](const WriteBytes& write) { write(content); });
}

}  // namespace vitruvian
