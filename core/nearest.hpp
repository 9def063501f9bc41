#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vitruvian {

/// The candidate that a typing mistake may have meant: the one with the smallest edit distance
/// (insertions, deletions, substitutions, exchanges of neighbours), if that is at most a third of
/// the word's length, rounded up. Empty when none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace vitruvian
