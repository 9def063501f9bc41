// Exercise. Dropout goes back (after dropout, easy)
//
// y = m x / (1 − p): the mask m, ones and zeros, was drawn in the forward pass and kept. Given m,
// and g, the cotangent of y, return the cotangent of x.

#include "lessons/exercises/exercise.hpp"

using namespace vitruvian;

// mask, g of any shape  ->  dx of the same
Tensor dropout_vjp(const Tensor& mask, const Tensor& g, double p) {
  // [gap]
  //| // Yours: one line.
  //| return {};
  // [solution]
  return mask * g / (1 - p);
  // [end]
}

EXERCISE(dropout_vjp);

// [hint 1]
// With the mask fixed, y is linear in x, entry by entry. What is the factor?
// [hint 2]
// An x that was dropped did not reach the loss. One that stayed was enlarged on its way.
// [hint 3]
// dx = m g / (1 − p): the same function as forwards, with the same mask.
