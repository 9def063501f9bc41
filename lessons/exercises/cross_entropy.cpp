// Exercise. The gradient that starts every training step (after softmax, easy)
//
// The loss of a batch is L = (1/B) Σ_b −log softmax(x_b)[label_b]: logits x (B, K), one label for
// each row. Return dL/dx.

#include "lessons/exercises/exercise.hpp"

using namespace vitruvian;

// logits (B, K), labels: B numbers from 0 to K − 1  ->  dL/dlogits (B, K)
Tensor cross_entropy_gradient(const Tensor& logits, const std::vector<std::size_t>& labels) {
  // [gap]
  //| // Yours. zeros(shape) makes an Array, whose entries are read and written as a(i, j);
  //| // Tensor(a) makes a Tensor of it, to compute with.
  //| return {};
  // [solution]
  Array one_hot = zeros(logits.shape());
  for (std::size_t b = 0; b < labels.size(); ++b) one_hot(b, labels[b]) = 1;
  return (softmax(logits) - Tensor(one_hot)) / static_cast<double>(labels.size());
  // [end]
}

EXERCISE(cross_entropy_gradient);

// [hint 1]
// For one row, L = −x[label] + log Σ_k exp x_k. Differentiate both terms; the second one gives
// something that you know.
// [hint 2]
// The derivative of log Σ exp x_k with respect to x_j is softmax(x)_j. The other term gives −1
// at the label. And the loss is a mean over B rows.
// [hint 3]
// (softmax(x) − one_hot) / B, where one_hot (B, K) has a 1 at each row's label:
// Array one_hot = zeros(logits.shape()); one_hot(b, labels[b]) = 1; then Tensor(one_hot).
