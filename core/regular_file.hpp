#pragma once

#include "core/error.hpp"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>

namespace vitruvian {

/// A file that users brought, open for reading. Move-only.
class RegularFile {
 public:
  /// Throws, naming the path and the reason, with this exit code: there is no such file, it may not
  /// be read, or it is no regular file (a pipe is refused, not waited for).
  RegularFile(const std::string& path, Exit exit);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::FILE* stream() const { return stream_.get(); }

  /// Fills `out` from the bytes at `offset`; throws when they are not there (any more). Leaves the
  /// stream where it is; several threads may call it.
  void read_at(std::uint64_t offset, std::span<char> out) const;

 private:
  std::string path_;
  Exit exit_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream_;
  std::uint64_t size_ = 0;
};

}  // namespace vitruvian
