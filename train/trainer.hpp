#pragma once

#include "vitruvian/core/base/real.hpp"
#include "vitruvian/train/ranks/ranks.hpp"
#include "vitruvian/train/report.hpp"
#include "vitruvian/train/settings/options.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

// The whole of a run.

namespace vitruvian {

struct RunResult {
  EpochReport last;                ///< of the last epoch; of a run that was finished, its number
  std::optional<TestReport> test;  ///< of a run with a validation split
  bool was_finished = false;       ///< before it was resumed: nothing was done
  std::string directory;           ///< the run's; empty where nothing was written
  double seconds = 0;              ///< of the whole run
};

/// What `vitruvian train --sanity` says of a model before anybody trains it.
struct SanityCheck {
  std::string text;
  bool passed = false;
};

inline namespace VITRUVIAN_PRECISION {
struct Outcome;  // train/step.hpp
using AtEnd = std::function<void(const Outcome& outcome)>;
/// Trains a ViT: reads the data, makes the run directory (when `out` is not empty), and writes what
/// RunDirectory lists. A run that is resumed with a `prolong_to` above its epochs goes on as one
/// of so many. The same bits for any number of threads, and for a run that was killed at any moment
/// and resumed. Nothing is written before everything that can be checked is checked. `at_end` is
/// called before the run counts as finished: what it writes, a run that is killed meanwhile writes
/// when it is resumed. Several ranks, at most as many as lanes, share each step, with the bytes of
/// one; observer, `at_end` and the run directory are rank 0's. Throws (Exit::usage) on every rank
/// where one has other settings, data, kernels or another version.
RunResult train(const TrainOptions& options, Observer& observer, const AtEnd& at_end = {},
                Ranks& ranks = one_rank());
/// What saved weights say of test images, normalised as the images were that they were trained on.
Evaluation evaluate(const EvalOptions& options);
/// Of the model that a run begins with: the loss at the start against ln K; derivatives by every
/// parameter against differences; and 20 images, or what is hidden of them, learned by heart. A
/// teacher is not asked. Throws (Exit::usage) with `init`: such a model has learned already.
std::vector<SanityCheck> sanity(const TrainOptions& options);
}  // namespace VITRUVIAN_PRECISION

}  // namespace vitruvian
