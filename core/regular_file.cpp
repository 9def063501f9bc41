#include "core/regular_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace vitruvian {
namespace {

[[noreturn]] void fail_on(const std::string& path, Exit exit, int error) {
  fail(exit, "{}: cannot be read: {}", path, std::system_category().message(error));
}

}  // namespace

RegularFile::RegularFile(const std::string& path, Exit exit)
    : path_(path), exit_(exit), stream_(nullptr, &std::fclose) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) fail_on(path, exit, errno);
  stream_.reset(::fdopen(descriptor, "rb"));
  if (!stream_) {
    const int error = errno;
    ::close(descriptor);
    fail_on(path, exit, error);
  }
  struct ::stat info = {};
  if (::fstat(descriptor, &info) != 0) fail_on(path, exit, errno);
  if (!S_ISREG(info.st_mode)) fail(exit, "{}: it is not a regular file", path);
  size_ = static_cast<std::uint64_t>(info.st_size);
}

void RegularFile::read_at(std::uint64_t offset, std::span<char> out) const {
  while (!out.empty()) {
    const ::ssize_t n =
        ::pread(::fileno(stream_.get()), out.data(), out.size(), static_cast<::off_t>(offset));
    if (n < 0 && errno != EINTR) fail_on(path_, exit_, errno);
    if (n == 0) fail(exit_, "{}: the file shrank while it was read", path_);
    if (n > 0) {
      out = out.subspan(static_cast<std::size_t>(n));
      offset += static_cast<std::uint64_t>(n);
    }
  }
}

}  // namespace vitruvian
