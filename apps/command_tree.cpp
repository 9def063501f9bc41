#include "apps/command_tree.hpp"

#include <map>
#include <utility>

namespace vitruvian {
namespace {

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

}  // namespace

void offer(CLI::Option* option, std::vector<std::string> values) {
  offered()[option] = std::move(values);
}

Command command_tree(const CLI::App& app) {
  Command command{app.get_name(), app.get_description(), {}, {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // not in --help either
    auto& list = option->get_positional() ? command.arguments : command.flags;
    list.push_back(described(*option));
  }
  const auto shown = [](const CLI::App* sub) { return !sub->get_group().empty(); };
  for (const CLI::App* sub : app.get_subcommands(shown)) {
    command.commands.push_back(command_tree(*sub));
  }
  return command;
}

}  // namespace vitruvian
