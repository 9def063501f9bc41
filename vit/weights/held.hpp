#pragma once

#include "vitruvian/vit/config.hpp"
#include "vitruvian/vit/weights/naming.hpp"
#include "vitruvian/vit/weights/weights.hpp"

#include <array>
#include <string_view>
#include <vector>

// Which model each project can hold: one row for each switch of the config.

namespace vitruvian {

/// How a project's own model comes to compute what a switch says.
enum class Held {
  yes,      ///< as it is, or by an argument
  written,  ///< written out: its numbers compute it, though it has no such switch
  no        ///< its model computes something else
};

struct HeldRow {
  struct Cell {
    Held held = Held::yes;
    std::string_view how{};  ///< the argument, or what it is written out as; may be empty
  };
  std::string_view name;  ///< "post_norm"
  bool (*on)(const ViTConfig& config);
  std::array<Cell, 4> cells;  ///< torchvision, timm, hf, jax; ours holds everything
};

/// The table of docs/weights.md.
const std::vector<HeldRow>& held_rows();

/// The model as the scheme's project holds it: tensors under our names, and the config that they
/// fit. Says what was written out, and what the other side has to be told, in `notes`. Throws
/// (Exit::usage), naming the switches and the schemes that could, where the project's model
/// computes something else, and (Exit::checkpoint) where the tensors are not those of the config.
VitWeights held_by(Scheme scheme, VitWeights weights);

}  // namespace vitruvian
