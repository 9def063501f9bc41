#include "vitruvian/vit/stages.hpp"
#include "vitruvian/core/composed.hpp"

#include "vitruvian/nn/init.hpp"
#include "vitruvian/vit/model.hpp"

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

std::vector<Stage> stages_of_a_forward_pass(const ViTConfig& config, std::size_t B) {
  const VisionTransformer model(config, Rng(1));
  const Tensor images(zeros({B, config.C, config.H, config.W}));
  init::normal(images, Rng(2), 1);
  const NoGrad no_grad;
  const Composed probabilities_too;
  Trace trace;
  trace.add("images", "(B, C, H, W)", images);
  model(images, {.trace = &trace});
  std::vector<Stage> stages;
  for (const Trace::Entry& entry : trace.entries()) {
    const Shape& shape = entry.tensor.shape();
    stages.push_back({entry.name, entry.symbols, {shape.begin(), shape.end()}});
  }
  return stages;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
