// Exercise. Back through residual layers (after residuals, easy)
//
// L layers, each of which adds something to what it got:
//
//   z_l = z_{l−1} + f_l(z_{l−1}),   l = 1 … L.
//
// `ways[l − 1]` takes the cotangent of f_l's result to that of its input. Given g, the cotangent of
// z_L, return that of z_0. z_{l−1} was used twice: by f_l, and by the sum beside it.

#include "lessons/exercises/exercise.hpp"

using namespace vitruvian;

Tensor residual_vjp(const Tensor& g, const std::vector<Way>& ways) {
  // [gap]
  //| // Yours. ways[l](g) is what f hands back.
  //| return {};
  // [solution]
  Tensor bar = g;
  for (std::size_t l = ways.size(); l-- > 0;) bar = bar + ways[l](bar);
  return bar;
  // [end]
}

EXERCISE(residual_vjp);

// [hint 1]
// One layer: the cotangent of z is g, through the sum, plus what f hands back of the same g.
// [hint 2]
// From the last layer to the first: the cotangent that comes out of one is the one that goes
// into the layer before.
// [hint 3]
// Tensor bar = g; for (std::size_t l = ways.size(); l-- > 0;) bar = bar + ways[l](bar);
