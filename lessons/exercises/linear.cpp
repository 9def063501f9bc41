// Exercise. The three gradients of a linear layer (after linear, middle)
//
// y = x Wᵀ + b, with x (..., in), W (out, in), b (out) and y (..., out). Given g, the cotangent of
// y, return those of x, W and b. x may have any number of axes in front, (B, T, in) for instance;
// W and b are shared by all of them.

#include "lessons/exercises/exercise.hpp"

using namespace vitruvian;

LinearGradients linear_vjp(const Tensor& g, const Tensor& x, const Tensor& W) {
  // [gap]
  //| // Yours. size(-1) is the length of the last axis; reshape(x, {-1, n}) makes it a matrix.
  //| return {.dx = {}, .dW = {}, .db = {}};
  // [solution]
  const auto in = static_cast<std::ptrdiff_t>(x.size(-1));
  const auto out = static_cast<std::ptrdiff_t>(g.size(-1));
  const Tensor rows_x = reshape(x, {-1, in});
  const Tensor rows_g = reshape(g, {-1, out});
  return {.dx = matmul(g, W), .dW = matmul(transpose(rows_g), rows_x), .db = sum(rows_g, {0})};
  // [end]
}

EXERCISE(linear_vjp);

// [hint 1]
// Take x (n, in) first, a plain matrix. Then y = x Wᵀ is a matrix product (exercise matmul), and b
// was stretched over n rows (exercise unbroadcast).
// [hint 2]
// dx = g W, without a transpose: W is turned over already in y = x Wᵀ. dW = gᵀ x, which is
// (out, in) as it must be. db is g summed over all rows.
// [hint 3]
// For more axes, make rows of them: reshape(x, {-1, in}) and reshape(g, {-1, out}), with
// const auto in = static_cast<std::ptrdiff_t>(x.size(-1)). dx = matmul(g, W) works as it is.
