// Exercise. Softmax goes back (after softmax, middle)
//
// y = softmax(x) along the last axis. Given y, and g, the cotangent of y, return the cotangent of
// x. You need no x for it. Raising one x raises its own y and lowers all the others of its row, as
// the row must still sum to 1: so every x hears from every g of its row.

#include "lessons/exercises/exercise.hpp"

using namespace vitruvian;

// y (..., K), g (..., K)  ->  dx (..., K)
Tensor softmax_vjp(const Tensor& y, const Tensor& g) {
  // [gap]
  //| // Yours: one line, or two.
  //| return {};
  // [solution]
  return y * (g - sum(g * y, {-1}, true));
  // [end]
}

EXERCISE(softmax_vjp);

// [hint 1]
// Write down one entry of the Jacobian: ∂y_i/∂x_j = y_i (1 − y_i) where i = j, and −y_i y_j
// elsewhere. Then dx_j = Σ_i g_i ∂y_i/∂x_j.
// [hint 2]
// Collect terms: dx_j = y_j g_j − y_j Σ_i g_i y_i. The sum is the same number for the whole row.
// [hint 3]
// dx = y (g − Σ g y). sum(g * y, {-1}, true) sums each row and keeps the axis, with length 1,
// so that it broadcasts against g.
