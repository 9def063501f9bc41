#include "train/step.hpp"

#include "core/ops.hpp"

#include <utility>

namespace vitruvian::inline VITRUVIAN_PRECISION {

Reducer::Reducer(std::vector<Tensor> parameters)
    : parameters_(std::move(parameters)), sums_(parameters_.size()) {}

void Reducer::take() {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    Array* const gradient = parameters_[i].mutable_grad();
    if (gradient == nullptr) continue;
    if (sums_[i]) {
      add_in_place(*sums_[i], *gradient);
    } else {
      sums_[i] = std::move(*gradient);
    }
    parameters_[i].zero_grad();
  }
}

void Reducer::finish() {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (sums_[i]) parameters_[i].set_grad(std::move(*sums_[i]));
    sums_[i].reset();
  }
}

StepResult compute_gradients(const VisionTransformer& model,
                             std::span<const MicroBatch> micro_batches, double label_smoothing) {
  std::vector<Tensor> parameters;
  for (const NamedParameter& p : named_parameters(model)) {
    p.tensor.zero_grad();
    parameters.push_back(p.tensor);
  }
  std::size_t images = 0;
  for (const MicroBatch& part : micro_batches) images += part.labels.size();
  Reducer reducer(std::move(parameters));
  StepResult result;
  for (const MicroBatch& part : micro_batches) {
    Pass pass;
    pass.rng = &part.rng;
    const double weight = static_cast<double>(part.labels.size()) / static_cast<double>(images);
    const Tensor logits = model(part.images, pass);
    const Tensor loss = cross_entropy(logits, part.labels, label_smoothing);
    loss.backward(scalar(static_cast<real>(weight)));
    reducer.take();
    result.loss += weight * static_cast<double>(loss.item());
    result.correct += count_correct(logits.value(), part.labels);
  }
  reducer.finish();
  return result;
}

std::size_t count_correct(const Array& logits, std::span<const std::size_t> labels) {
  const std::size_t K = logits.shape()[1];
  std::size_t correct = 0;
  for (std::size_t b = 0; b < labels.size(); ++b) {
    const real* const row = logits.data() + b * K;
    const real mine = row[labels[b]];
    bool largest = true;
    for (std::size_t k = 0; k < K; ++k) largest = largest && (k == labels[b] || row[k] < mine);
    correct += largest ? 1 : 0;
  }
  return correct;
}

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
