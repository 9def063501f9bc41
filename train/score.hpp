#pragma once

#include "datasets/dataset.hpp"
#include "train/step.hpp"

#include <cstddef>
#include <span>

namespace vitruvian::inline VITRUVIAN_PRECISION {

/// Images of a data set, normalised, with their labels.
MicroBatch micro_batch(const Dataset& data, std::span<const std::size_t> indices, const Rng& rng);

struct Score {
  double loss = 0;      ///< mean
  double accuracy = 0;  ///< a fraction
};

/// How well a model does on some images of a data set: groups of them, each carried through the net
/// by one thread. The same bits for any number of threads.
Score score(const VisionTransformer& model, const Dataset& data,
            std::span<const std::size_t> indices);

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
