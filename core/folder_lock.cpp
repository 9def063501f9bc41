#include "vitruvian/core/folder_lock.hpp"

#include "vitruvian/core/error.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace vitruvian {
namespace {

[[noreturn]] void cannot_be_locked(const std::string& folder, int error) {
  fail(Exit::failure, "{}: cannot be locked: {}", folder, std::system_category().message(error));
}

}  // namespace

FolderLock::FolderLock(const std::string& folder) : folder_(folder) {
  do {
    descriptor_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  } while (descriptor_ < 0 && errno == EINTR);
  if (descriptor_ < 0) cannot_be_locked(folder, errno);
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
  cannot_be_locked(folder_, error);
}

}  // namespace vitruvian
