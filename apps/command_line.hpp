#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace vitruvian {

/// What a --seed may be: all 64 bits, as `train` has it.
constexpr std::uint64_t largest_seed = std::numeric_limits<std::uint64_t>::max();

constexpr std::uint64_t most_counted = 1'000'000;

/// That a flag's text is a whole number in this range: CLI11 would wrap a negative one around.
CLI::Validator whole_number(std::uint64_t largest, std::uint64_t smallest = 0);
/// That a flag's text is not empty: a script's variable was, and no file or name is meant.
CLI::Validator some_text();

/// Adds an option of a `type`, as help names it; what it holds already is shown as its default. A
/// text, or one of several, may not be empty.
template <class Value>
CLI::Option* add_value(CLI::App& command, const std::string& name, const std::string& type,
                       Value& value, const std::string& description) {
  CLI::Option* const option = command.add_option(name, value, description)->type_name(type);
  if constexpr (std::is_same_v<Value, std::string> ||
                std::is_same_v<Value, std::vector<std::string>>) {
    option->check(some_text());
  }
  return value == Value{} ? option : option->capture_default_str();
}
/// Likewise a number from `smallest` to `largest`.
template <class Count>
CLI::Option* add_count(CLI::App& command, const std::string& name, Count& count,
                       const std::string& description, std::uint64_t largest = most_counted,
                       std::uint64_t smallest = 0) {
  return add_value(command, name, "N", count, description)->check(whole_number(largest, smallest));
}

/// Parses, then runs `body`, or prints the help that was asked for. Throws (Exit::usage) for what
/// cannot be parsed; an unknown flag is answered with the nearest one that exists. Help has lines
/// of at most 80 columns; a line of a description that begins with a blank stays one.
void run_command_line(CLI::App& app, int argc, char** argv, const std::function<void()>& body);

}  // namespace vitruvian
