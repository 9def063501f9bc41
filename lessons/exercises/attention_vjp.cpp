// Exercise. Attention goes back (after self_attention, hard)
//
// A = softmax(q kᵀ / √D_h), y = A v, all of q, k, v (..., T, D_h). Given g, the cotangent of y,
// return those of q, k and v. It is two matrix products (exercise matmul) with a softmax between
// them, walked backwards: softmax_vjp(y, g), the cotangent of a softmax's input, is your answer of
// that exercise.
//
// Parts: softmax

#include "lessons/exercises/parts.hpp"

#include <cmath>

using namespace vitruvian;

AttentionGradients own_attention_vjp(const Tensor& g, const Tensor& q, const Tensor& k,
                                     const Tensor& v) {
  const double scale = 1 / std::sqrt(static_cast<double>(q.size(-1)));
  const Tensor A = softmax(matmul(q, transpose(k)) * scale);
  // [gap]
  //| // Yours: the cotangents of A, of the scores, and then of q, k and v.
  //| return {.dq = {}, .dk = {}, .dv = {}};
  // [solution]
  const Tensor dA = matmul(g, transpose(v));
  const Tensor dS = softmax_vjp(A, dA) * scale;
  return {.dq = matmul(dS, k), .dk = matmul(transpose(dS), q), .dv = matmul(transpose(A), g)};
  // [end]
}

EXERCISE(own_attention_vjp);

// [hint 1]
// Begin at the end: y = A v is a matrix product, so dA = g vᵀ and dv = Aᵀ g.
// [hint 2]
// Through the softmax: softmax_vjp(A, dA). The scores were scaled before it, so what goes on to
// q and k is that over √D_h; call it dS.
// [hint 3]
// The scores are q kᵀ, and k is turned over there: dq = dS k, dk = dSᵀ q.
