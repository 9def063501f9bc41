// Exercise. Attention goes back (after self_attention, hard)
//
// A = softmax(q kᵀ / √D_h), y = A v, all of q, k, v (..., T, D_h). Given g, the cotangent of y,
// return those of q, k and v. It is two matrix products (exercise matmul) with a softmax (exercise
// softmax) between them, walked backwards.

#include "lessons/exercises/exercise.hpp"

#include <cmath>

using namespace vitruvian;

AttentionGradients attention_vjp(const Tensor& g, const Tensor& q, const Tensor& k,
                                 const Tensor& v) {
  const double scale = 1 / std::sqrt(static_cast<double>(q.size(-1)));
  const Tensor A = softmax(matmul(q, transpose(k)) * scale);
  // [gap]
  //| // Yours: the cotangents of A, of the scores, and then of q, k and v.
  //| return {.dq = {}, .dk = {}, .dv = {}};
  // [solution]
  const Tensor dA = matmul(g, transpose(v));
  const Tensor dS = A * (dA - sum(dA * A, {-1}, true)) * scale;
  return {.dq = matmul(dS, k), .dk = matmul(transpose(dS), q), .dv = matmul(transpose(A), g)};
  // [end]
}

EXERCISE(attention_vjp);

// [hint 1]
// Begin at the end: y = A v is a matrix product, so dA = g vᵀ and dv = Aᵀ g.
// [hint 2]
// Through the softmax: dP = A (dA − Σ dA A), summed along the last axis. The scores were scaled
// before it, so what goes on to q and k is dS = dP / √D_h.
// [hint 3]
// The scores are q kᵀ, and k is turned over there: dq = dS k, dk = dSᵀ q.
