#include "nn/init.hpp"
#include "vit/model.hpp"

namespace vitruvian::inline VITRUVIAN_PRECISION {

void initialise(const VisionTransformer& model, const Rng& rng) {
  const std::size_t D = model.config.D;
  for (const auto& [name, role, tensor] : named_parameters(model)) {
    const Rng stream = rng.fork(name);
    if (name.starts_with("head.")) {
      init::constant(tensor, 0);
    } else if (name == "patch_embed.proj.weight") {
      init::lecun_normal(tensor, stream);
    } else if (name.ends_with("attn.qkv.weight")) {
      init::xavier_uniform(tensor, stream, {D, D});  // q, k and v are three matrices in one
    } else if (role == Role::weight) {
      init::xavier_uniform(tensor, stream);
    } else if (role == Role::position) {
      init::normal(tensor, stream, 0.02);
    } else if (role == Role::bias && name.find(".mlp.") != std::string::npos) {
      init::normal(tensor, stream, 1e-6);
    } else if (role == Role::norm && name.ends_with("weight")) {
      init::constant(tensor, 1);
    } else {
      init::constant(tensor, 0);
    }
  }
}

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
