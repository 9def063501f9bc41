#pragma once

#include "datasets/loader.hpp"
#include "train/predictions.hpp"
#include "train/step.hpp"

#include <cstddef>
#include <span>

namespace vitruvian::inline VITRUVIAN_PRECISION {

/// Images as they are, normalised, with their labels.
MicroBatch micro_batch(const Loader& data, std::span<const std::size_t> indices, const Rng& rng);

struct Score {
  double loss = 0;      ///< mean
  double accuracy = 0;  ///< a fraction
};

/// How well a model does on the images of a loader, as they are: groups of them, each carried
/// through the net by one thread. The same bits for any number of threads. What it says of each
/// image goes to `predictions`, where they are asked for.
Score score(const VisionTransformer& model, const Loader& data, Predictions* predictions = nullptr);

/// The probabilities that a model gives to the classes of all images of a loader.
Predictions predict_all(const VisionTransformer& model, const Loader& data);

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
