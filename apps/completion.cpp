#include "apps/command_tree.hpp"
#include "apps/commands.hpp"
#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/error.hpp"

#include <array>
#include <functional>

namespace vitruvian {
namespace {

// Scripts hold words as they are, so there must be nothing in them that a shell understands.
const std::string& plain(const std::string& word) {
  constexpr std::string_view letters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
  if (word.empty() || word.find_first_not_of(letters) != std::string::npos) {
    fail("completion: '{}' is no plain word", word);
  }
  return word;
}

std::string plain_words(const std::vector<std::string>& words) {
  for (const std::string& word : words) plain(word);
  return joined(words, " ");
}

std::vector<std::string> flag_names(const Command& command) {
  std::vector<std::string> names;
  for (const Flag& flag : command.flags) {
    names.insert(names.end(), flag.names.begin(), flag.names.end());
  }
  return names;
}

// visit(command, path) for each: the path is "" of the program, then "data", "data fetch".
void for_each_command(const Command& command,
                      const std::function<void(const Command&, const std::string&)>& visit,
                      const std::string& path = "") {
  visit(command, path);
  for (const Command& sub : command.commands) {
    for_each_command(sub, visit, path + (path.empty() ? "" : " ") + plain(sub.name));
  }
}

// The first line, as it may stand between single quotes, without what stands in `special`: a
// shell's descriptions say in a few words what --help says in full.
std::string first_line(const std::string& text, std::string_view special = "") {
  std::string line = text.substr(0, text.find('\n'));
  for (char& c : line) {
    if (c == '\'' || c == '\\' || static_cast<unsigned char>(c) < 0x20) c = ' ';
    if (special.find(c) != std::string_view::npos) c = ' ';
  }
  return line;
}

constexpr const char* kind_of(Flag::Takes takes) {
  return takes == Flag::Takes::file ? "file" : takes == Flag::Takes::folder ? "folder" : "text";
}

}  // namespace

std::string bash_completion(const Command& program) {
  std::string paths;
  std::string values;
  std::string kinds;
  std::string words;
  for_each_command(program, [&](const Command& command, const std::string& path) {
    for (const Command& sub : command.commands) {
      paths += fmt::format("      '{0} {1}') command='{2}' ;;\n", path, sub.name,
                           path.empty() ? sub.name : path + " " + sub.name);
    }
    for (const Flag& flag : command.flags) {
      if (flag.takes == Flag::Takes::nothing) continue;
      for (const std::string& name : flag.names) {
        const std::string at = fmt::format("'{} {}')", path, plain(name));
        if (flag.values.empty()) {
          kinds += fmt::format("    {} kind={} ;;\n", at, kind_of(flag.takes));
        } else {
          values += fmt::format("    {} words='{}' ;;\n", at, plain_words(flag.values));
        }
      }
    }
    words += fmt::format("    '{}')\n      flags='{}'\n", path, plain_words(flag_names(command)));
    if (!command.commands.empty()) {
      words += fmt::format("      words='{}'\n", plain_words(names_in(command.commands)));
    }
    for (const Flag& argument : command.arguments) {
      words += argument.values.empty()
                   ? fmt::format("      kind={}\n", kind_of(argument.takes))
                   : fmt::format("      words='{}'\n", plain_words(argument.values));
    }
    words += "      ;;\n";
  });
  return fmt::format(
      R"(# bash completion for {0}, made by '{0} completion bash'
_{0}() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}}
  local command='' words='' flags='' kind='' i
  COMPREPLY=()
  # bash takes --flag=value for three words.
  if [ "$current" = '=' ]; then
    current=''
  elif [ "$before" = '=' ]; then
    before=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$command ${{COMP_WORDS[i]}}" in
{1}    esac
  done
  case "$command $before" in
{2}{3}  esac
  if [ -z "$words$kind" ]; then
    case "$command" in
{4}    esac
    case "$current" in
      -*) words=$flags kind='' ;;
    esac
  fi
  if [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  elif [ "$kind" = folder ]; then
    compopt -o dirnames 2>/dev/null
  elif [ "$kind" = file ]; then
    compopt -o default 2>/dev/null
  fi
}}
complete -F _{0} {0}
)",
      plain(program.name), paths, values, kinds, words);
}

