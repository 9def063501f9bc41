#include "apps/command_line.hpp"

#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/error.hpp"

#include <fmt/format.h>

#include <vector>

namespace vitruvian {
namespace {

// The innermost subcommand that was being parsed: its flags are the ones the user meant.
const CLI::App& innermost(const CLI::App& app) {
  const auto subcommands = app.get_subcommands();
  return subcommands.empty() ? app : innermost(*subcommands.back());
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const CLI::App* subcommand : app.get_subcommands(nullptr))
    names.push_back(subcommand->get_name());
  return names;
}

// "vitruvian data fetch"
std::string name_of(const CLI::App& command) {
  const CLI::App* const parent = command.get_parent();
  return (parent == nullptr ? "" : name_of(*parent) + " ") + command.get_name();
}
std::string see_help(const CLI::App& command) {
  return fmt::format("see {} --help", name_of(command));
}

std::string unexpected(const CLI::App& app) {
  const CLI::App& command = innermost(app);
  const auto extra = app.remaining(true);
  std::string word = extra.empty() ? "" : extra.front();
  if (const auto equals = word.find('='); equals != std::string::npos) word.resize(equals);
  const bool flag = word.starts_with('-');
  return fmt::format("there is no {} '{}'; {}", flag ? "flag" : "command or argument", word,
                     did_you_mean(word, flags_of(command), see_help(command)));
}

// What is missing, where CLI11 says "images is required", "A subcommand is required".
std::string missing(const CLI::App& app, const std::string& said) {
  const CLI::App& command = innermost(app);
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional() || !said.starts_with(option->get_name() + " ")) continue;
    const std::string type = option->get_type_name();
    return fmt::format("{} is missing; {}", type.empty() ? option->get_name() : type,
                       see_help(command));
  }
  std::vector<std::string> names;
  for (const CLI::App* one : command.get_subcommands(nullptr)) names.push_back(one->get_name());
  if (!said.starts_with("A subcommand")) return said;
  return fmt::format("{}: which? {}", command.get_name(), fmt::join(names, ", "));
}

// A flag that ends the line, where CLI11 says "--lr: 1 required X missing".
std::string without_value(const std::string& said) {
  const std::size_t colon = said.find(": ");
  const std::size_t type = said.find(" required ", colon);
  if (colon == std::string::npos || type == std::string::npos || !said.ends_with(" missing")) {
    return said;
  }
  const std::string flag = said.substr(0, colon);
  return fmt::format("{} needs a value", flag);
}

// A flag that is given twice means its last value, so that a script's flags can be overridden.
void take_last(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() == 1) {
      option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    }
  }
  for (CLI::App* subcommand : app.get_subcommands(nullptr)) take_last(*subcommand);
}

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

}  // namespace

void run_command_line(CLI::App& app, int argc, char** argv, const std::function<void()>& body) {
  try {
    take_last(app);
    app.parse(argc, argv);
  } catch (const CLI::Success&) {
    return console::print("{}", console::raw(app.help()));
  } catch (const CLI::ExtrasError&) {
    fail(Exit::usage, "{}", unexpected(app));
  } catch (const CLI::RequiredError& error) {  // for want of what was misspelt, often
    if (!app.remaining(true).empty()) fail(Exit::usage, "{}", unexpected(app));
    fail(Exit::usage, "{}", missing(app, one_line(error.what())));
  } catch (const CLI::ArgumentMismatch& error) {
    fail(Exit::usage, "{}", without_value(one_line(error.what())));
  } catch (const CLI::ParseError& error) {
    fail(Exit::usage, "{}", one_line(error.what()));
  }
  body();
}

}  // namespace vitruvian
