// Exercise. One step of AdamW (after optimizers, middle)
//
// With the gradient g at step t = 1, 2, 3, ..., all operations entry by entry:
//
//   w ← w − η λ w                                      decay, apart from the gradient
//   m ← β₁ m + (1 − β₁) g,    v ← β₂ v + (1 − β₂) g²
//   m̂ = m / (1 − β₁ᵗ),        v̂ = v / (1 − β₂ᵗ)        both began at zero
//   w ← w − η m̂ / (√v̂ + ε)
//
// `s` holds w, m, v and the number of steps taken so far: 0 at the first call. Return what it holds
// after this step, t counted up.

#include "lessons/exercises/exercise.hpp"

#include <cmath>

using namespace vitruvian;

AdamWState adamw_step(AdamWState s, const Tensor& g, const AdamWRates& r) {
  // [gap]
  //| // Yours: change s. The rates are r.eta, r.beta1, r.beta2, r.eps, r.lambda; std::pow(b, t).
  //| return s;
  // [solution]
  const double t = static_cast<double>(++s.t);
  s.w = s.w - s.w * (r.eta * r.lambda);
  s.m = s.m * r.beta1 + g * (1 - r.beta1);
  s.v = s.v * r.beta2 + square(g) * (1 - r.beta2);
  const Tensor m_hat = s.m / (1 - std::pow(r.beta1, t));
  const Tensor v_hat = s.v / (1 - std::pow(r.beta2, t));
  s.w = s.w - m_hat / (sqrt(v_hat) + r.eps) * r.eta;
  return s;
  // [end]
}

EXERCISE(adamw_step);

// [hint 1]
// Follow the equations from top to bottom, one line each: the decay comes first. That g knows
// nothing of it is what the W stands for.
// [hint 2]
// m and v are kept as they are; m̂ and v̂ are used once and forgotten. t is 1 at the first step, so
// count up before you use it: with t = 0 you would divide by zero.
// [hint 3]
// A number stands behind its tensor: s.m * r.beta1 + g * (1 - r.beta1). The last line is
// s.w = s.w - m_hat / (sqrt(v_hat) + r.eps) * r.eta; with ε outside the root.
