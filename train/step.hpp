#pragma once

#include "vitruvian/core/base/rng.hpp"
#include "vitruvian/datasets/loader.hpp"
#include "vitruvian/train/lane_sum.hpp"
#include "vitruvian/train/learner.hpp"
#include "vitruvian/train/report.hpp"

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

/// A part of a step's images that is in memory at once.
struct MicroBatch {
  Tensor images;                      // (n, C, H, W), normalised
  std::vector<std::size_t> labels;    // n
  Rng rng;                            // dropout's, and only this micro-batch's
  std::optional<Array> targets = {};  // (n, K), where images are mixed: shares of the classes
  Rng step = Rng(0);                  // the step's, the same in all its micro-batches, and
  std::size_t first = 0;              // the place of its first image among theirs
};

/// The micro-batches of a step: made one by one, when their turn comes.
struct MicroBatches {
  std::size_t count = 0;
  std::size_t images = 0;                         // of all of them
  std::function<MicroBatch(std::size_t i)> make;  // called by several threads
};

/// Sums the gradients of micro-batches in their order, whoever computes them and whenever they are
/// ready: what makes gradient accumulation, and any number of threads, give the same bits.
class Reducer {
 public:
  /// The turns are the positions of this rank's micro-batches, and what a parameter has in a lane
  /// goes to `lanes` as soon as it is there; they must outlive this.
  Reducer(std::vector<Tensor> parameters, LaneSum& lanes);
  /// Adds the gradient of parameter `i` in micro-batch `turn` (from 0), after those of all earlier
  /// turns. Where those are still to come it leaves it for the thread that brings those, and waits
  /// only when it is two turns a thread ahead. Throws when one of those was abandoned.
  void add(std::size_t turn, std::size_t i, Array gradient);
  /// Micro-batch `turn` failed: those after it must not wait for it.
  void abandon(std::size_t turn);
  /// Makes the sums the parameters' `.grad`: the end of it.
  void finish();

 private:
  // What has come of a parameter.
  struct Sum {
    std::optional<Array> sum;  // of its lane before next, touched by the thread that is adding
    std::size_t next = 0;
    std::map<std::size_t, Array> waiting;
    bool adding = false;
  };
  void add_next(Sum& its, std::size_t i, Array gradient);

  std::vector<Tensor> parameters_;
  LaneSum& lanes_;
  std::vector<Sum> sums_;
  std::size_t ahead_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t failed_ = std::numeric_limits<std::size_t>::max();  // the first turn that was
};

struct StepResult {
  double loss = 0;  ///< mean over all images
  std::size_t correct =
      0;  ///< images (or their rows of logits) whose (first) largest logit is the label's
};

/// Into how many micro-batches a step of `images` of so many tokens is cut where nobody says, the
/// images shared out evenly: each has some 600 rows of tokens and 16 images at most, enough for a
/// fast matrix product and few enough to stay near a core from one op to the next; their number is
/// a multiple of four, so that a few threads have the same to do. It depends on the model and the
/// batch alone: results do not depend on the machine.
std::size_t micro_batches_of(std::size_t tokens, std::size_t images);

/// Leaves d(mean loss of all images)/d(parameter) on every parameter: each micro-batch of n of the
/// N images is weighted n / N. Each is carried through the whole net by one thread, several at the
/// same time; a single one is spread over the threads op by op. Ranks make and compute their own
/// micro-batches only, and all have the gradient, and the result, in the end. Throws without
/// images.
StepResult compute_gradients(const Learner& learner, const MicroBatches& micro_batches,
                             double label_smoothing, const Sharing& sharing = {});
StepResult compute_gradients(const Learner& learner, std::span<const MicroBatch> micro_batches,
                             double label_smoothing, const Sharing& sharing = {});
/// The mean loss of a micro-batch, on the tape, and how much was answered right.
struct Forward {
  Tensor loss;
  std::size_t correct = 0;
};
Forward forward(const Learner& learner, const MicroBatch& part, double label_smoothing);

/// How many rows of logits (B, K) have their largest entry at the label of B; of equal ones the
/// first, as torch's argmax and Predictions::guess have it. A row with NaN has none: a model that
/// broke down guesses nothing. Throws on other shapes.
std::size_t count_correct(const Array& logits, std::span<const std::size_t> labels);

/// Images as they are, normalised, with their labels.
MicroBatch micro_batch(const Loader& data, std::span<const std::size_t> indices);

struct Score {
  double loss = 0;      ///< mean
  double accuracy = 0;  ///< a fraction of what was asked
};

/// How well it does on the images of a loader, as they are: groups of them, each carried
/// through the net by one thread of one rank. The same bits for any number of either, on every
/// rank. What it says of each image goes to `predictions`, where they are asked for: nothing, where
/// it does not classify. Once `stop` says so no further group is looked at, and the score is of no
/// use.
Score score(const Learner& learner, const Loader& data, Predictions* predictions = nullptr,
            Ranks& ranks = one_rank(), const std::function<bool()>& stop = {});

/// What a run has come to, when its weights are written and it is not yet called finished.
struct Outcome {
  const Learner& learner;          ///< with the weights that are kept
  const Loader& test;              ///< the test images, and
  const Predictions& predictions;  ///< what it says of each
  std::string directory;           ///< the run's; empty where nothing is written
};

/// The probabilities that it gives to the classes of all images of a loader.
Predictions predict_all(const Learner& learner, const Loader& data, Ranks& ranks = one_rank());

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
