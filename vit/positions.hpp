#pragma once

#include "vitruvian/nn/parameter.hpp"
#include "vitruvian/vit/config.hpp"

#include <vector>

// Where the patches were: without it a ViT takes them for a bag (a test exchanges them).

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

/// E_pos of Equation 1, in the way the config names. Nothing where there is none, or where
/// positions are relative.
struct PositionEmbedding {
  Parameter table;    // (1, places, D): learned
  Parameter rows;     // (H / P, D / 2): learned_2d
  Parameter columns;  // (W / P, D / 2): learned_2d
  Tensor waves;       // (1, places, D): sincos and sincos_2d, not learned
  std::size_t first;  // patch: the rows before it are those of the class tokens

  /// Parameters are all zeros: the model initialises them.
  explicit PositionEmbedding(const ViTConfig& config);
  /// z + E_pos; z (B, places, D), which are the tokens without registers.
  Tensor operator()(const Tensor& z) const;
  void visit(Visitor& visitor) const;
};

/// What the relative place of two tokens adds to their score, for each head: a row of a table for
/// each of config.relative_offsets() ways to lie to each other, as Swin and BEiT have it. Appendix
/// D.4 of the paper tries relative positions too.
struct RelativePositionBias {
  Parameter table;                   // (offsets, h)
  std::vector<std::size_t> offsets;  // (T T): the row of each pair (query, key)

  explicit RelativePositionBias(const ViTConfig& config);
  /// (h, T, T).
  Tensor operator()() const;
};

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
