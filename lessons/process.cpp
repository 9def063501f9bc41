#include "lessons/process.hpp"

#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/error.hpp"

#include <fcntl.h>
#include <sys/select.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <system_error>
#include <utility>

namespace vitruvian::lessons {

namespace fs = std::filesystem;

fs::path program_folder() {
  std::error_code unknown;
  const fs::path self = fs::read_symlink("/proc/self/exe", unknown);
  return unknown ? fs::path(VITRUVIAN_BINARY_DIR) / "bin" : self.parent_path();
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

namespace {

volatile std::sig_atomic_t stop_signal = 0;
extern "C" void keep_signal(int signal) {
  if (signal != SIGCHLD) stop_signal = signal;
}

constexpr int watched[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD};

// While it lives, these signals interrupt `pselect` alone: none is lost between a look and a wait.
class Signals {
 public:
  Signals() {
    stop_signal = 0;
    sigset_t all;
    sigemptyset(&all);
    for (const int signal : watched) sigaddset(&all, signal);
    sigprocmask(SIG_BLOCK, &all, &before_);
    struct sigaction action = {};
    action.sa_handler = keep_signal;
    sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < std::size(watched); ++i) {
      sigaction(watched[i], &action, &handlers_[i]);
      const bool ignored = handlers_[i].sa_handler == SIG_IGN;  // by nohup, say
      if (ignored && watched[i] != SIGCHLD) sigaction(watched[i], &handlers_[i], nullptr);
    }
  }
  ~Signals() { restore(); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // As it was before: for a program that is about to begin, too.
  void restore() const {
    for (std::size_t i = 0; i < std::size(watched); ++i) {
      sigaction(watched[i], &handlers_[i], nullptr);
    }
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  void wait() const { pselect(0, nullptr, nullptr, nullptr, nullptr, &before_); }

 private:
  sigset_t before_ = {};
  struct sigaction handlers_[std::size(watched)] = {};
};

int waited(pid_t child, int options = 0) {
  int status = 0;
  pid_t ended = 0;
  while ((ended = waitpid(child, &status, options)) == -1 && errno == EINTR) {
  }
  return ended == child ? status : -1;
}

// A group of processes: a program with all that it starts, and a guard that ends them when the last
// copy of `lifeline` is closed: when we end, whatever ended us.
class Group {
 public:
  Group(std::vector<std::string>& words, const Streams& streams, const Signals& signals) {
    int lifeline[2];
    int refusal[2];
    make_pipe(lifeline);
    make_pipe(refusal);
    const std::vector<char*> argv = pointers(words);
    program_ = fork();
    if (program_ == 0) {
      setpgid(0, 0);
      begin(argv, streams, signals);
      const int problem = errno;
      [[maybe_unused]] const auto told = write(refusal[1], &problem, sizeof problem);
      _exit(127);
    }
    const int problem = errno;
    if (program_ > 0) setpgid(program_, program_);  // here as well: whoever is first
    guard_ = program_ < 0 ? -1 : fork();
    if (guard_ == 0) {
      if (setpgid(0, program_) != 0) _exit(1);  // else it would end our own group
      for (const int end : {lifeline[1], refusal[0], refusal[1]}) close(end);
      guard(lifeline[0]);
    }
    for (const int end : {lifeline[0], refusal[1]}) close(end);
    lifeline_ = lifeline[1];
    if (program_ < 0) refused_ = problem;
    while (program_ > 0 && ::read(refusal[0], &refused_, sizeof refused_) == -1 && errno == EINTR) {
    }
    close(refusal[0]);
  }
  ~Group() {
    if (lifeline_ >= 0) close(lifeline_);
    if (guard_ > 0) {
      kill(guard_, SIGKILL);
      waited(guard_);
    }
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  // Why the program could not be started: a number of errno, or 0.
  [[nodiscard]] int refused() const { return refused_; }
  [[nodiscard]] pid_t program() const { return program_; }
  // Asks all of them to end; a second later they are not asked.
  void end() {
    close(std::exchange(lifeline_, -1));
    kill(-program_, SIGTERM);  // as the guard does, if it lives
  }

 private:
  static void make_pipe(int (&ends)[2]) {
    if (pipe(ends) != 0) fail("no pipe can be made: {}", std::strerror(errno));
    for (const int end : ends) fcntl(end, F_SETFD, FD_CLOEXEC);
  }
  // In the child, until it is another program.
  static void begin(const std::vector<char*>& argv, const Streams& streams,
                    const Signals& signals) {
    for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_DFL);
    std::signal(SIGTTOU, SIG_IGN);  // a group of its own may still write to the terminal
    signals.restore();
    const int nothing = open("/dev/null", O_RDONLY);
    const int output = dup(streams.output);
    const int errors = dup(streams.errors);
    dup2(nothing, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(errors, STDERR_FILENO);
    for (const int copied : {nothing, output, errors}) close(copied);
    execvp(argv[0], argv.data());
  }
  // Only what may be called in the child of a program with threads.
  [[noreturn]] static void guard(int lifeline) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);
    char nothing = 0;
    while (::read(lifeline, &nothing, 1) == -1 && errno == EINTR) {
    }
    kill(0, SIGTERM);
    sleep(1);
    kill(0, SIGKILL);
    _exit(0);
  }

  pid_t program_ = -1;
  pid_t guard_ = -1;
  int lifeline_ = -1;
  int refused_ = 0;
};

}  // namespace

int run_program(std::vector<std::string> words, const Streams& streams) {
  console::flush();
  const Signals signals;
  Group group(words, streams, signals);
  if (group.refused() != 0) {
    if (group.program() > 0) waited(group.program());
    if (group.refused() == ENOENT) return not_there;
    fail("{} cannot be started: {}", words.front(), std::strerror(group.refused()));
  }
  int status = -1;
  while ((status = waited(group.program(), WNOHANG)) == -1) {
    if (stop_signal == 0) {
      signals.wait();
      continue;
    }
    group.end();
    waited(group.program());
    break;
  }
  if (stop_signal != 0) throw Error(static_cast<Exit>(128 + stop_signal), "stopped");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void build_target(const std::string& target, const std::string& why) {
  console::print(stderr, "{} {}: building it, which takes some seconds\n", target, why);
  const std::string folder = program_folder().parent_path().string();
  const int code =
      run_program({"cmake", "--build", folder, "--target", target}, {.output = STDERR_FILENO});
  if (code == not_there) {
    fail("{} has to be built, and cmake is not on this machine: scripts/start.sh installs it",
         target);
  }
  if (code != 0) fail("{} could not be built: what cmake says is above", target);
  if (!fs::exists(program_folder() / target)) fail("{} was built, but is not there", target);
}

}  // namespace vitruvian::lessons
