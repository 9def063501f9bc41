#pragma once

#include "vitruvian/datasets/dataset.hpp"
#include "vitruvian/nn/optim.hpp"
#include "vitruvian/train/step.hpp"
#include "vitruvian/vit/model.hpp"
#include "web/engine/answer.hpp"
#include "web/engine/picture.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace vitruvian::web {

/// How a model is trained in a page: on the drawn digits. A model of two blocks of 32 reads nine of
/// ten held-out ones after some 25,000 images (five times the same), in a browser a few seconds.
struct TrainerSettings {
  std::string optimizer = "adamw";
  double learning_rate = 0.003, weight_decay = 0.05;
  std::size_t images = 6000, batch = 16, warmup = 20;
  std::uint64_t seed = 1;

  /// Reads its own fields of explorer_create's settings, and throws for what cannot be.
  static TrainerSettings of(const Json& settings);
};

/// Trains a model that outlives it, a step at a time, at a rate that is constant after its warm-up.
class Trainer {
 public:
  Trainer(const VisionTransformer& model, const TrainerSettings& settings);

  /// As explorer_train and explorer_learn say; the label is a digit. They throw where the loss is
  /// not finite; the weights are those before.
  Json train(std::size_t steps);
  Json learn(const Pixels& picture, std::size_t label);
  [[nodiscard]] std::size_t step() const { return batches_ + learned_; }

 private:
  /// What a step learns from.
  struct Batch {
    const Dataset& data;
    std::vector<std::size_t> indices;
    Rng dropout;
  };
  struct Step {
    StepResult result;
    double lr = 0, norm = 0;
    std::vector<Array> before, gradients;  // of the parameters, where they are kept
  };
  Batch next_batch();
  [[nodiscard]] MicroBatches micro_batches(const Batch& batch) const;
  Step step_on(const Batch& batch, bool keep);
  /// The mean loss of a batch as the weights are now, dropout silencing what it did in its step.
  [[nodiscard]] double loss_of(const Batch& batch) const;
  /// Takes so many steps, each counted in `taken`, and says what explorer_train says.
  Json report(std::size_t steps, std::size_t& taken, const std::function<Batch()>& next);

  TrainerSettings settings_;
  Learner learner_;
  std::variant<AdamW, Adam, SGD> optimizer_;
  Dataset digits_;
  Rng rng_;
  std::size_t batches_ = 0;  // steps on batches of the digits: they alone move through the epochs
  std::size_t learned_ = 0;  // steps on a picture that was on the pad
  std::vector<std::size_t> order_;  // of the epoch that is under way
};

/// As explorer_score says: of held-out digits.
Json score(const VisionTransformer& model, std::size_t images);

}  // namespace vitruvian::web
