#include "lessons/process.hpp"

#include "core/error.hpp"

#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
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

int run_program(std::vector<std::string> words, const Streams& streams) {
  std::fflush(stdout);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, streams.output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, streams.errors, STDERR_FILENO);
  pid_t child = 0;
  const int problem = posix_spawnp(&child, words.front().c_str(), &actions, nullptr,
                                   pointers(words).data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (problem == ENOENT) return not_there;
  if (problem != 0) fail("{} cannot be started: {}", words.front(), std::strerror(problem));
  int status = 0;
  while (waitpid(child, &status, 0) == -1 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void build_target(const std::string& target, const std::string& why) {
  fmt::print(stderr, "{} {}: building it, which takes some seconds\n", target, why);
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
