#include "vitruvian/train/run/append_file.hpp"

#include "vitruvian/core/error.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace vitruvian {
namespace {

[[noreturn]] void cannot(const std::string& path, const char* action) {
  fail(Exit::failure, "{}: cannot be {}: {}", path, action, std::system_category().message(errno));
}

template <class Call>
auto unless_interrupted(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

}  // namespace

AppendFile::AppendFile(const std::string& path) : path_(path) {
  descriptor_ = unless_interrupted([&] {
    return ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666);
  });
  if (descriptor_ < 0 && errno == ELOOP) {
    fail(Exit::failure, "{}: cannot be opened: it is a symbolic link; remove it", path_);
  }
  if (descriptor_ < 0) cannot(path_, "opened");
  struct stat status {};
  if (unless_interrupted([&] { return ::fstat(descriptor_, &status); }) != 0) {
    cannot(path_, "looked at");
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

AppendFile::~AppendFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

AppendFile::AppendFile(AppendFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_) {}

AppendFile& AppendFile::operator=(AppendFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  return *this;
}

void AppendFile::append(std::string_view line) {
  std::string bytes(line);
  bytes += '\n';
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const ::ssize_t written =
        unless_interrupted([&] { return ::write(descriptor_, rest.data(), rest.size()); });
    if (written < 0) {
      const int error = errno;
      // Half a line is worse than none; if this fails as well, a resumed run cuts the file.
      (void)!::ftruncate(descriptor_, static_cast<::off_t>(size_));
      errno = error;
      cannot(path_, "written");
    }
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  size_ += bytes.size();
}

void AppendFile::cut(std::uint64_t size) {
  if (size == size_) return;
  if (unless_interrupted([&] { return ::ftruncate(descriptor_, static_cast<::off_t>(size)); }) !=
      0) {
    cannot(path_, "cut");
  }
  size_ = size;
}

void AppendFile::sync() {
  if (unless_interrupted([&] { return ::fsync(descriptor_); }) != 0 && errno != EINVAL) {
    cannot(path_, "brought to the disk");
  }
}

}  // namespace vitruvian
