#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vitruvian {

/// The candidate that a typing mistake may have meant: the one with the smallest edit distance
/// (insertions, deletions, substitutions, exchanges of neighbours), if that is at most a third of
/// the word's length, rounded up. Empty when none is near.
std::string closest_match(std::string_view word, const std::vector<std::string>& candidates);

/// How an error about a word that does not exist ends: "did you mean X?"; or, where nothing is
/// near, `otherwise`: "there are A, B, C" unless given.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                         const std::string& otherwise = {});

}  // namespace vitruvian
