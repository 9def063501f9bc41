#include "apps/command_line.hpp"

#include "apps/command_tree.hpp"
#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/wrapping.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
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
    if (option->get_group().empty()) continue;  // not for users: --help does not list it
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
  return fmt::format("{}: which? {}", command.get_name(), joined(names));
}

// A flag that ends the line, where CLI11 says "--lr: 1 required X missing"; and one that has a
// value, where it says "json was given a disallowed flag override".
std::string wrong_value(const std::string& said) {
  constexpr std::string_view none = " was given a disallowed flag override";
  if (said.ends_with(none)) {
    return fmt::format("--{} takes no value", said.substr(0, said.size() - none.size()));
  }
  const std::size_t colon = said.find(": ");
  const std::size_t type = said.find(" required ", colon);
  if (colon == std::string::npos || type == std::string::npos || !said.ends_with(" missing")) {
    return said;
  }
  const std::string flag = said.substr(0, colon);
  return fmt::format("{} needs a value", flag.empty() ? "the last flag" : flag);
}

// CLI11 lets a flag have the value that it stands for: "--no-qk-norm=false".
void refuse_values_of_flags(const CLI::App& app, int argc, char** argv) {
  std::vector<const CLI::App*> said{&app};
  for (const CLI::App* const command : app.get_subcommands()) said.push_back(command);
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string word = argv[i];
    const std::string flag = word.substr(0, word.find('='));
    if (flag == word) continue;
    for (const CLI::App* command : said) {
      const CLI::Option* const option = command->get_option_no_throw(flag);
      if (option != nullptr && option->get_disable_flag_override()) {
        fail(Exit::usage, "{} takes no value", flag);
      }
    }
  }
}

constexpr std::size_t help_width = 80;
constexpr std::size_t name_width = 30;

// Text as it stands behind `lead`. Its lines are filled anew, as in the manual page, but those that
// begin with blanks, a list or a formula, stay lines of their own.
std::string filled(std::string lead, const std::string& text) {
  std::vector<std::string> paragraphs;
  std::istringstream lines(text);
  bool open = false;  // whether the last paragraph goes on
  for (std::string line; std::getline(lines, line);) {
    const bool apart = line.empty() || line.starts_with(' ');
    if (open && !apart) {
      paragraphs.back() += " " + line;
    } else {
      paragraphs.push_back(line);
    }
    open = !apart;
  }
  const std::size_t indent = console::columns_of(lead);
  std::string result;
  for (const std::string& paragraph : paragraphs) {
    const std::size_t blanks = std::min(paragraph.find_first_not_of(' '), paragraph.size());
    const bool fits = indent + console::columns_of(paragraph) <= help_width;
    const std::string line =
        fits ? lead + paragraph
             : console::hanging(lead + std::string(blanks, ' '), paragraph, help_width);
    result += line + "\n";
    lead = std::string(indent, ' ');
  }
  return result;
}

// Help that fits a terminal of 80 columns: CLI11 2.1 breaks no lines.
class Help final : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    return entry(make_option_name(option, is_positional) + make_option_opts(option),
                 make_option_desc(option));
  }
  // Without the "{false}" that CLI11 hangs on a flag that switches something off.
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    if (is_positional) return option->get_name(true);
    std::vector<std::string> names;
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    return joined(names, ",");
  }
  // "DIR...", where CLI11 counts: "DIR(1x)".
  std::string make_option_usage(const CLI::Option* option) const override {
    const std::string more = option->get_items_expected_max() > 1 ? "..." : "";
    const std::string usage = option->get_name(true) + more;
    return option->get_required() ? usage : "[" + usage + "]";
  }
  std::string make_subcommand(const CLI::App* command) const override {
    return entry(command->get_name(), command->get_description());
  }
  std::string make_description(const CLI::App* app) const override {
    return filled("", Formatter::make_description(app));
  }
  std::string make_footer(const CLI::App* app) const override {
    return filled("", Formatter::make_footer(app));
  }

 private:
  // A name, and what it is beside it; below it where the name is long.
  static std::string entry(const std::string& name, const std::string& text) {
    const std::string head = "  " + name;
    if (text.empty()) return head + "\n";
    if (head.size() < name_width) return filled(fmt::format("{:{}}", head, name_width), text);
    return head + "\n" + filled(std::string(name_width, ' '), text);
  }
};

