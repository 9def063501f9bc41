#pragma once

#include "core/byte_source.hpp"

#include <string>

namespace vitruvian {

/// A file that users brought, open for reading.
class RegularFile final : public ByteSource {
 public:
  /// Throws, naming the path and the reason, with this exit code: there is no such file, it may not
  /// be read, or it is no regular file (a pipe is refused, not waited for).
  RegularFile(const std::string& path, Exit exit);
  ~RegularFile() override;

 private:
  void read(std::uint64_t offset, std::span<char> out) const override;

  int descriptor_;
};

}  // namespace vitruvian
