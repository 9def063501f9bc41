#pragma once

#include "core/tensor.hpp"
#include "datasets/dataset.hpp"
#include "lessons/events.hpp"
#include "nn/parameter.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

// What lessons train with, when the model is not a whole VisionTransformer: the trainer's step
// (train/trainer.cpp) for anything that turns images into logits. Lesson 25 takes it apart.

namespace vitruvian::lessons::inline VITRUVIAN_PRECISION {

/// Images (B, C, H, W), normalised, and their classes.
struct Batch {
  Array images;
  std::vector<std::size_t> labels;
};
Batch batch_of(const Dataset& data, std::span<const std::size_t> indices);
Batch all_of(const Dataset& data);

/// What can be trained. The model must outlive it.
struct Learner {
  std::vector<NamedParameter> parameters;
  std::function<Tensor(const Tensor& images)> logits;
};
template <class Model>
Learner learner(const Model& model) {
  return {named_parameters(model), [&model](const Tensor& images) { return model(images); }};
}

/// Leaves d(mean loss)/d(parameter) on every parameter; returns the mean loss. The same bits for
/// any number of threads.
double gradients(const Learner& learner, const Batch& batch);

struct FitOptions {
  std::size_t steps = 100;
  std::size_t batch_size = 64;
  double lr = 2e-3;  ///< the peak, after a warm-up of one twentieth; then down a cosine
  double weight_decay = 0.05;
  double clip = 1;
  std::uint64_t seed = 1;  ///< of the order of the images
};
/// So many steps of AdamW; returns the loss of each.
std::vector<double> fit(const Learner& learner, const Dataset& train, const FitOptions& options);

/// The share of images whose largest logit is the label's.
double accuracy(const Learner& learner, const Dataset& test);

/// x to so many significant digits: what a page may print of a float32 result, which another
/// matrix product or processor changes behind them.
double rounded(double x, int digits);
/// Losses against steps, the first of which is 1, rounded as above.
Curves::Series curve_of(std::string name, const std::vector<double>& losses);

}  // namespace vitruvian::lessons::inline VITRUVIAN_PRECISION
