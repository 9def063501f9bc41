#pragma once

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "apps/command_line.hpp"
#include "lessons/telling/contents.hpp"
#include "vitruvian/core/base/error.hpp"

namespace vitruvian::lessons {

// The file of an exercise: below its first line a comment with the task. The lines between `//
// [gap]` and `// [solution]` stand in the learner's copy, without their `//| `; those between
// `// [solution]` and `// [end]` in the solution. At the end come three hints.

/// Adds what a learner does with exercises: exercises, exercise, check, hint and solution. What was
/// asked for is left in `chosen`; it returns the exit code, 1 where a check failed or a solution is
/// not open yet, and throws where something else is wrong.
void add_exercise_commands(const Parser& app, std::function<int()>& chosen);

/// Puts an exercise into the learner's folder and says how to go on: `lesson exercise N` without
/// flags.
int begin_exercise(const Exercise& exercise);

/// Compiles a learner's file as this build was compiled, loads it into build/bin/exercise_checks
/// (built first when it is missing or old) and lets it judge; all is said on standard output, but
/// what stops the file from being judged on standard error. Returns whether everything agreed.
/// `seconds` is how long the function may run; with `ascii` nothing but the learner's own lines has
/// a glyph beyond ASCII.
bool check_exercise(const Exercise& exercise, const std::filesystem::path& file, int seconds,
                    bool ascii);

/// Runs `lesson CHECK...` now and whenever the file changes, and `lesson HINT...` when asked to,
/// until q; throws (Exit::usage) where nobody sits at a terminal.
void watch_exercise(const std::filesystem::path& file, const std::vector<std::string>& check,
                    const std::vector<std::string>& hint);

/// The one of these (lessons, exercises) with this number or name; throws (Exit::usage), naming
/// the nearest, when there is none. `kind` is what they are called, `list` the command that lists
/// them, and `commands` are other words that could have been meant.
template <class T>
const T& find(const std::vector<T>& all, const std::string& word, const char* kind,
              const char* list, const std::vector<std::string>& commands = {}) {
  const auto digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  const bool is_number = !word.empty() && std::all_of(word.begin(), word.end(), digit);
  for (const T& one : all) {
    if (word == one.name) return one;
    if (is_number && word.size() < 6 && std::stoi(word) == one.number) return one;
  }
  if (is_number) {
    fail(Exit::usage, "there is no {} {}: they go from {} to {}; see {}", kind, word,
         all.front().number, all.back().number, list);
  }
  std::vector<std::string> names = names_in(all);
  names.insert(names.end(), commands.begin(), commands.end());
  fail(Exit::usage, "there is no {} '{}'; {}", kind, word,
       did_you_mean(word, names, fmt::format("see {}", list)));
}

}  // namespace vitruvian::lessons
