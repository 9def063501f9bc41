#include "vitruvian/nn/init.hpp"
#include "vitruvian/vit/mimetic.hpp"
#include "vitruvian/vit/model.hpp"
#include "vitruvian/vit/variants.hpp"
#include "vitruvian/vit/waves.hpp"

#include <cmath>
#include <string>
#include <string_view>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

// A parameter that is to be drawn. What none of the rules below draws is constant: ones for the
// weights of layer norms, zeros for the rest.
struct Fresh {
  const NamedParameter& p;
  Rng stream;
  const ViTConfig& c;

  [[nodiscard]] bool in(std::string_view module) const {
    return p.name.find(module) != std::string::npos;
  }
  [[nodiscard]] bool weight() const { return p.role == Role::weight; }
  [[nodiscard]] bool bias() const { return p.role == Role::bias; }
  [[nodiscard]] bool is(std::string_view name) const { return p.name == name; }
  [[nodiscard]] double fan_in() const { return static_cast<double>(init::fans(p.tensor).in); }
};

void jax(const Fresh& x) {
  if (x.in("head.") || x.in("head_dist.")) return;
  if (x.weight() && (x.in("patch_embed.") || x.in("pre_logits."))) {
    init::lecun_normal(x.p.tensor, x.stream);
  } else if (x.weight() && x.in(".attn.qkv.")) {
    // q, k and v are three matrices in one, and so are SwiGLU's two.
    init::xavier_uniform(x.p.tensor, x.stream, {x.c.D, x.c.D});
  } else if (x.weight() && x.in(".mlp.fc1.")) {
    init::xavier_uniform(x.p.tensor, x.stream, {x.c.D, x.c.M});
  } else if (x.weight()) {
    init::xavier_uniform(x.p.tensor, x.stream);
  } else if (x.p.role == Role::position) {
    init::normal(x.p.tensor, x.stream, 0.02);
  } else if (x.bias() && x.in(".mlp.")) {
    init::normal(x.p.tensor, x.stream, 1e-6);
  } else if (x.is("dist_token")) {
    init::truncated_normal(x.p.tensor, x.stream, 0.02);
  } else if (x.is("reg_token")) {
    init::normal(x.p.tensor, x.stream, 1e-6);
  }
}

void torchvision(const Fresh& x) {
  if (x.weight() && x.in("patch_embed.stem.")) {
    init::kaiming_uniform(x.p.tensor, x.stream, std::sqrt(5.0));  // PyTorch's own
  } else if (x.weight() && x.in("patch_embed.") && x.c.stem != 0) {
    init::normal(x.p.tensor, x.stream, std::sqrt(2 / static_cast<double>(x.c.D)));
  } else if (x.weight() && (x.in("patch_embed.") || x.in("pre_logits."))) {
    init::truncated_normal(x.p.tensor, x.stream, std::sqrt(1 / x.fan_in()));
  } else if (x.weight() && x.in(".attn.qkv.")) {
    init::xavier_uniform(x.p.tensor, x.stream, {x.c.D, 3 * x.c.D});  // one matrix, (3 D, D)
  } else if (x.weight() && x.in(".attn.proj.")) {
    init::kaiming_uniform(x.p.tensor, x.stream, std::sqrt(5.0));
  } else {
    jax(x);
  }
}

void timm(const Fresh& x) {
  if (x.in("patch_embed.") && x.weight()) {
    init::kaiming_uniform(x.p.tensor, x.stream, std::sqrt(5.0));  // PyTorch's own, and so the bias
  } else if (x.in("patch_embed.") && x.bias()) {
    const double bound = 1 / std::sqrt(static_cast<double>(x.c.embedded_length()));
    init::uniform(x.p.tensor, x.stream, -bound, bound);
  } else if (x.weight() || x.p.role == Role::position || x.is("dist_token")) {
    init::truncated_normal(x.p.tensor, x.stream, 0.02);
  } else if (x.p.role == Role::token) {
    init::normal(x.p.tensor, x.stream, 1e-6);
  }
}

void hugging_face(const Fresh& x) {
  if (x.weight() || x.p.role == Role::position || x.p.role == Role::token) {
    init::truncated_normal(x.p.tensor, x.stream, 0.02);
  }
}

// Jax's values, but for attention and for learned positions, which begin as waves (four to a
// width).
void mimetic(const VisionTransformer& model, const Rng& rng) {
  if (Context::here().init_off) return;
  const ViTConfig& c = model.config;
  for (std::size_t l = 0; l < model.blocks.size(); ++l) {
    mimetic_attention(model.blocks[l].attn, rng.fork("mimetic", {l}));
  }
  const Tensor table = model.pos_embed.table;
  if (table && c.D % 4 == 0) {
    ViTConfig waves = c;
    waves.positions = Positions::sincos_2d;
    table.mutable_value() = array(table.shape(), fixed_positions(waves));
  }
}

}  // namespace

VisionTransformer undrawn(const ViTConfig& config) {
  const init::Off off;
  return {config, Rng(0)};
}

void initialise(const VisionTransformer& model, const Rng& rng) {
  const ViTConfig& c = model.config;
  for (const NamedParameter& p : named_parameters(model)) {
    const bool one = p.role == Role::norm && p.name.ends_with("weight");
    init::constant(p.tensor, p.name.ends_with(".gamma") ? c.layer_scale : one ? 1 : 0);
    const Fresh x{p, rng.fork(p.name), c};
    switch (c.init) {
      case Init::jax:
      case Init::mimetic:
        jax(x);
        break;
      case Init::torchvision:
        torchvision(x);
        break;
      case Init::timm:
        timm(x);
        break;
      case Init::hf:
        hugging_face(x);
        break;
    }
  }
  if (c.init == Init::mimetic) mimetic(model, rng);
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
