#pragma once

#include "lessons/contents.hpp"

#include <filesystem>

namespace vitruvian::lessons {

/// Where it is remembered that a lesson was read to its end: an empty file of its name in
/// $XDG_STATE_HOME/vitruvian/lessons (~/.local/state by default). Empty when there is no home.
std::filesystem::path done_file(const Entry& entry);
bool is_done(const Entry& entry);

}  // namespace vitruvian::lessons
