#include "vitruvian/train/settings/warnings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace vitruvian {

std::vector<std::string> warnings_of(const TrainOptions& o) {
  std::vector<std::string> result;
  if (o.model.D_h() < 16) {
    result.push_back(
        fmt::format("heads of width D / h = {}: scores of so few numbers tell little apart; 16 or "
                    "more is usual",
                    o.model.D_h()));
  }
  if (o.model.N() < 16) {
    result.push_back(fmt::format(
        "patches of {} make {} tokens of an image: attention has little to choose from; a smaller "
        "--patch-size helps",
        o.model.P, o.model.N()));
  }
  const bool adaptive = o.optimizer != OptimizerKind::sgd;
  if (o.warmup == 0 && o.lr >= (adaptive ? 5e-4 : 0.05)) {
    result.push_back(fmt::format(
        "a learning rate of {} without warm-up: the first steps may spoil the weights for good",
        o.lr));
  }
  if (o.optimizer == OptimizerKind::adam && o.weight_decay >= 0.01) {
    result.push_back(fmt::format(
        "Adam with a weight decay of {}: Adam divides the decay by the gradient's size too, and "
        "hardly learns; --optimizer adamw decouples them",
        o.weight_decay));
  }
  return result;
}

std::size_t steps_an_epoch(const TrainOptions& options, std::size_t images) {
  const std::size_t a_step = options.batch_size * options.accumulate;
  return (images + a_step - 1) / a_step;
}

std::size_t warmup_steps(const TrainOptions& options, std::size_t steps) {
  const auto share =
      static_cast<std::size_t>(std::lround(options.warmup * static_cast<double>(steps)));
  return options.warmup_steps == 0 ? share : std::min(share, options.warmup_steps);
}

TrainOptions prolonged(TrainOptions run, std::size_t epochs, std::size_t steps_an_epoch) {
  run.warmup_steps = warmup_steps(run, run.epochs * steps_an_epoch);
  run.warmup = run.warmup_steps == 0 ? 0 : 1;  // the steps alone say it
  run.epochs = epochs;
  return run;
}

}  // namespace vitruvian
