#pragma once

#include "vitruvian/vit/model.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace vitruvian {

/// An intermediate of the model and the size of what flows through it.
struct LayerNorms {
  std::string name;       ///< as Trace has it: "blocks.3.z"
  double activation = 0;  ///< the root mean square of its entries
  double gradient = 0;    ///< the same of the loss's derivative by it
};

/// How the hidden units of one MLP are used, over all images and tokens.
struct HiddenUnits {
  std::string name;          ///< "blocks.3.mlp.hidden"
  std::size_t units = 0;     ///< M
  std::size_t dead = 0;      ///< |GELU| at most 0.001 throughout: below -3.9, no value, no gradient
  std::size_t never_on = 0;  ///< GELU never above 0: only its tail is used; the dead among them
  std::size_t always_on = 0;  ///< GELU above 3 throughout: a linear unit
  double on = 0;              ///< the share of all (token, unit) pairs above 0
};

/// A model at work on some images.
struct Layers {
  double loss = 0;  ///< mean cross-entropy
  std::vector<LayerNorms> norms;
  std::vector<HiddenUnits> units;
};

inline namespace VITRUVIAN_PRECISION {
namespace inspect {

/// Of every intermediate that Trace shows, in the order of computation; the loss is the mean cross
/// entropy with `labels`. Parameters' gradients stay as they are.
Layers layers(const VisionTransformer& model, const Array& images,
              const std::vector<std::size_t>& labels);

}  // namespace inspect
}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
