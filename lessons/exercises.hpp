#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vitruvian::lessons {

/// The part of `lesson --help` about exercises.
std::string_view exercise_usage();

/// Whether `lesson WORD` is about exercises: exercises, exercise, check, hint, solution.
bool is_exercise_command(std::string_view word);

/// Does what `lesson COMMAND WORD...` asks for. Returns the exit code: 1 where a check failed or a
/// solution is not open yet; throws where something else is wrong.
int exercise_command(const std::string& command, const std::vector<std::string>& words);

}  // namespace vitruvian::lessons
