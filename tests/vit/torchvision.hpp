#pragma once

#include "vitruvian/core/error.hpp"
#include "vitruvian/core/tensor.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

// What the scripts of tests/golden that use torchvision's VisionTransformer agree on with the tests
// that read what they made.

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace torchvision {

/// torchvision's name for one of our parameters. Shapes are the same.
inline std::string name_of(std::string name) {
  const auto replace = [&name](const std::string& from, const std::string& to) {
    if (const auto at = name.find(from); at != std::string::npos) name.replace(at, from.size(), to);
  };
  if (name == "cls_token") return "class_token";
  if (name == "pos_embed") return "encoder.pos_embedding";
  if (name.starts_with("norm.")) return "encoder.ln" + name.substr(4);
  if (name.starts_with("head.")) return "heads." + name;
  replace("patch_embed.proj", "conv_proj");
  replace("blocks.", "encoder.layers.encoder_layer_");
  replace(".norm1.", ".ln_1.");
  replace(".norm2.", ".ln_2.");
  replace(".attn.qkv.", ".self_attention.in_proj_");
  replace(".attn.proj.", ".self_attention.out_proj.");
  replace(".mlp.fc1.", ".mlp.0.");
  replace(".mlp.fc2.", ".mlp.3.");
  return name;
}

/// The images that torchvision_models.images makes: (B, 3, side, side), from pixel `first` on.
inline Array images(std::size_t B, std::size_t side, std::uint64_t first = 0) {
  Array x = empty({B, 3, side, side});
  for (std::uint64_t n = 0; n < x.size(); ++n) {
    const std::uint64_t i = first + n;
    const std::uint64_t pixel = (7919 * i + 31 * (i * i % 613)) % 1009;
    x.data()[n] = static_cast<real>(static_cast<double>(pixel) / 504.5 - 1);
  }
  return x;
}

}  // namespace torchvision
}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
