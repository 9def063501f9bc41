// Exercise. Layer norm goes back (after layer_norm, hard)
//
// Along the last axis of x (..., D): μ is the mean, σ² the biased variance,
//
//   x̂ = (x − μ) / √(σ² + ε),    y = γ x̂ + β.
//
// Given g, the cotangent of y, return the cotangents of x, γ (D) and β (D). An x reaches y in three
// ways: directly, through the mean of its row, and through the variance of its row.

#include "lessons/exercises/exercise.hpp"

using namespace vitruvian;

LayerNormGradients layer_norm_vjp(const Tensor& g, const Tensor& x, const Tensor& gamma,
                                  double eps) {
  // [gap]
  //| // Yours. mean(x, {-1}, true) and var(x, {-1}, 0, true) keep the axis, with length 1.
  //| return {.dx = {}, .dgamma = {}, .dbeta = {}};
  // [solution]
  const Tensor rstd = rsqrt(var(x, {-1}, 0, true) + eps);  // 1 / σ
  const Tensor hat = (x - mean(x, {-1}, true)) * rstd;
  const Tensor u = g * gamma;  // the cotangent of x̂
  Axes rows;                   // every axis but the last
  for (int i = 0; i + 1 < static_cast<int>(x.rank()); ++i) rows.push_back(i);
  return {.dx = rstd * (u - mean(u, {-1}, true) - hat * mean(u * hat, {-1}, true)),
          .dgamma = sum(g * hat, rows),
          .dbeta = sum(g, rows)};
  // [end]
}

EXERCISE(layer_norm_vjp);

// [hint 1]
// β and γ first: they are a bias and a factor, shared by all rows (exercise unbroadcast). Then call
// u = g γ the cotangent of x̂, and think about one row x̂ = (x − μ) / σ.
// [hint 2]
// x̂ does not change when a constant is added to the row, nor when the row is scaled. So what comes
// back has no part along (1, 1, …, 1) and none along x̂: take both off u. Then divide by σ.
// [hint 3]
// dx = (u − mean(u) − x̂ mean(u x̂)) / σ, means along the last axis. dγ sums g x̂ and dβ sums g over
// all axes but the last.
