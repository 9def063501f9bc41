#pragma once

#include "core/tensor.hpp"
#include "datasets/dataset.hpp"
#include "lessons/events.hpp"
#include "nn/parameter.hpp"
#include "train/trainer.hpp"
#include "vit/model.hpp"

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

/// The trained model for images of side x side pixels: all parameters as they were, but the
/// positions, and a fresh head of zeros.
VisionTransformer larger(const VisionTransformer& trained, std::size_t side,
                         const Array& positions);
/// One epoch of Table 4 of the paper: SGD with momentum, cosine, clip 1, no weight decay. Returns
/// the loss of each step.
std::vector<double> fine_tune(const Learner& net, const Dataset& data, std::size_t batch_size,
                              const Rng& rng);

/// What the trainer, `vitruvian train`, tells of a run with so many threads.
struct Diary {
  std::vector<double> losses;  ///< of each step
  EpochReport epoch;           ///< the last
};
Diary trained(const TrainOptions& options, std::size_t with_threads);

/// The share of images whose largest logit is the label's.
double accuracy(const Learner& learner, const Dataset& test);

/// A share in percent, to the next five: "85 %".
std::string in_fives(double share);
/// x to so many significant digits: what a page may print of a float32 result, which another
/// matrix product or processor changes behind them.
double rounded(double x, int digits);
/// Losses against steps, the first of which is 1, rounded as above.
Curves::Series curve_of(std::string name, const std::vector<double>& losses);

}  // namespace vitruvian::lessons::inline VITRUVIAN_PRECISION
