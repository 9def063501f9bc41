#include "vitruvian/core/base/error.hpp"
#include "vitruvian/datasets/fetch/fetch.hpp"

#if VITRUVIAN_HAS_CURL
#include <curl/curl.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <initializer_list>
#include <memory>
#include <system_error>
#endif

namespace vitruvian {

std::string without_password(const std::string& url) {
  const std::size_t scheme = url.find("://");
  const std::size_t begin = scheme == std::string::npos ? 0 : scheme + 3;
  const std::size_t host_end = url.find_first_of("/?#", begin);
  const std::size_t at = url.substr(0, host_end).rfind('@');
  if (at == std::string::npos || at < begin) return url;
  return url.substr(0, begin) + url.substr(at + 1);
}

void check_address(const std::string& url) {
  if (url.starts_with("http://") || url.starts_with("https://")) return;
  fail(Exit::usage, "'{}' is no http or https address", without_password(url));
}

#if VITRUVIAN_HAS_CURL

namespace {

using Clock = std::chrono::steady_clock;

// The file that grows: never through a link that somebody put in its place.
class Part {
 public:
  explicit Part(const std::filesystem::path& path) : path_(path.string()) {
    descriptor_ =
        ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno == ELOOP) {
      fail(Exit::failure, "{}: cannot be written: it is a symbolic link; remove it", path_);
    }
    if (descriptor_ < 0) cannot_be_written(errno);
    struct ::stat info = {};
    if (::fstat(descriptor_, &info) != 0 || !S_ISREG(info.st_mode)) {
      ::close(descriptor_);
      fail(Exit::failure, "{}: cannot be written: it is not a regular file", path_);
    }
    bytes_ = static_cast<std::uint64_t>(info.st_size);
  }
  ~Part() { ::close(descriptor_); }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  void append(const char* data, std::size_t size) {
    while (size > 0) {
      const ::ssize_t written = ::write(descriptor_, data, size);
      if (written < 0 && errno != EINTR) cannot_be_written(errno);
      if (written <= 0) continue;
      data += written;
      size -= static_cast<std::size_t>(written);
      bytes_ += static_cast<std::uint64_t>(written);
    }
  }

 private:
  [[noreturn]] void cannot_be_written(int error) const {
    fail(Exit::failure, "{}: cannot be written: {}", path_, std::system_category().message(error));
  }

  std::string path_;
  int descriptor_ = -1;
  std::uint64_t bytes_ = 0;
};

// One download, as libcurl's callbacks see it: they must not throw, and say by what they return
// that it is over.
struct Download {
  const DownloadOptions& options;
  Part part;
  bool too_large = false;
  std::exception_ptr error{};  // what was thrown meanwhile
  Clock::time_point told{};
};

std::size_t on_data(char* data, std::size_t one, std::size_t size, void* user) {
  auto& download = *static_cast<Download*>(user);
  const std::uint64_t most = download.options.max_bytes;
  try {
    if (most > 0 && size * one > most - download.part.bytes()) {
      download.too_large = true;
      return 0;
    }
    download.part.append(data, size * one);
    return size * one;
  } catch (...) {
    download.error = std::current_exception();
    return 0;
  }
}

int on_progress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  auto& download = *static_cast<Download*>(user);
  const Clock::time_point now = Clock::now();
  if (!download.options.progress || now - download.told < std::chrono::milliseconds(100)) return 0;
  download.told = now;
  try {
    download.options.progress(download.part.bytes());
  } catch (...) {
    download.error = std::current_exception();
  }
  return download.error ? 1 : 0;
}

// Of a download that failed.
DownloadEnd end_of(CURLcode code) {
  const auto among = [code](std::initializer_list<CURLcode> codes) {
    return std::find(codes.begin(), codes.end(), code) != codes.end();
  };
  if (among({CURLE_RANGE_ERROR, CURLE_BAD_DOWNLOAD_RESUME})) return DownloadEnd::cannot_resume;
  const bool interrupted =
      among({CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT,
             CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_PARTIAL_FILE, CURLE_OPERATION_TIMEDOUT,
             CURLE_SSL_CONNECT_ERROR, CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR});
  return interrupted ? DownloadEnd::interrupted : DownloadEnd::refused;
}

}  // namespace

bool can_download() { return true; }

DownloadResult download(const std::string& url, const std::filesystem::path& path,
                        const DownloadOptions& options) {
  check_address(url);
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  const std::unique_ptr<CURL, void (*)(CURL*)> curl(ready == CURLE_OK ? curl_easy_init() : nullptr,
                                                    &curl_easy_cleanup);
  if (!curl) fail(Exit::failure, "libcurl cannot be started");
  Download download{options, Part(path)};
  if (options.max_bytes > 0 && download.part.bytes() > options.max_bytes) {
    return {DownloadEnd::cannot_resume, "what is there is longer than the file should be"};
  }

  char message[CURL_ERROR_SIZE] = "";
  CURLcode refused = CURLE_OK;
  const auto set = [&](CURLoption option, auto value) {
    const CURLcode code = curl_easy_setopt(curl.get(), option, value);
    if (code != CURLE_OK) refused = code;
  };
  set(CURLOPT_ERRORBUFFER, &message[0]);
  set(CURLOPT_URL, url.c_str());
#if LIBCURL_VERSION_NUM >= 0x075500
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
#else
  set(CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
  set(CURLOPT_REDIR_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
  set(CURLOPT_FOLLOWLOCATION, 1L);
  set(CURLOPT_MAXREDIRS, 5L);
  set(CURLOPT_FAILONERROR, 1L);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_USERAGENT, "vitruvian");
  set(CURLOPT_CONNECTTIMEOUT, options.stall_seconds);
  set(CURLOPT_LOW_SPEED_TIME, options.stall_seconds);
  set(CURLOPT_LOW_SPEED_LIMIT, options.lowest_bytes_a_second);
  set(CURLOPT_RESUME_FROM_LARGE, static_cast<curl_off_t>(download.part.bytes()));
  // Of what the server says it will send; what comes, `on_data` counts.
  set(CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(options.max_bytes));
  set(CURLOPT_WRITEFUNCTION, &on_data);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&download));
  set(CURLOPT_XFERINFOFUNCTION, &on_progress);
  set(CURLOPT_XFERINFODATA, static_cast<void*>(&download));
  set(CURLOPT_NOPROGRESS, 0L);
  const CURLcode code = refused == CURLE_OK ? curl_easy_perform(curl.get()) : refused;

  if (download.error) std::rethrow_exception(download.error);
  if (download.too_large) {
    return {DownloadEnd::refused,
            fmt::format("more than the {} bytes it should have came", options.max_bytes)};
  }
  if (code == CURLE_OK) return {DownloadEnd::complete};
  return {end_of(code), message[0] != '\0' ? message : curl_easy_strerror(code)};
}

#else

bool can_download() { return false; }

DownloadResult download(const std::string& url, const std::filesystem::path&,
                        const DownloadOptions&) {
  check_address(url);
  fail(Exit::failure, "this build cannot download: it was made without libcurl");
}

#endif

}  // namespace vitruvian
