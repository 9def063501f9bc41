// Exercise. Label smoothing (after recipes, middle)
//
// The target is not "1 for the class, 0 for the rest", but a little of everything: of K classes,
//
//   t_bk = (1 − ε) [k = label_b] + ε / K,     L = −(1/B) Σ_b Σ_k t_bk log softmax(logits)_bk
//
// Return dL/dlogits. It is as in exercise cross_entropy, with t in place of the one-hot rows: each
// row of t sums to 1, too.

#include "lessons/exercises/exercise.hpp"

using namespace vitruvian;

// logits (B, K)  ->  dL/dlogits (B, K)
Tensor smoothed_gradient(const Tensor& logits, const std::vector<std::size_t>& labels,
                         double epsilon) {
  // [gap]
  //| // Yours. full(shape, x) makes an Array of x, whose entries are a(i, j); Tensor(a) a Tensor.
  //| return {};
  // [solution]
  const double K = static_cast<double>(logits.size(1));
  Array t = full(logits.shape(), epsilon / K);
  for (std::size_t b = 0; b < labels.size(); ++b) t(b, labels[b]) += 1 - epsilon;
  return (softmax(logits) - Tensor(t)) / static_cast<double>(labels.size());
  // [end]
}

EXERCISE(smoothed_gradient);

// [hint 1]
// softmax − target, divided by B. Only the target is new.
// [hint 2]
// Every entry of t is ε / K; the label's entry has 1 − ε on top of that.
// [hint 3]
// Array t = full(logits.shape(), epsilon / K); t(b, labels[b]) += 1 - epsilon; for each b; return
// (softmax(logits) - Tensor(t)) / B.
