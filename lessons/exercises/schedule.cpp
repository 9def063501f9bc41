// Exercise. Warm-up and cosine (after recipes, easy)
//
// The learning rate of a step is a factor times the base rate. Steps count from 0 to steps − 1. In
// the first `warmup` steps the factor grows in a line, (step + 1) / warmup: no step has rate 0, and
// the last of them has the full rate. From there it falls as half a wave of the cosine,
//
//   (1 + cos(π p)) / 2,    p = (step − warmup) / (steps − warmup):
//
// p is 0 at the first step after the warm-up, and would reach 1 one step after the last.

#include "lessons/exercises/exercise.hpp"

#include <cmath>
#include <numbers>

using namespace vitruvian;

// the factor, from 0 to 1
double warmup_cosine(std::size_t step, std::size_t steps, std::size_t warmup) {
  // [gap]
  //| // Yours. Divide doubles, not integers: static_cast<double>(step). π is std::numbers::pi.
  //| return 0;
  // [solution]
  if (step < warmup) return static_cast<double>(step + 1) / static_cast<double>(warmup);
  const double p = static_cast<double>(step - warmup) / static_cast<double>(steps - warmup);
  return (1 + std::cos(std::numbers::pi * p)) / 2;
  // [end]
}

EXERCISE(warmup_cosine);

// [hint 1]
// Two cases: step < warmup, and the rest. With warmup = 0 the first case never comes.
// [hint 2]
// std::size_t has no negative numbers and no fractions: compare before you subtract, and turn into
// double before you divide.
// [hint 3]
// const double p = static_cast<double>(step - warmup) / static_cast<double>(steps - warmup);
// return (1 + std::cos(std::numbers::pi * p)) / 2;
