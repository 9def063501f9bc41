#pragma once

#include "vitruvian/core/base/byte_source.hpp"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace vitruvian {

/// Who takes what is in a tar archive, in its order.
class TarSink {
 public:
  TarSink() = default;
  TarSink(const TarSink&) = delete;
  TarSink& operator=(const TarSink&) = delete;
  virtual ~TarSink() = default;
  /// Relative paths without "..".
  virtual void folder(const std::filesystem::path& path) = 0;
  virtual void file(const std::filesystem::path& path) = 0;
  /// Some bytes of the last file.
  virtual void bytes(std::span<const char> some) = 0;
};

/// Reads a tar archive, plain or packed by gzip. Throws (Exit::data), naming archive and entry,
/// where it is damaged and for what `unpack_tar` refuses.
void read_tar(const ByteSource& archive, std::uint64_t max_bytes, TarSink& sink);

/// Unpacks a tar archive, plain or packed by gzip, into `directory`, which must exist. Only files
/// and folders are taken, and only below it: an absolute path, "..", a link or a device is refused,
/// as are a file that is already there, more than `max_bytes` in all and more than 10,000 entries.
/// Returns the files' paths. Throws (Exit::data), naming archive and entry; what was unpacked
/// before stays for the caller to remove. Throws (Exit::failure) in a build without libarchive, and
/// where a file cannot be written.
std::vector<std::string> unpack_tar(const std::filesystem::path& archive,
                                    const std::filesystem::path& directory,
                                    std::uint64_t max_bytes);

}  // namespace vitruvian
