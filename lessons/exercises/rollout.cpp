// Exercise. Attention rollout (after attention_maps, middle)
//
// Which patches does the last layer's class token look at, through all layers? In each layer, a
// token's new state is what it attended to, plus its old state, by the residual path. So, after
// Abnar and Zuidema: average each layer's attention over its heads, add the identity, halve (rows
// sum to 1 again), and follow the layers by multiplying:
//
//   A_l = mean over heads,    Â_l = (A_l + I) / 2,    R = Â_L ⋯ Â₂ Â₁.

#include "lessons/exercises/exercise.hpp"

using namespace vitruvian;

// attention: from the first layer to the last, each (h, T, T)  ->  R (T, T)
Tensor rollout(const std::vector<Tensor>& attention) {
  // [gap]
  //| // Yours. zeros({T, T}) and a loop make the identity as an Array; Tensor(a) makes a Tensor
  //| // of it, to compute with.
  //| return {};
  // [solution]
  const std::size_t T = attention.front().size(-1);
  Array I = zeros({T, T});
  for (std::size_t t = 0; t < T; ++t) I(t, t) = 1;
  Tensor R = I;
  for (const Tensor& A : attention) R = matmul((mean(A, {0}) + Tensor(I)) / 2, R);
  return R;
  // [end]
}

EXERCISE(rollout);

// [hint 1]
// Begin with R = I: before the first layer, every token is itself. Then let each layer act on it.
// [hint 2]
// A layer that comes later is multiplied from the left: its row i mixes rows of what was there
// before.
// [hint 3]
// for (const Tensor& A : attention) R = matmul((mean(A, {0}) + Tensor(I)) / 2, R);
