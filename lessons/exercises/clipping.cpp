// Exercise. Clipping by the global norm (after recipes, easy)
//
// One bad batch can throw a model out of its valley. So, where the gradients of all parameters
// together, seen as one long vector, are longer than `max_norm`, shorten them to that length. Their
// direction stays: every entry of every gradient is scaled by the same factor. Shorter ones stay as
// they are. Change the gradients in place and return the norm that they had before.
//
// (The library divides by norm + 10⁻⁶, as PyTorch does, to be safe from 0 / 0. The check does not
// mind either way.)

#include "lessons/exercises/exercise.hpp"

#include <cmath>

using namespace vitruvian;

double clip(std::vector<Array>& gradients, double max_norm) {
  // [gap]
  //| // Yours. for (Array& g : gradients) for (double& x : g) reaches every number.
  //| return 0;
  // [solution]
  double squares = 0;
  for (const Array& g : gradients) {
    for (const double x : g) squares += x * x;
  }
  const double norm = std::sqrt(squares);
  if (norm > max_norm) {
    for (Array& g : gradients) {
      for (double& x : g) x *= max_norm / norm;
    }
  }
  return norm;
  // [end]
}

EXERCISE(clip);

// [hint 1]
// Two passes: the first measures, the second scales, and only if it must.
// [hint 2]
// The norm of one long vector is the root of the sum of all squares, over all arrays: take the root
// once, at the end.
// [hint 3]
// if (norm > max_norm), every x becomes x * max_norm / norm. Return `norm`, not the new length.
