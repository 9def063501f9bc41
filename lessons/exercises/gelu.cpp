// Exercise. GELU's derivative (after gelu, middle)
//
// y = x Φ(x), where Φ(x) = (1 + erf(x / √2)) / 2 is the probability that a normal number is below
// x. Given x, and g, the cotangent of y, return the cotangent of x. Φ's own derivative is the bell
// curve φ(x) = exp(−x² / 2) / √(2π).

#include "lessons/exercises/exercise.hpp"

#include <cmath>
#include <numbers>

using namespace vitruvian;

// x, g of any shape  ->  dx of the same
Tensor gelu_vjp(const Tensor& x, const Tensor& g) {
  // [gap]
  //| // Yours. erf, exp, square, + and * are there for tensors; π is std::numbers::pi.
  //| return {};
  // [solution]
  const Tensor Phi = (erf(x / std::sqrt(2.0)) + 1) / 2;
  const Tensor phi = exp(-square(x) / 2) / std::sqrt(2 * std::numbers::pi);
  return g * (Phi + x * phi);
  // [end]
}

EXERCISE(gelu_vjp);

// [hint 1]
// x stands there twice: once as a factor, once inside Φ. The product rule has two terms.
// [hint 2]
// GELU′(x) = Φ(x) + x φ(x). It is an elementwise function, so dx = g GELU′(x), entry by entry.
// [hint 3]
// const Tensor Phi = (erf(x / std::sqrt(2.0)) + 1) / 2; and
// const Tensor phi = exp(-square(x) / 2) / std::sqrt(2 * std::numbers::pi);