// Our help for all; and a flag that is given twice means its last value, so that a script's flags
// can be overridden.
void prepare(CLI::App& app, const std::shared_ptr<Help>& help) {
  app.formatter(help);
  for (CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() == 1) {
      option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    }
  }
  for (CLI::App* subcommand : app.get_subcommands(nullptr)) prepare(*subcommand, help);
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// That a text is not empty: a script's variable was, and no file or name is meant.
CLI::Validator some_text() {
  return {[](const std::string& text) { return text.empty() ? "a name is expected" : ""; }, ""};
}

std::map<const CLI::Option*, std::vector<std::string>>& offered() {
  static std::map<const CLI::Option*, std::vector<std::string>> values;
  return values;
}

Flag::Takes taken_by(std::string_view type) {
  if (type.starts_with("FILE") || type == "IMAGE" || type == "PATH") return Flag::Takes::file;
  return type == "DIR" ? Flag::Takes::folder : Flag::Takes::text;
}

Flag described(const CLI::Option& option) {
  Flag flag;
  for (const std::string& name : option.get_snames()) flag.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) flag.names.push_back("--" + name);
  const bool argument = flag.names.empty();
  if (argument) flag.names.push_back(option.get_name(true));
  flag.about = option.get_description();
  flag.group = option.get_group();
  flag.required = option.get_required();
  flag.several = option.get_items_expected_max() > 1;
  flag.usual = option.get_default_str();
  if (option.get_items_expected_max() == 0) return flag;
  flag.type = option.get_type_name();
  if (flag.type.empty()) flag.type = flag.names.front();
  flag.takes = taken_by(flag.type);
  if (const auto found = offered().find(&option); found != offered().end()) {
    flag.values = found->second;
  }
  return flag;
}

Command described(const CLI::App& app) {
  Command command{app.get_name(), app.get_description(), {}, {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // not in --help either
    auto& list = option->get_positional() ? command.arguments : command.flags;
    list.push_back(described(*option));
  }
  const auto shown = [](const CLI::App* sub) { return !sub->get_group().empty(); };
  for (const CLI::App* sub : app.get_subcommands(shown)) {
    command.commands.push_back(described(*sub));
  }
  return command;
}

}  // namespace

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::whole(std::uint64_t smallest, std::uint64_t largest) {
  const auto check = [largest, smallest](const std::string& text) {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc() && rest == end && number >= smallest && number <= largest)
      return std::string();
    return fmt::format("'{}' is not a whole number from {} to {}", text, smallest, largest);
  };
  option_->check(CLI::Validator(check, ""));
  return *this;
}

Option& Option::several() {
  option_->expected(1, 1000);
  return *this;
}

Option& Option::group(const std::string& heading) {
  option_->group(heading);
  return *this;
}

Option& Option::usual(const std::string& text) {
  option_->default_str(text);
  return *this;
}

Option& Option::needs(const Option& other) {
  option_->needs(other.option_);
  return *this;
}

Option& Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

Option& Option::offers(std::vector<std::string> values) {
  offered()[option_] = std::move(values);
  return *this;
}

Parser::Parser(const std::string& about, const std::string& name)
    : app_(std::make_shared<CLI::App>(about, name)) {
  app_->require_subcommand(0, 1);  // a second command's name is an argument, such as a folder's
}

Parser Parser::add_command(const std::string& name, const std::string& about,
                           const std::function<void()>& read) const {
  CLI::App* const command = app_->add_subcommand(name, about);
  command->callback(read);
  return Parser(std::shared_ptr<CLI::App>(app_, command));  // lives as long as the whole does
}

Parser Parser::add_commands(const std::string& name, const std::string& about) const {
  CLI::App* const commands = app_->add_subcommand(name, about);
  commands->require_subcommand(1);
  return Parser(std::shared_ptr<CLI::App>(app_, commands));
}

