#include "vitruvian/core/error.hpp"
#include "vitruvian/train/settings/settings.hpp"

#include <array>

namespace vitruvian {

bool Bounds::holds(double x) const {
  return (above ? x > low : x >= low) && (below ? x < high : x <= high);  // NaN is nowhere
}

std::string Bounds::text(bool whole) const {
  const std::string kind = whole ? "a whole number" : "a number";
  if (whole && high > 1e19) return kind + " from 0 to 18446744073709551615";
  if (!above && !below) return fmt::format("{} from {:.0f} to {:.0f}", kind, low, high);
  return fmt::format("{} {} {:.0f} and {} {:.0f}", kind, above ? "above" : "of at least", low,
                     below ? "below" : "at most", high);
}

const Bounds& bounds_of(std::string_view name) {
  struct Row {
    std::string_view name;
    Bounds bounds;
  };
  static constexpr double most = 1'000'000;  // beyond every published run
  static constexpr double most_images = 100'000'000;
  static constexpr double most_steps = 1'000'000'000;
  static constexpr Bounds share{0, 1};
  static constexpr Bounds rate{0, 1, false, true};  // 1 would leave nothing
  static constexpr Bounds size{1, most};

  static constexpr std::array rows{
      Row{"train_size", {0, most_images}},
      Row{"test_size", {0, most_images}},
      Row{"val_fraction", rate},
      Row{"image_size", {0, most}},
      Row{"crop_padding", {0, 1000}},
      Row{"crop_scale", {0, 1, true}},
      Row{"flip", share},
      Row{"randaugment_ops", {0, 100}},
      Row{"randaugment_magnitude", {0, 30}},
      Row{"erasing", share},
      Row{"mixup", {0, 100}},
      Row{"cutmix", {0, 100}},
      Row{"mix_probability", share},
      Row{"epochs", size},
      Row{"batch_size", size},
      Row{"accumulate", size},
      Row{"micro_batch", {0, most}},
      Row{"momentum", rate},
      Row{"beta1", rate},
      Row{"beta2", rate},
      Row{"lr", {0, 100, true}},
      Row{"warmup", share},
      Row{"warmup_steps", {0, most_steps}},
      Row{"weight_decay", {0, 100}},
      Row{"clip", {0, 1e9}},
      Row{"label_smoothing", rate},
      Row{"ema", rate},
      Row{"patience", {0, most}},
      Row{"seed", {0, 18446744073709551615.0}},
      Row{"log_every", {0, most_steps}},
      Row{"checkpoint_every", {0, most_steps}},
      Row{"save_every", {0, most}},
      Row{"patch_size", size},
      Row{"width", size},
      Row{"depth", size},
      Row{"heads", size},
      Row{"mlp_width", size},
      Row{"dropout", rate},
      Row{"attention_dropout", rate},
      Row{"stochastic_depth", rate},
      Row{"eps", {0, 1, true, true}},
      Row{"patch_width", {0, most}},
      Row{"embedding_dropout", rate},
      Row{"projection_dropout", rate},
      Row{"mlp_dropout", rate},
  };
  for (const Row& row : rows) {
    if (row.name == name) return row.bounds;
  }
  fail("the setting '{}' has no range", name);
}

}  // namespace vitruvian
