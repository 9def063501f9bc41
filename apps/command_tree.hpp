#pragma once

#include "apps/command_line.hpp"

#include <string>
#include <string_view>
#include <vector>

// What the program can be told, read from the flags as CLI11 has them: shell completion and the
// manual page follow it, so that a flag is written down once.

namespace vitruvian {

/// A flag, or an argument that has only a place.
struct Flag {
  enum class Takes { nothing, text, file, folder };

  std::vector<std::string> names;  ///< "--bold", "--no-bold"; of an argument its name alone
  std::string about;               ///< may be several lines
  std::string group;
  Takes takes = Takes::nothing;
  std::string type;                 ///< "FILE"; empty where it takes nothing
  std::string usual;                ///< its default; may be empty
  std::vector<std::string> values;  ///< where only these are known
  bool required = false;
  bool several = false;  ///< of an argument: whether it may come more than once
};

struct Command {
  std::string name;  ///< as it is typed: "vitruvian", "data", "fetch"
  std::string about;
  std::vector<Flag> flags;
  std::vector<Flag> arguments;
  std::vector<Command> commands;
};

Command command_tree(const Parser& parser);

/// Scripts that a shell reads, each by its own means. Names of flags and values are words of
/// letters, digits, '-', '_' and '.', or the script is not made (Exit::failure); what the user has
/// typed and the names of files are never evaluated.
std::string bash_completion(const Command& program);
std::string zsh_completion(const Command& program);
std::string fish_completion(const Command& program);

/// vitruvian(1), in roff with the macros of man(7).
std::string manual_page(const Command& program, std::string_view version);

}  // namespace vitruvian
