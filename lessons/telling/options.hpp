#pragma once

#include "lessons/telling/narrate.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vitruvian::lessons {

/// The flags that every lesson takes.
struct Options {
  bool step = false;
  bool ascii = false;
  bool plain = false;
  bool json = false;
  bool markdown = false;
  bool no_input = false;
  bool help = false;
  bool describe = false;  ///< hidden: prints what tests need to know
  std::size_t width = 0;  ///< 0: the terminal's, at most 80
  std::uint64_t seed = 1;
  std::string broken;     ///< the name after --break
  std::string fault;      ///< hidden: "op:kind[:input]", as in Break
  std::string done_file;  ///< hidden: written when the lesson was read to its end
  /// Hidden: a folder that gets the lesson in every form, from this one run:
  /// plain, ascii, narrow, page.md, json.
  std::string forms;
};

/// Reads the flags; throws (Exit::usage) with the nearest name for one that
/// does not exist.
Options parse_options(int argc, char** argv, const Lesson& lesson);
std::string help_text(const Lesson& lesson);

}  // namespace vitruvian::lessons
