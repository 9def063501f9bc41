#pragma once

#include "vitruvian/core/base/real.hpp"
#include "vitruvian/vit/config.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace vitruvian {

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
