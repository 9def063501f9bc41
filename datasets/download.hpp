#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace vitruvian {

/// Told several times a second how many bytes of a file are there.
using DownloadProgress = std::function<void(std::uint64_t bytes)>;

struct DownloadOptions {
  double stall_seconds = 30;    ///< give up when nothing arrives for so long
  std::uint64_t max_bytes = 0;  ///< a file that grows beyond it is cut off
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
  std::string message{};  ///< of curl or wget, in one line
};

/// Which of curl and wget there is; VITRUVIAN_DOWNLOADER names one of them. Empty: neither.
std::string downloader();

/// Downloads `url` (http or https) to `path`, continuing what is there, by running `program` (curl
/// or wget) without a shell. Throws (Exit::usage) for another kind of URL.
DownloadResult download(const std::string& program, const std::string& url,
                        const std::filesystem::path& path, const DownloadOptions& options);

}  // namespace vitruvian
