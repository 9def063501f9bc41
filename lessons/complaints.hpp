#pragma once

#include <string>

namespace vitruvian::lessons {

/// What a complaint of g++ or clang, its line and those below it, says in a learner's words: a
/// sentence or two about what to do; "" for one that is not among the commonest.
std::string in_other_words(const std::string& complaint);

}  // namespace vitruvian::lessons
