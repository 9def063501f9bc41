#include "vitruvian/vit/tiny.hpp"

#include "vitruvian/nn/init.hpp"

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

ViTConfig tiny_vit() {
  ViTConfig config;
  config.C = 2;
  config.H = config.W = 8;
  config.P = 4;
  config.D = 8;
  config.L = 2;
  config.h = 2;
  config.M = 12;
  config.K = 3;
  return config;
}

VisionTransformer tiny_vit_of_order_one(const Rng& rng) {
  VisionTransformer model(tiny_vit(), rng);
  for (const auto& [name, role, tensor] : named_parameters(model)) {
    const double mean = role == Role::norm && name.ends_with("weight") ? 1 : 0;
    init::normal(tensor, rng.fork(name), 1, mean);
  }
  return model;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