std::string zsh_completion(const Command& program) {
  // _arguments reads NAME[about]:type:action; within it ':', '[' and ']' end a part.
  const auto action = [](const Flag& flag) {
    if (!flag.values.empty()) return fmt::format(":value:({})", plain_words(flag.values));
    if (flag.takes == Flag::Takes::file) return std::string(":file:_files");
    if (flag.takes == Flag::Takes::folder) return std::string(":folder:_files -/");
    return std::string(flag.takes == Flag::Takes::text ? ":text:" : "");
  };
  std::string functions;
  for_each_command(program, [&](const Command& command, const std::string& path) {
    std::string name = "_" + plain(program.name) + (path.empty() ? "" : "_" + path);
    for (char& c : name) {
      if (c == ' ' || c == '-') c = '_';
    }
    std::string body;
    for (const Flag& flag : command.flags) {
      for (const std::string& spelled : flag.names) {
        const bool takes = flag.takes != Flag::Takes::nothing;
        body += fmt::format(" \\\n    '{}{}[{}]{}'", plain(spelled), takes ? "=" : "",
                            first_line(flag.about, ":[]"), action(flag));
      }
    }
    for (const Flag& argument : command.arguments) {
      body += fmt::format(" \\\n    '{}{}'", argument.several ? "*" : "1", action(argument));
    }
    std::string rest;
    if (!command.commands.empty()) {
      body += " \\\n    '1:command:->command' '*::argument:->argument'";
      rest = "  case $state in\n    command)\n      local -a commands=(";
      for (const Command& sub : command.commands) {
        rest += fmt::format("\n        '{}:{}'", plain(sub.name), first_line(sub.about, ":[]"));
      }
      rest += ")\n      _describe command commands ;;\n    argument)\n      case $words[1] in\n";
      for (const Command& sub : command.commands) {
        rest += fmt::format("        {0}) {1}_{0} ;;\n", sub.name, name);
      }
      rest += "      esac ;;\n  esac\n";
    }
    functions += fmt::format(
        "{}() {{\n  local curcontext=$curcontext state line\n  _arguments{}{}\n{}}}\n\n", name,
        rest.empty() ? "" : " -C", body, rest);
  });
  return fmt::format(
      "#compdef {0}\n# zsh completion for {0}, made by '{0} completion zsh'\n\n{1}_{0} \"$@\"\n",
      program.name, functions);
}

std::string fish_completion(const Command& program) {
  std::string lines =
      fmt::format("# fish completion for {0}, made by '{0} completion fish'\ncomplete -c {0} -f\n",
                  plain(program.name));
  for_each_command(program, [&](const Command& command, const std::string& path) {
    std::string when = "__fish_use_subcommand";
    if (!path.empty()) {
      when = "__fish_seen_subcommand_from " + path;
      if (const auto space = path.find(' '); space != std::string::npos) {
        when.replace(when.find(' ', when.find(' ') + 1), 1, "; and __fish_seen_subcommand_from ");
      } else if (!command.commands.empty()) {
        when += "; and not __fish_seen_subcommand_from " + plain_words(names_in(command.commands));
      }
    }
    const auto line = [&](const std::string& what, const std::string& about) {
      lines += fmt::format("complete -c {} -n '{}' {} -d '{}'\n", program.name, when, what,
                           first_line(about));
    };
    const auto values = [](const Flag& flag) {
      if (!flag.values.empty()) return fmt::format(" -x -a '{}'", plain_words(flag.values));
      if (flag.takes == Flag::Takes::file) return std::string(" -r -F");
      if (flag.takes == Flag::Takes::folder) {
        return std::string(" -x -a '(__fish_complete_directories)'");
      }
      return std::string(flag.takes == Flag::Takes::text ? " -x" : "");
    };
    for (const Command& sub : command.commands) line("-a " + plain(sub.name), sub.about);
    for (const Flag& flag : command.flags) {
      for (const std::string& name : flag.names) {
        const bool is_long = name.starts_with("--");
        line((is_long ? "-l " : "-s ") + plain(name).substr(is_long ? 2 : 1) + values(flag),
             flag.about);
      }
    }
    for (const Flag& argument : command.arguments) {
      if (!argument.values.empty()) {
        line(fmt::format("-a '{}'", plain_words(argument.values)), argument.about);
      } else if (argument.takes != Flag::Takes::text) {
        line("-F", argument.about);
      }
    }
  });
  return lines;
}

void add_completion(const Parser& app, std::function<void()>& chosen) {
  const std::vector<std::string> shells{"bash", "zsh", "fish"};
  const auto print = [&app, shells](const std::string& shell) {
    const std::array makers{bash_completion, zsh_completion, fish_completion};
    const auto make = makers.at(index_of(shell, shells, "shell"));
    console::print("{}", console::lines(make(command_tree(app))));
  };
  auto [command, shell] = add_command<std::string>(
      app, chosen, "completion", "Print a script by which a shell completes commands and flags",
      print);
  command.add_value("SHELL", "", shell, "bash, zsh or fish").required().offers(shells);
}

void add_man(const Parser& app, std::function<void()>& chosen) {
  struct None {};
  add_command<None>(app, chosen, "man", "Print the manual page, for man -l -", [&app](const None&) {
    console::print("{}", console::lines(manual_page(command_tree(app), VITRUVIAN_VERSION)));
  });
}

}  // namespace vitruvian
