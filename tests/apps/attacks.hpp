#pragma once

#include "tests/folder.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

// Files that somebody made on purpose, given to the program as a user gives them: each ends in one
// line that names the file and what is wrong, exit 3 (pictures) or 4 (weights), in under 5 s of a
// processor and 96 MB, with nothing half-written.

namespace vitruvian {

inline const std::string digit_model =
    std::string(VITRUVIAN_TEST_DATA) + "/../models/digits.safetensors";

struct Ending {
  int exit = -1;
  std::string error;
  double seconds = 0;
  long megabytes = 0;
};

inline Ending run(const Folder& folder, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), VITRUVIAN_PROGRAM);
  const ::pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const int out = ::open(folder.file("out").c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
    const int err = ::open(folder.file("err").c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(err, STDERR_FILENO);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  int status = 0;
  ::rusage usage = {};
  REQUIRE(::wait4(child, &status, 0, &usage) == child);
  const auto seconds = [](const ::timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          content(folder.file("err")), seconds(usage.ru_utime) + seconds(usage.ru_stime),
          usage.ru_maxrss / 1024};
}

struct Attack {
  std::string name;
  const char* message;                // what the line must say, after the file's name
  std::function<std::string()> make;  // made when it is used: a child inherits what we hold
};

inline void check(const Attack& attack, int exit, std::vector<std::string> arguments) {
  CAPTURE(attack.name);
  const Folder folder;
  const std::string path = folder.file("attack");
  write(path, attack.make());
  arguments.push_back(path);
  const Ending ending = run(folder, arguments);
  CHECK(ending.exit == exit);
  CAPTURE(ending.error);
  CHECK(std::count(ending.error.begin(), ending.error.end(), '\n') == 1);
  CHECK(ending.error.size() < 2000);
  CHECK(says(ending.error, path + ": "));
  CHECK(says(ending.error, attack.message));
  if (!sanitized) {
    CHECK(ending.seconds < 5);
    CHECK(ending.megabytes <= 96);
  }
  CHECK(folder.files() == std::vector<std::string>{"attack", "err", "out"});
}

}  // namespace vitruvian
