#pragma once

#include "vitruvian/datasets/dataset.hpp"
#include "vitruvian/nn/optim.hpp"
#include "vitruvian/train/step.hpp"
#include "vitruvian/vit/model.hpp"
#include "web/engine/answer.hpp"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace vitruvian::web {

/// How a model is trained in a page: on the drawn digits.
struct TrainerSettings {
  std::string optimizer = "adamw";
  double learning_rate = 0.002, weight_decay = 0.05;
  std::size_t images = 4000, batch = 64, warmup = 20;
  std::uint64_t seed = 1;

  /// Reads its own fields of explorer_create's settings, and throws for what cannot be.
  static TrainerSettings of(const Json& settings);
};

/// Trains a model that outlives it, a step at a time, at a rate that is constant after its warm-up.
class Trainer {
 public:
  Trainer(const VisionTransformer& model, const TrainerSettings& settings);

  /// As explorer_train says. Throws where the loss is not finite; the weights are those before.
  Json train(std::size_t steps);
  [[nodiscard]] std::size_t step() const { return step_; }

 private:
  struct Step {
    StepResult result;
    double lr = 0, norm = 0;
  };
  Step one_step();

  TrainerSettings settings_;
  Learner learner_;
  std::variant<AdamW, Adam, SGD> optimizer_;
  Dataset digits_;
  Rng rng_;
  std::size_t step_ = 0;
  std::vector<std::size_t> order_;  // of the epoch that is under way
};

/// As explorer_score says: of held-out digits.
Json score(const VisionTransformer& model, std::size_t images);

}  // namespace vitruvian::web
