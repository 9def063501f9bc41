#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace vitruvian {

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
