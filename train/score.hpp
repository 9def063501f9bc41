#pragma once

#include "vitruvian/datasets/loader.hpp"
#include "vitruvian/train/report.hpp"
#include "vitruvian/train/step.hpp"

#include <cstddef>
#include <span>
#include <string>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

/// Images as they are, normalised, with their labels.
MicroBatch micro_batch(const Loader& data, std::span<const std::size_t> indices);

struct Score {
  double loss = 0;      ///< mean
  double accuracy = 0;  ///< a fraction
};

/// How well it does on the images of a loader, as they are: groups of them, each carried
/// through the net by one thread. The same bits for any number of threads. What it says of each
/// image goes to `predictions`, where they are asked for.
Score score(const Learner& learner, const Loader& data, Predictions* predictions = nullptr);

/// What a run has come to, when its weights are written and it is not yet called finished.
struct Outcome {
  const Learner& learner;          ///< with the weights that are kept
  const Loader& test;              ///< the test images, and
  const Predictions& predictions;  ///< what it says of each
  std::string directory;           ///< the run's; empty where nothing is written
};

/// The probabilities that it gives to the classes of all images of a loader.
Predictions predict_all(const Learner& learner, const Loader& data);

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
