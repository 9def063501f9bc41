#pragma once

#include "datasets/dataset.hpp"
#include "train/predictions.hpp"
#include "vit/model.hpp"

namespace vitruvian::inline VITRUVIAN_PRECISION {

/// The probabilities that a model gives to the classes of all images of a data set, which has its
/// shape. The same bits for any number of threads.
Predictions predict_all(const VisionTransformer& model, const Dataset& data);

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
