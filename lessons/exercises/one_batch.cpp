// Exercise. The net that does not learn (after sanity, middle)
//
// The first thing to try with a net that does not learn: one batch, again and again. Its loss has
// to fall towards 0. Here is such a loop, for logits = x Wᵀ, and its loss does not: three lines are
// wrong. Find them. Plain gradient descent, `steps` steps of η, is what it should be:
//
//   P = softmax(x Wᵀ),   dW = (P − Y)ᵀ x / B,   W ← W − η dW
//
// x (B, n), W (K, n), Y (B, K) with a 1 at each image's class. Return W after the last step.

#include "lessons/exercises/exercise.hpp"

using namespace vitruvian;

Tensor one_batch(const Tensor& x, const Tensor& Y, Tensor W, std::size_t steps, double eta) {
  const double B = static_cast<double>(x.size(0));
  // [gap]
  //| // Yours: three mistakes to find between here and the return.
  //| Tensor dW = W * 0.0;
  //| for (std::size_t step = 0; step < steps; ++step) {
  //|   const Tensor P = softmax(matmul(x, transpose(W)), 0);
  //|   dW = dW + matmul(transpose(P - Y), x) / B;
  //|   W = W + dW * eta;
  //| }
  // [solution]
  for (std::size_t step = 0; step < steps; ++step) {
    const Tensor P = softmax(matmul(x, transpose(W)));
    const Tensor dW = matmul(transpose(P - Y), x) / B;
    W = W - dW * eta;
  }
  // [end]
  return W;
}

EXERCISE(one_batch);

// [hint 1]
// Take steps = 1 and compare line by line with the equations: over what does the softmax run, and
// where does the step lead?
// [hint 2]
// Then two steps. A gradient belongs to the W at which it was taken: what is dW at the beginning of
// the second step?
// [hint 3]
// softmax(...) along the last axis, the classes, not along the batch; W − η dW, downhill; and dW
// begins anew at every step (it is what zero_grad is for).
