#pragma once

#include "core/tensor.hpp"
#include "lessons/events.hpp"
#include "vit/model.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

// What lessons look at: built-in digits, and a model that was trained on them.

namespace vitruvian::lessons::inline VITRUVIAN_PRECISION {

/// Digit `i` of the built-in test images, as a model takes it: (1, 1, 28, 28).
Tensor digit_image(std::size_t i, std::uint64_t seed = 1);

/// The model of models/digits.safetensors. Throws (Exit::checkpoint) when it
/// is not there or damaged.
VisionTransformer digits_model();

/// Numbers (n, h, w) as n pictures: `across` of them side by side, an empty
/// column or row between two, each number `zoom` columns wide and rows high.
Picture tiles(std::string caption, const Array& numbers, std::size_t across, std::size_t zoom = 1);

}  // namespace vitruvian::lessons::inline VITRUVIAN_PRECISION
