#pragma once

#include "lessons/contents.hpp"

#include <filesystem>
#include <string>

namespace vitruvian::lessons {

/// A file in which something about the learner is remembered: NAME in
/// $XDG_STATE_HOME/vitruvian/ROOM (~/.local/state by default). Empty when there is no home.
std::filesystem::path state_file(const std::string& room, const std::string& name);

/// Where it is remembered that a lesson was read to its end: an empty file of its name.
std::filesystem::path done_file(const Entry& entry);
bool is_done(const Entry& entry);

}  // namespace vitruvian::lessons
