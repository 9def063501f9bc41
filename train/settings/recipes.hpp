#pragma once

#include <string>
#include <vector>

namespace vitruvian {

/// A complete set of settings under a name.
struct Recipe {
  std::string name;
  std::string about;     ///< a sentence or two: where it is from, and how it differs from that
  std::string settings;  ///< as a config file holds them
  /// Of a row of the paper's Table 4: its length there, and the learning rates that are tried.
  std::string steps{}, rates{};
};

const std::vector<Recipe>& recipes();
/// Throws (Exit::usage) when there is none of that name, with the nearest.
const Recipe& recipe_named(const std::string& name);

}  // namespace vitruvian
