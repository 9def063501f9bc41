#pragma once

#include "vitruvian/core/base/real.hpp"
#include "vitruvian/vit/config.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vitruvian {

/// A row of the paper's Table 1, as it is printed there.
struct Table1 {
  std::size_t L, D, M, h;
  std::size_t millions;  ///< of parameters
};

/// A model of a published size, by the name that it has everywhere.
struct Variant {
  std::string name;
  std::string about;  ///< what it is, in a few words
  ViTConfig config;
  std::optional<Table1> paper = std::nullopt;  ///< where the paper has it
};

/// ViT-Base, -Large and -Huge of the paper as torchvision builds them, DeiT's smaller sizes, the
/// MiniViT of the sources (requirements S2), and what `vitruvian train` takes for MNIST and CIFAR.
const std::vector<Variant>& variants();

/// One of them. Throws (Exit::usage) on a name that does not exist, with the nearest that does.
const Variant& variant(std::string_view name);

/// The same model for square images of another size. Throws (Exit::usage) when that cannot be.
ViTConfig with_image_size(ViTConfig config, std::size_t side);

/// What `vitruvian models` tells of a model, as a JSON object: its config, the exact counts, and
/// the bytes that `batch` images take in float32.
std::string to_json(const Variant& model, std::size_t batch);

/// A whole ViT that is small enough to have every derivative checked: 2 x 8 x 8 images, P 4, D 8,
/// two blocks of two heads, M 12, three classes; 1,419 parameters.
ViTConfig tiny_vit();

/// An intermediate of a forward pass: what Trace keeps of it, without the numbers.
struct Stage {
  std::string name;     ///< "blocks.3.attn.probs"
  std::string symbols;  ///< "(B, h, T, T)"
  std::vector<std::size_t> shape;
};

inline namespace VITRUVIAN_PRECISION {
/// Makes a model and carries `B` random images through it: every intermediate, in order. Throws
/// when the config is not valid.
std::vector<Stage> stages_of_a_forward_pass(const ViTConfig& config, std::size_t B);
}  // namespace VITRUVIAN_PRECISION

}  // namespace vitruvian
