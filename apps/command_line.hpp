#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

// The command lines of all programs. CLI11 reads them; its header, which takes the compiler six
// seconds a file, is read by command_line.cpp alone.

namespace vitruvian {

/// What a --seed may be: all 64 bits, as `train` has it.
constexpr std::uint64_t largest_seed = std::numeric_limits<std::uint64_t>::max();

constexpr std::uint64_t most_counted = 1'000'000;

/// A flag, or an argument that has only a place, of which more can be said. A handle: it ends with
/// its Parser.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}

  Option& required();
  /// Only whole numbers in this range: CLI11 would wrap a negative one around.
  Option& whole(std::uint64_t smallest, std::uint64_t largest);
  /// An argument that may come more than once, where flags would keep the last.
  Option& several();
  /// The heading in --help below which it stands; "" hides it.
  Option& group(const std::string& heading);
  /// What holds without it, as help says it.
  Option& usual(const std::string& text);
  Option& needs(const Option& other);
  Option& excludes(const Option& other);
  /// Says which texts it knows. They are offered by completion; to refuse others is left to whoever
  /// reads the flag.
  Option& offers(std::vector<std::string> values);
  template <class Names>
  Option& offers(const Names& names) {
    return offers(std::vector<std::string>(names.begin(), names.end()));
  }

 private:
  CLI::Option* option_;
};

/// A program's command line, or that of one of its commands: what may be said. A handle, which is
/// copied freely. What an option writes to must outlive run_command_line.
class Parser {
 public:
  Parser(const std::string& about, const std::string& name);

  /// A command, and what is called at once when it is read.
  Parser add_command(const std::string& name, const std::string& about,
                     const std::function<void()>& read) const;
  /// A command that says nothing without one of its own.
  Parser add_commands(const std::string& name, const std::string& about) const;

  /// A flag "--name", or an argument "name", of a `type`, as help names it; what `value` holds
  /// already is shown as its default. A text, or one of several, may not be empty. `Value` is one
  /// of those that command_line.cpp lists.
  template <class Value>
  Option add_value(const std::string& name, const std::string& type, Value& value,
                   const std::string& about) const;
  /// Likewise a number from `smallest` to `largest`.
  template <class Count>
  Option add_count(const std::string& name, Count& count, const std::string& about,
                   std::uint64_t largest = most_counted, std::uint64_t smallest = 0) const {
    return add_value(name, "N", count, about).whole(smallest, largest);
  }
  /// A text that `take` is called with.
  Option add_text(const std::string& name, const std::string& type,
                  const std::function<void(const std::string&)>& take,
                  const std::string& about) const;
  /// Numbers: "0.5" or "0.485,0.456,0.406".
  Option add_numbers(const std::string& name, std::vector<double>& numbers,
                     const std::string& about) const;
  /// A flag that takes nothing.
  Option add_flag(const std::string& name, bool& value, const std::string& about) const;
  /// A flag that may have a number behind "=", and has `usual` without.
  Option add_counted_flag(const std::string& name, std::size_t& count, std::size_t usual,
                          const std::string& about) const;
  /// --name and --no-name, of which `take` is told.
  Option add_switch(const std::string& name, const std::function<void(bool)>& take,
                    const std::string& about) const;

  void footer(const std::string& text) const;
  std::string help() const;
  std::vector<std::string> command_names() const;
  CLI::App& app() const { return *app_; }

 private:
  explicit Parser(std::shared_ptr<CLI::App> app) : app_(std::move(app)) {}

  std::shared_ptr<CLI::App> app_;
};

/// Parses, then runs `body`, or prints the help that was asked for. Throws (Exit::usage) for what
/// cannot be parsed; an unknown flag is answered with the nearest one that exists. Help has lines
/// of at most 80 columns; a line of a description that begins with a blank stays one.
void run_command_line(const Parser& parser, int argc, char** argv,
                      const std::function<void()>& body);

}  // namespace vitruvian
