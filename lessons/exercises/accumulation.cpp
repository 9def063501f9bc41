// Exercise. A batch in parts (after recipes, easy)
//
// A batch that does not fit into memory goes through the net in parts. Part i has n_i images, and
// `means[i]` is the gradient of its mean loss. Return the gradient of the mean loss of the whole
// batch. The last part may be smaller than the others.

#include "lessons/exercises/exercise.hpp"

using namespace vitruvian;

Tensor accumulated(const std::vector<Tensor>& means, const std::vector<std::size_t>& n) {
  // [gap]
  //| // Yours.
  //| return {};
  // [solution]
  double B = 0;
  for (const std::size_t images : n) B += static_cast<double>(images);
  Tensor whole = zeros(means.front().shape());
  for (std::size_t i = 0; i < n.size(); ++i) {
    whole = whole + means[i] * (static_cast<double>(n[i]) / B);
  }
  return whole;
  // [end]
}

EXERCISE(accumulated);

// [hint 1]
// Every image counts alike. Does every part?
// [hint 2]
// The sum of a part's gradients is n_i times its mean. Add those, and divide by all images.
// [hint 3]
// Σ_i (n_i / B) means_i with B = Σ n_i.
