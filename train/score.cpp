#include "train/score.hpp"

#include "core/composed.hpp"
#include "core/ops.hpp"
#include "core/parallel.hpp"
#include "datasets/batch.hpp"

#include <numeric>
#include <utility>
#include <vector>

namespace vitruvian::inline VITRUVIAN_PRECISION {

MicroBatch micro_batch(const Dataset& data, std::span<const std::size_t> indices, const Rng& rng) {
  Array images = empty({indices.size(), data.channels, data.height, data.width});
  normalised_images(data, indices, images.data());
  return {std::move(images), batch_labels(data, indices), rng};
}

Score score(const VisionTransformer& model, const Dataset& data,
            std::span<const std::size_t> indices) {
  const auto groups = shares(indices, micro_batches_of(model.config, indices.size()));
  std::vector<double> losses(groups.size());
  std::vector<std::size_t> correct(groups.size());
  const bool composed = Composed::active();
  parallel_for(groups.size(), 1, [&](std::size_t begin, std::size_t end) {
    const NoGrad no_grad;
    const Composed as_the_caller(composed);
    for (std::size_t i = begin; i < end; ++i) {
      const MicroBatch group = micro_batch(data, groups[i], Rng(0));
      const Tensor logits = model(group.images);
      losses[i] =
          static_cast<double>(cross_entropy(logits, group.labels, 0, Reduction::sum).item());
      correct[i] = count_correct(logits.value(), group.labels);
    }
  });
  const auto n = static_cast<double>(indices.size());
  return {std::accumulate(losses.begin(), losses.end(), 0.0) / n,
          static_cast<double>(std::accumulate(correct.begin(), correct.end(), std::size_t{0})) / n};
}

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
