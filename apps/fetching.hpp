#pragma once

#include "apps/command_line.hpp"
#include "vitruvian/datasets/fetch/fetch.hpp"

#include <string>
#include <vector>

// What `data fetch` and `weights fetch` have in common.

namespace vitruvian {

struct FetchFlags {
  std::vector<std::string> mirrors;
  std::string from_file;
  long timeout = 30;
};

void add_fetch_flags(const Parser& command, FetchFlags& flags);

/// What is brought to `directory`, told line by line, and where there is a terminal by a bar that
/// is redrawn in place.
FetchOptions fetch_options(const FetchFlags& flags, const std::string& directory);

}  // namespace vitruvian
