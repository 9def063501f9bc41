#include "datasets/download.hpp"

#include "core/error.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

extern char** environ;

namespace vitruvian {
namespace {

std::vector<std::string> arguments_of(const std::string& program, const std::string& url,
                                      const std::string& path, const DownloadOptions& options) {
  if (program == "wget") {
    return {"wget",
            "--no-verbose",
            "--tries=1",
            fmt::format("--timeout={}", options.stall_seconds),
            "--max-redirect=5",
            "--continue",
            "--output-document=" + path,
            url};
  }
  std::vector<std::string> arguments = {
      "curl",       "--fail",      "--silent",      "--show-error",
      "--location", "--proto",     "=http,https",   "--max-redirs",
      "5",          "--no-buffer", "--url",         url,
      "--output",   path,          "--continue-at", "-"};
  if (options.max_bytes > 0) {
    arguments.insert(arguments.end(), {"--max-filesize", std::to_string(options.max_bytes)});
  }
  return arguments;
}

std::uint64_t size_of(const std::filesystem::path& path) {
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

// A child process whose standard error we read; killed and waited for in any case.
class Child {
 public:
  explicit Child(std::vector<std::string> arguments) {
    int ends[2] = {-1, -1};
    if (::pipe(ends) != 0) fail("{}: {}", arguments[0], std::strerror(errno));
    for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
    ::posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    const int error = ::posix_spawnp(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    errors_ = ends[0];
    if (error != 0) {
      pid_ = -1;
      ::close(errors_);
      fail("{}: cannot be run: {}", arguments[0], std::strerror(error));
    }
  }
  ~Child() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
    ::close(errors_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Waits a moment for more to be said; false once the child has closed its standard error.
  bool listen(std::string& text) const {
    ::pollfd waiting = {errors_, POLLIN, 0};
    if (::poll(&waiting, 1, 100) <= 0) return true;
    char buffer[512];
    const ::ssize_t n = ::read(errors_, buffer, sizeof buffer);
    if (n < 0) return errno == EINTR;
    if (text.size() < 2000) text.append(buffer, static_cast<std::size_t>(n));
    return n > 0;
  }
  // Its exit code.
  int wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  }

 private:
  ::pid_t pid_ = -1;
  int errors_ = -1;
};

std::string one_line_of(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  for (char& c : text) {
    if (c == '\n') c = ' ';
    if (c < ' ' || c > '~') c = '?';
  }
  return text.size() > 300 ? text.substr(0, 300) + "..." : text;
}

// What the exit codes of both mean: see EXIT CODES of curl(1), EXIT STATUS of wget(1).
DownloadEnd end_of(const std::string& program, int code, const std::string& message) {
  if (code == 0) return DownloadEnd::complete;
  const bool out_of_range = message.find("416") != std::string::npos;
  if (program == "wget") {
    if (code == 4) return DownloadEnd::interrupted;
    const bool conflict = message.find("conflicts with") != std::string::npos;
    return out_of_range || conflict ? DownloadEnd::cannot_resume : DownloadEnd::refused;
  }
  switch (code) {
    case 33:
    case 36:
      return DownloadEnd::cannot_resume;
    case 22:
      return out_of_range ? DownloadEnd::cannot_resume : DownloadEnd::refused;
    case 6:
    case 7:
    case 18:
    case 28:
    case 35:
    case 52:
    case 55:
    case 56:
    case 92:
      return DownloadEnd::interrupted;
    default:
      return DownloadEnd::refused;
  }
}

bool on_path(const std::string& program) {
  const char* const path = std::getenv("PATH");
  const std::string all = path != nullptr ? path : "/usr/bin:/bin";
  for (std::size_t begin = 0; begin <= all.size();) {
    const std::size_t end = std::min(all.find(':', begin), all.size());
    const std::string file = all.substr(begin, end - begin) + "/" + program;
    if (end > begin && ::access(file.c_str(), X_OK) == 0) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace

std::string downloader() {
  if (const char* const wanted = std::getenv("VITRUVIAN_DOWNLOADER")) {
    const std::string program = wanted;
    if (program != "curl" && program != "wget") {
      fail(Exit::usage, "VITRUVIAN_DOWNLOADER is '{}'; curl and wget are known", program);
    }
    return on_path(program) ? program : "";
  }
  for (const char* const program : {"curl", "wget"}) {
    if (on_path(program)) return program;
  }
  return "";
}

DownloadResult download(const std::string& program, const std::string& url,
                        const std::filesystem::path& path, const DownloadOptions& options) {
  if (!url.starts_with("http://") && !url.starts_with("https://")) {
    fail(Exit::usage, "'{}' is no http or https address", url);
  }
  using Clock = std::chrono::steady_clock;
  Child child(arguments_of(program, url, path.string(), options));
  std::string said;
  std::uint64_t before = size_of(path);
  Clock::time_point grew = Clock::now();
  while (child.listen(said)) {
    const std::uint64_t bytes = size_of(path);
    if (bytes != before) grew = Clock::now();
    before = bytes;
    if (options.progress) options.progress(bytes);
    if (options.max_bytes > 0 && bytes > options.max_bytes) {
      return {DownloadEnd::refused,
              fmt::format("more than the {} bytes it should have came", options.max_bytes)};
    }
    // curl's own limit is the mean of five seconds. wget has one, and may pass over what is there.
    const std::chrono::duration<double> still = Clock::now() - grew;
    if (program == "curl" && still.count() > options.stall_seconds) {
      return {DownloadEnd::interrupted,
              fmt::format("nothing came for {} seconds", options.stall_seconds)};
    }
  }
  const int code = child.wait();
  const std::string message = one_line_of(said);
  return {end_of(program, code, message),
          message.empty() && code != 0 ? fmt::format("{} ended with {}", program, code) : message};
}

}  // namespace vitruvian
