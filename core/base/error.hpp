#pragma once

#include "vitruvian/core/base/text.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vitruvian {

/// What a program returns to the shell. Every `Error` carries one.
enum class Exit : int {
  ok = 0,
  failure = 1,
  usage = 2,
  data = 3,
  checkpoint = 4,
  hung_up = 129,      ///< by SIGHUP: the terminal is gone
  interrupted = 130,  ///< by SIGINT
  terminated = 143    ///< by SIGTERM
};

/// The one exception of the project: a sentence for a person, and the exit code that goes with it.
/// The sentence says what was wrong, where, and what was expected.
class Error : public std::runtime_error {
 public:
  Error(Exit exit, const std::string& message) : std::runtime_error(message), exit_(exit) {}
  [[nodiscard]] Exit exit() const noexcept { return exit_; }

 private:
  Exit exit_;
};

/// The reader of standard output has left, as head does: the end of a program (console::run),
/// without a word. Not an Error, to which others add their words.
struct ReaderLeft : std::exception {};

/// " - in blocks.3.mlp.fc1" inside a `Scope`, empty outside: the end of a shape error's sentence.
std::string in_scope();

[[noreturn]] void fail_formatted(fmt::string_view format, fmt::format_args args);
[[noreturn]] void fail_formatted(Exit exit, fmt::string_view format, fmt::format_args args);

/// Throws an `Error` of a computation: the formatted sentence, and the module path it happened in.
template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  fail_formatted(format, fmt::make_format_args(args...));
}

/// Throws an `Error` about something the user said or gave: a flag, a data file, a checkpoint.
template <class... Args>
[[noreturn]] void fail(Exit exit, fmt::format_string<Args...> format, Args&&... args) {
  fail_formatted(exit, format, fmt::make_format_args(args...));
}

/// The candidate that a typing mistake may have meant: the one with the smallest edit distance
/// (insertions, deletions, substitutions, exchanges of neighbours), if that is at most a third of
/// the word's length, rounded up. Empty when none is near.
std::string closest_match(std::string_view word, const std::vector<std::string>& candidates);

/// How an error about a word that does not exist ends: "did you mean X?"; or, where nothing is
/// near, `otherwise`: "there are A, B, C" unless given.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                         const std::string& otherwise = {});

/// Where `name` stands among `names`. Fails where it does not: "there is no KIND 'NAME'; ", and
/// what did_you_mean says.
std::size_t index_of(std::string_view name, const std::vector<std::string>& names,
                     std::string_view kind, const std::string& otherwise = {});

/// The names of all.
template <class T>
std::vector<std::string> names_in(const std::vector<T>& all) {
  std::vector<std::string> names;
  for (const T& one : all) names.emplace_back(one.name);
  return names;
}

/// The one of all that has this `name`, or an error as of index_of.
template <class T>
const T& named(std::string_view name, const std::vector<T>& all, std::string_view kind,
               const std::string& otherwise = {}) {
  return all[index_of(name, names_in(all), kind, otherwise)];
}

}  // namespace vitruvian