template <class Value>
Option Parser::add_value(const std::string& name, const std::string& type, Value& value,
                         const std::string& about) const {
  CLI::Option* const option = app_->add_option(name, value, about)->type_name(type);
  if constexpr (std::is_same_v<Value, std::string> ||
                std::is_same_v<Value, std::vector<std::string>>) {
    option->check(some_text());
  }
  return Option(value == Value{} ? *option : *option->capture_default_str());
}
#define VITRUVIAN_VALUE(Value)                                                      \
  template Option Parser::add_value(const std::string&, const std::string&, Value&, \
                                    const std::string&) const
VITRUVIAN_VALUE(std::string);
VITRUVIAN_VALUE(std::vector<std::string>);
VITRUVIAN_VALUE(int);
VITRUVIAN_VALUE(long);
VITRUVIAN_VALUE(unsigned long);  // std::size_t and std::uint64_t are one of these
VITRUVIAN_VALUE(unsigned long long);
VITRUVIAN_VALUE(double);
VITRUVIAN_VALUE(std::optional<std::size_t>);
#undef VITRUVIAN_VALUE

Option Parser::add_text(const std::string& name, const std::string& type,
                        const std::function<void(const std::string&)>& take,
                        const std::string& about) const {
  return Option(*app_->add_option_function<std::string>(name, take, about)->type_name(type));
}

Option Parser::add_numbers(const std::string& name, std::vector<double>& numbers,
                           const std::string& about) const {
  const auto take = [&numbers, name](const std::string& text) {
    std::istringstream parts(text + ",");  // so that an empty last one is seen
    numbers.clear();
    for (std::string part; std::getline(parts, part, ',');) {
      if (!CLI::detail::lexical_cast(part, numbers.emplace_back())) {
        fail(Exit::usage, "{}: '{}' is not a number", name, part);
      }
    }
  };
  return add_text(name, "X[,X,X]", take, about);
}

Option Parser::add_flag(const std::string& name, bool& value, const std::string& about) const {
  return Option(*app_->add_flag(name, value, about)->disable_flag_override());
}

Option Parser::add_counted_flag(const std::string& name, std::size_t& count, std::size_t usual,
                                const std::string& about) const {
  CLI::Option* const flag = app_->add_flag(fmt::format("{}{{{}}}", name, usual), count, about);
  flag->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);  // not their sum
  return Option(*flag).whole(0, most_counted);
}

Option Parser::add_switch(const std::string& name, const std::function<void(bool)>& take,
                          const std::string& about) const {
  const std::string names = fmt::format("{0},--no-{1}{{false}}", name, name.substr(2));
  const auto last = [take](std::int64_t n) { take(n > 0); };
  CLI::Option* const flag = app_->add_flag_function(names, last, about)->disable_flag_override();
  flag->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);  // not how often less how often not
  return Option(*flag);
}

void Parser::footer(const std::string& text) const { app_->footer(text); }

std::string Parser::help() const { return app_->help(); }

std::vector<std::string> Parser::command_names() const {
  std::vector<std::string> names;
  for (const CLI::App* const command : app_->get_subcommands({})) {
    names.push_back(command->get_name());
  }
  return names;
}

Command command_tree(const Parser& parser) { return described(parser.app()); }

void run_command_line(const Parser& parser, int argc, char** argv,
                      const std::function<void()>& body) {
  CLI::App& app = parser.app();
  try {
    prepare(app, std::make_shared<Help>());
    app.parse(argc, argv);
    refuse_values_of_flags(app, argc, argv);
  } catch (const CLI::Success&) {
    return console::print("{}", console::raw(app.help()));
  } catch (const CLI::ExtrasError&) {
    fail(Exit::usage, "{}", unexpected(app));
  } catch (const CLI::RequiredError& error) {  // for want of what was misspelt, often
    if (!app.remaining(true).empty()) fail(Exit::usage, "{}", unexpected(app));
    fail(Exit::usage, "{}", missing(app, one_line(error.what())));
  } catch (const CLI::ArgumentMismatch& error) {
    fail(Exit::usage, "{}", wrong_value(one_line(error.what())));
  } catch (const CLI::ParseError& error) {
    fail(Exit::usage, "{}", one_line(error.what()));
  }
  body();
}

}  // namespace vitruvian
