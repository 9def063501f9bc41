#pragma once

#include "lessons/exercise_file.hpp"

#include <filesystem>

namespace vitruvian::lessons {

/// Compiles a learner's file as this build was compiled, loads it into build/bin/exercise_checks
/// (built first when it is missing or old) and lets it judge; all is said on standard output, but
/// what stops the file from being judged on standard error. Returns whether everything agreed.
/// `seconds` is how long the function may run.
bool check_exercise(const Exercise& exercise, const std::filesystem::path& file, int seconds);

}  // namespace vitruvian::lessons
