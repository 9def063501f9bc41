// Exercise. Scaled attention (after self_attention, easy)
//
// Every token asks with its query, is found by its key and answers with its value:
//
//   A = softmax(q kᵀ / √D_h),    SA = A v    (Eqs. 6, 7)
//
// q, k, v (..., T, D_h). Row i of A says how much token i listens to each token: it sums to 1.
// `attention` does this in the library. Build it from matmul, transpose and softmax.

#include "lessons/exercises/exercise.hpp"

#include <cmath>

using namespace vitruvian;

// q, k, v (..., T, D_h)  ->  (..., T, D_h)
Tensor scaled_attention(const Tensor& q, const Tensor& k, const Tensor& v) {
  // [gap]
  //| // Yours: two lines. size(-1) is the length of the last axis.
  //| return {};
  // [solution]
  const Tensor scores = matmul(q, transpose(k)) / std::sqrt(static_cast<double>(q.size(-1)));
  return matmul(softmax(scores), v);
  // [end]
}

EXERCISE(scaled_attention);

// [hint 1]
// The scores are (..., T, T): the product of every query with every key. Which of the two has to be
// transposed, and over which of its axes does the product run?
// [hint 2]
// scores = q kᵀ / √D_h. The softmax runs along the last axis, over the tokens that are listened to;
// that is what `softmax(scores)` does without further words.
// [hint 3]
// const Tensor scores = matmul(q, transpose(k)) / std::sqrt(static_cast<double>(q.size(-1)));
// return matmul(softmax(scores), v);
