#include "vitruvian/core/byte_source.hpp"

#include <algorithm>
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

}  // namespace vitruvian
