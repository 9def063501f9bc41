#pragma once

#include "vitruvian/vit/model.hpp"

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

/// A whole ViT that is small enough to have every derivative checked: 2 x 8 x 8 images, P 4, D 8,
/// two blocks of two heads, M 12, three classes; 1,419 parameters.
ViTConfig tiny_vit();

/// It, with every parameter drawn from N(0, 1) (layer norms' weights around 1), so that nothing is
/// so small that a wrong derivative could hide.
VisionTransformer tiny_vit_of_order_one(const Rng& rng);

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
