#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace vitruvian {

/// Of as many digits as all that fit into 64 bits: what a --seed may be.
constexpr std::uint64_t largest_seed = 9'999'999'999'999'999'999U;

/// That a flag's text is a whole number up to `largest`: CLI11 would wrap a negative one around.
CLI::Validator whole_number(std::uint64_t largest);

/// Adds an option of a `type`, as help names it; what it holds already is shown as its default.
template <class Value>
CLI::Option* add_value(CLI::App& command, const std::string& name, const std::string& type,
                       Value& value, const std::string& description) {
  CLI::Option* const option = command.add_option(name, value, description)->type_name(type);
  return value == Value{} ? option : option->capture_default_str();
}
/// Likewise a number from 0 to `largest`.
template <class Count>
CLI::Option* add_count(CLI::App& command, const std::string& name, Count& count,
                       const std::string& description, std::uint64_t largest = 1'000'000) {
  return add_value(command, name, "N", count, description)->check(whole_number(largest));
}

/// Parses, then runs `body`, or prints the help that was asked for. Throws (Exit::usage) for what
/// cannot be parsed; an unknown flag is answered with the nearest one that exists.
/// Help has lines of at most 80 columns; a line of a description that begins with a blank stays
/// one.
void run_command_line(CLI::App& app, int argc, char** argv, const std::function<void()>& body);

}  // namespace vitruvian
