#include "train/evaluation.hpp"

#include "core/composed.hpp"
#include "core/ops.hpp"
#include "core/parallel.hpp"
#include "datasets/batch.hpp"
#include "train/step.hpp"

namespace vitruvian::inline VITRUVIAN_PRECISION {

Predictions predict_all(const VisionTransformer& model, const Dataset& data) {
  const std::size_t K = model.config.K;
  const std::vector<std::size_t> order = natural_order(data.size());
  Predictions result{K, batch_labels(data, order), std::vector<double>(data.size() * K)};
  const auto groups = shares(order, micro_batches_of(model.config, data.size()));
  const bool composed = Composed::active();
  parallel_for(groups.size(), 1, [&](std::size_t begin, std::size_t end) {
    const NoGrad no_grad;
    const Composed as_the_caller(composed);
    for (std::size_t i = begin; i < end; ++i) {
      Array images = empty({groups[i].size(), data.channels, data.height, data.width});
      normalised_images(data, groups[i], images.data());
      const Tensor p = softmax(model(images));
      std::copy_n(
          p.value().data(), p.value().size(),
          result.probabilities.begin() + static_cast<std::ptrdiff_t>(groups[i].front() * K));
    }
  });
  return result;
}

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
