#pragma once

#include "lessons/exercises/exercise.hpp"

#include <string>

namespace vitruvian::lessons {
inline namespace VITRUVIAN_PRECISION {

/// From here on, the functions of parts.hpp that stand for this exercise are the learner's.
void take_part(const std::string& exercise, const Submission& answer);

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian::lessons
