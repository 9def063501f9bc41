#pragma once

#include "vitruvian/core/byte_source.hpp"

#include <string>
#include <system_error>

namespace vitruvian {

/// The exit code when a path that users gave cannot be read: theirs, `given`, when the path is at
/// fault; `Exit::failure` when the machine is (a disk that fails, no memory, too many open files).
Exit exit_for(const std::error_code& reason, Exit given);

/// A file that users brought, open for reading.
class RegularFile final : public ByteSource {
 public:
  /// Throws, naming the path and the reason, with `exit_for` it: there is no such file, it may not
  /// be read, or it is no regular file (a pipe is refused, not waited for).
  RegularFile(const std::string& path, Exit exit);
  ~RegularFile() override;

 private:
  void read(std::uint64_t offset, std::span<char> out) const override;

  int descriptor_;
};

}  // namespace vitruvian
