#pragma once

#include "core/rng.hpp"
#include "vit/model.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace vitruvian::inline VITRUVIAN_PRECISION {

/// A part of a step's images that is in memory at once.
struct MicroBatch {
  Array images;                     // (n, C, H, W), normalised
  std::vector<std::size_t> labels;  // n
  Rng rng;                          // dropout's, and only this micro-batch's
};

/// Sums the gradients of micro-batches in the order in which they are handed in, whoever computed
/// them: what makes gradient accumulation give the same bits everywhere.
class Reducer {
 public:
  explicit Reducer(std::vector<Tensor> parameters);
  /// Takes the `.grad` of every parameter away and adds it to the sums.
  void take();
  /// Puts the sums back as the parameters' `.grad`, and forgets them.
  void finish();

 private:
  std::vector<Tensor> parameters_;
  std::vector<std::optional<Array>> sums_;
};

struct StepResult {
  double loss = 0;          ///< mean over all images
  std::size_t correct = 0;  ///< images whose largest logit is the label's
};

/// Leaves d(mean loss of all images)/d(parameter) on every parameter: each micro-batch of n of the
/// N images is weighted n / N.
StepResult compute_gradients(const VisionTransformer& model,
                             std::span<const MicroBatch> micro_batches, double label_smoothing);

/// How many rows of logits (B, K) have their largest entry at the label. A row with NaN has none.
std::size_t count_correct(const Array& logits, std::span<const std::size_t> labels);

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
