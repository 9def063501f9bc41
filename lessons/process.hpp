#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

namespace vitruvian::lessons {

/// The folder of the programs: where this one lies.
std::filesystem::path program_folder();

/// The words as `exec` wants them; they must outlive the pointers.
std::vector<char*> pointers(std::vector<std::string>& words);

/// Where a program's output goes.
struct Streams {
  int output = STDOUT_FILENO;
  int errors = STDERR_FILENO;
};
inline constexpr int not_there = -1;

/// Runs a program, without standard input, and waits for it. Returns its exit code, 128 + the
/// signal that ended it, or `not_there` when there is no such program; throws where it cannot be
/// started for another reason. The program and whatever it starts end with this one, however that
/// ends; by SIGINT, SIGTERM and SIGHUP it ends them, then throws (with the exit code of that
/// signal).
int run_program(std::vector<std::string> words, const Streams& streams = {});

/// Builds a target of CMake in the folder that `program_folder` lies in when its program is missing
/// or older than `sources`, which it says first; what cmake says goes to standard error. Throws
/// when that fails.
void build_if_needed(const std::string& target, const std::vector<std::filesystem::path>& sources);

}  // namespace vitruvian::lessons
