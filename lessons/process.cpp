#include "lessons/process.hpp"

#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/error.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <system_error>

extern char** environ;

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

// A pipe that only we hold open. When we end, whatever ended us, or close it, the guard of the
// program sees its end.
volatile std::sig_atomic_t lifeline = -1;
volatile std::sig_atomic_t stop_signal = 0;
extern "C" void let_go(int signal) {
  const int kept = errno;
  if (stop_signal == 0) close(lifeline);
  stop_signal = signal;
  errno = kept;
}

// While it lives, what asks us to stop lets go of the lifeline.
class Signals {
 public:
  Signals() {
    struct sigaction action = {};
    action.sa_handler = let_go;
    sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < std::size(watched); ++i) {
      sigaction(watched[i], &action, &before_[i]);
      const bool ignored = before_[i].sa_handler == SIG_IGN;  // by nohup, say
      if (ignored) sigaction(watched[i], &before_[i], nullptr);
    }
  }
  ~Signals() {
    for (std::size_t i = 0; i < std::size(watched); ++i)
      sigaction(watched[i], &before_[i], nullptr);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

 private:
  static constexpr int watched[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction before_[std::size(watched)] = {};
};

// A program in a process group of its own; returns what posix_spawnp does.
int start(pid_t& program, std::vector<std::string>& words, const Streams& streams) {
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t files;
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_init(&files);
  sigset_t usual;
  sigemptyset(&usual);
  for (const int signal : {SIGPIPE, SIGXFSZ}) sigaddset(&usual, signal);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, streams.output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, streams.errors, STDERR_FILENO);
  std::signal(SIGTTOU, SIG_IGN);  // inherited: another group may still write to the terminal
  const std::vector<char*> argv = pointers(words);
  const int problem = posix_spawnp(&program, argv[0], &files, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  return problem;
}

// Ends the group of a program when the lifeline ends. Only what may be called in the child of a
// program with threads.
[[noreturn]] void guard(pid_t program, int (&ends)[2]) {
  if (setpgid(0, program) != 0) _exit(1);  // else it would end our own group
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);
  close(ends[1]);
  char nothing = 0;
  while (::read(ends[0], &nothing, 1) == -1 && errno == EINTR) {
  }
  kill(0, SIGTERM);
  sleep(1);
  kill(0, SIGKILL);
  _exit(0);
}

int waited(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) == -1 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

int run_program(std::vector<std::string> words, const Streams& streams) {
  console::flush();
  int ends[2];
  if (pipe(ends) != 0) fail("no pipe can be made: {}", std::strerror(errno));
  for (const int end : ends) fcntl(end, F_SETFD, FD_CLOEXEC);
  lifeline = ends[1];
  stop_signal = 0;
  const Signals signals;
  pid_t program = -1, guarding = -1;
  const int problem = start(program, words, streams);
  int code = not_there;
  if (problem == 0) {
    guarding = fork();
    if (guarding == 0) guard(program, ends);
    code = waited(program);
  }
  close(ends[0]);
  if (stop_signal == 0) close(ends[1]);
  if (guarding > 0) {
    kill(guarding, SIGKILL);
    waited(guarding);
  }
  if (stop_signal != 0) throw Error(static_cast<Exit>(128 + stop_signal), "stopped");
  if (problem != 0 && problem != ENOENT) {
    fail("{} cannot be started: {}", words.front(), std::strerror(problem));
  }
  return code;
}

void build_if_needed(const std::string& target, const std::vector<fs::path>& sources) {
  const fs::path program = program_folder() / target;
  std::error_code none;
  const bool missing = !fs::exists(program, none);
  if (!missing && std::none_of(sources.begin(), sources.end(), [&](const fs::path& source) {
        return fs::last_write_time(source) > fs::last_write_time(program);
      })) {
    return;
  }
  console::print(stderr, "{} is {}: building it: some seconds, half a minute the first time\n",
                 target, missing ? "not built yet" : "older than its source");
  const std::string folder = program_folder().parent_path().string();
  const int code =
      run_program({"cmake", "--build", folder, "--target", target}, {.output = STDERR_FILENO});
  if (code == not_there) {
    fail("{} has to be built, and cmake is not on this machine: scripts/start.sh installs it",
         target);
  }
  if (code != 0) fail("{} could not be built: what cmake says is above", target);
  if (!fs::exists(program)) fail("{} was built, but is not there", target);
}

}  // namespace vitruvian::lessons
