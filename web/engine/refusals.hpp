#pragma once

#include "vitruvian/nn/safetensors.hpp"
#include "vitruvian/vit/model.hpp"

#include <vector>

// Weights that the page cannot show are refused in a sentence: each of these throws it.

namespace vitruvian::web {

/// The picture is one grey channel of 28 x 28, and the page's equations are the paper's.
void check_takes_picture(const ViTConfig& c);

/// "mean" or "std", as the weights say it of the pixels that they were trained on.
std::vector<double> numbers_of(const Metadata& metadata, const char* name);

/// A training that broke down, or another scale of pixels: the page would be full of NaN.
void check_makes_sense(const VisionTransformer& model, double mean, double std);

}  // namespace vitruvian::web
