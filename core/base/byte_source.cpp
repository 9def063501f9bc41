#include "vitruvian/core/base/byte_source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>

namespace vitruvian {

void ByteSource::read_at(std::uint64_t offset, std::span<char> out) const {
  if (offset > size_ || out.size() > size_ - offset) {
    fail(exit_, "{}: expected {} bytes at offset {}, but it has {} in all", name_, out.size(),
         offset, size_);
  }
  if (!out.empty()) read(offset, out);
}

std::string ByteSource::text(std::uint64_t largest, const char* what) const {
  if (size_ > largest) {
    fail(exit_, "{}: {} bytes are beyond reason for {} (at most {})", name_, size_, what, largest);
  }
  std::string result(static_cast<std::size_t>(size_), '\0');
  read_at(0, result);
  return result;
}

void MemorySource::read(std::uint64_t offset, std::span<char> out) const {
  std::memcpy(out.data(), bytes_.data() + offset, out.size());
}

bool ByteStream::fill() {
  constexpr std::uint64_t largest = 65536;
  if (begin_ < buffer_.size()) return true;
  buffer_.resize(static_cast<std::size_t>(std::min(largest, source_->size() - offset_)));
  begin_ = 0;
  if (buffer_.empty()) return false;
  source_->read_at(offset_, buffer_);
  offset_ += buffer_.size();
  return true;
}

std::size_t ByteStream::read(void* out, std::size_t n) {
  std::size_t done = 0;
  while (done < n && fill()) {
    const std::size_t some = std::min(n - done, buffer_.size() - begin_);
    std::memcpy(static_cast<char*>(out) + done, buffer_.data() + begin_, some);
    begin_ += some;
    done += some;
  }
  return done;
}

int ByteStream::get() { return fill() ? static_cast<unsigned char>(buffer_[begin_++]) : -1; }

std::span<const char> ByteStream::next() {
  if (!fill()) return {};
  const std::span<const char> rest = std::span(buffer_).subspan(begin_);
  begin_ = buffer_.size();
  return rest;
}

namespace {

[[noreturn]] void fail_on(const std::string& path, Exit exit, int error) {
  if (error == ENOENT) fail(exit, "{}: there is no such file", path);
  const std::error_code reason(error, std::system_category());
  fail(exit_for(reason, exit), "{}: cannot be read: {}", path, reason.message());
}

int opened(const std::string& path) {
  int descriptor = -1;
  do {
    descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  } while (descriptor < 0 && errno == EINTR);  // a signal came between
  return descriptor;
}

}  // namespace

Exit exit_for(const std::error_code& reason, Exit given) {
  for (const std::errc of_the_machine :
       {std::errc::io_error, std::errc::no_space_on_device, std::errc::not_enough_memory,
        std::errc::too_many_files_open, std::errc::too_many_files_open_in_system,
        std::errc::interrupted}) {
    if (reason == of_the_machine) return Exit::failure;
  }
  return given;
}

RegularFile::RegularFile(const std::string& path, Exit exit)
    : ByteSource(path, exit), descriptor_(opened(path)) {
  if (descriptor_ < 0) fail_on(path, exit, errno);
  struct ::stat info = {};
  const bool known = ::fstat(descriptor_, &info) == 0;
  const int error = errno;
  if (known && S_ISREG(info.st_mode)) {
    set_size(static_cast<std::uint64_t>(info.st_size));
    return;
  }
  ::close(descriptor_);
  if (!known) fail_on(path, exit, error);
  if (S_ISDIR(info.st_mode)) fail(exit, "{}: expected a file, found a directory", path);
  fail(exit, "{}: expected a regular file, found something else", path);
}

RegularFile::~RegularFile() { ::close(descriptor_); }

void RegularFile::read(std::uint64_t offset, std::span<char> out) const {
  while (!out.empty()) {
    const ::ssize_t n = ::pread(descriptor_, out.data(), out.size(), static_cast<::off_t>(offset));
    if (n < 0 && errno != EINTR) fail_on(name(), exit(), errno);
    if (n == 0) fail(exit(), "{}: the file shrank while it was read", name());
    if (n > 0) {
      out = out.subspan(static_cast<std::size_t>(n));
      offset += static_cast<std::uint64_t>(n);
    }
  }
}

}  // namespace vitruvian
