#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace vitruvian {

/// Told some times a second how many bytes of a file are there.
using DownloadProgress = std::function<void(std::uint64_t bytes)>;

struct DownloadOptions {
  long stall_seconds = 30;           ///< give up when no more arrives for so long
  long lowest_bytes_a_second = 500;  ///< than this
  std::uint64_t max_bytes = 0;       ///< a file that grows beyond it is cut off; 0: it may
  DownloadProgress progress{};
};

enum class DownloadEnd {
  complete,       ///< as the server says: the checksum decides
  interrupted,    ///< cut, stalled or never begun; what is there can be continued
  cannot_resume,  ///< the server does not continue what is there
  refused         ///< no such file, too large, a bad address
};

struct DownloadResult {
  DownloadEnd end = DownloadEnd::refused;
  std::string message{};  ///< what went wrong, in one line
};

/// Whether this build has libcurl.
bool can_download();

/// Throws (Exit::usage) for a URL that is neither http nor https.
void check_address(const std::string& url);

/// Downloads `url` (http or https, and redirects to such, five at most) to `path`, continuing what
/// is there, in this process: who ends it ends the download. Throws as `check_address` does, and
/// (Exit::failure) where `path` cannot be written or is a symbolic link.
DownloadResult download(const std::string& url, const std::filesystem::path& path,
                        const DownloadOptions& options);

/// An address as it may be shown: without the name and the password before its host.
std::string without_password(const std::string& url);

}  // namespace vitruvian
