#pragma once

#include "vitruvian/core/tensor.hpp"
#include "vitruvian/datasets/loader.hpp"
#include "vitruvian/nn/optim.hpp"
#include "vitruvian/train/learner.hpp"
#include "vitruvian/train/report.hpp"
#include "vitruvian/train/run/checkpoint_file.hpp"
#include "vitruvian/train/run/run_directory.hpp"
#include "vitruvian/train/step.hpp"
#include "vitruvian/train/training_data.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

/// Handles on what a run changes from step to step, beside its RunState.
struct RunArrays {
  std::vector<NamedParameter> model;
  Optimizer* optimizer = nullptr;
  std::vector<NamedParameter> ema;  ///< empty where there is none
};

/// Writes both as a checkpoint. Throws as write_checkpoint does.
void save_checkpoint(const std::string& path, RunState state, const RunArrays& arrays);
/// Fills the arrays from a file that was read. Throws (Exit::checkpoint), naming the file, when it
/// has not exactly their tensors, before any is changed.
void restore(const CheckpointFile& file, const RunArrays& arrays);

/// Throws (Exit::checkpoint) when a checkpoint was made with other settings; fewer epochs are none,
/// where the run was prolonged.
void check_settings(const TrainOptions& options, const CheckpointFile& file,
                    std::size_t steps_an_epoch);
/// Throws (Exit::checkpoint) naming `source` where the data, or the teacher, are not those of a
/// run: it had them by the checksum `before`.
void check_data(const std::string& source, const std::string& before, const std::string& checksum);

/// One run of training: the model, what changes with every step, and where it is written down. All
/// that a step depends on is the options, the data and what a checkpoint holds; no clock, no
/// thread, no number of ranks.
class Run {
 public:
  /// `directory` may be null, as on every rank but rank 0: then nothing is written.
  Run(const TrainOptions& options, Learner learner, const TrainingData& data, Observer& observer,
      RunDirectory* directory, Ranks& ranks = one_rank());

  /// Goes on from a checkpoint of these settings (see check_settings). Throws (Exit::checkpoint)
  /// when it is of other data.
  void resume(const CheckpointFile& checkpoint);
  /// Trains until the epoch under way is finished and evaluated. Throws (Exit::interrupted,
  /// terminated or hung_up), with a checkpoint written, after a step during which a signal came, or
  /// in the evaluation, which is then begun again by whoever goes on.
  EpochReport epoch();
  /// Whether another epoch is to come.
  [[nodiscard]] bool goes_on() const;
  /// Looks at the test images with the weights that are kept, leaves what they say of each in
  /// `predictions`, and writes the weights. What comes back is the score, if validation kept the
  /// test set unread. A signal stops it as it stops the evaluation of an epoch.
  std::optional<TestReport> finish(Predictions& predictions);
  /// Leaves the last checkpoint: the run is over.
  void close();

  /// What the run is about to do, with the seconds of an epoch measured on three steps that change
  /// nothing.
  RunStart start(std::uint64_t bytes);
  /// The micro-batches of a full step: as many ranks at most have something to do in it.
  [[nodiscard]] std::size_t turns() const;
  /// The weights that the last step left.
  [[nodiscard]] const std::vector<NamedParameter>& model() const { return learner_.parameters; }
  /// Those that are evaluated: their moving average where there is one.
  [[nodiscard]] const std::vector<NamedParameter>& evaluated() const;
  /// Those that are kept: where early stopping looks for them the best, else the last evaluated.
  [[nodiscard]] const std::vector<NamedParameter>& kept() const;
  [[nodiscard]] const RunState& state() const { return state_; }
  [[nodiscard]] const Loader& test_images() const { return test_; }

 private:
  using Clock = std::chrono::steady_clock;
  using Cut = std::vector<std::span<const std::size_t>>;  // the images of each micro-batch

  StepReport step(std::span<const std::size_t> indices);
  StepReport profiled_step(std::span<const std::size_t> indices);
  [[nodiscard]] Cut cut(std::span<const std::size_t> indices) const;
  [[nodiscard]] std::vector<std::size_t> own_images(
      std::span<const std::span<const std::size_t>> steps) const;
  [[nodiscard]] MicroBatches micro_batches(const Cut& parts) const;
  [[noreturn]] void broke_down(const Cut& parts, const std::string& what) const;
  void check_weights() const;
  void compare_weights() const;
  [[nodiscard]] MicroBatch training_batch(std::span<const std::size_t> indices,
                                          const Rng& rng) const;
  void update_average();
  Score score_of(const std::vector<NamedParameter>& parameters, const Loader& images,
                 Predictions* predictions = nullptr);
  void keep_best(double accuracy, double loss);
  void checkpoint();
  void stop_if_asked();
  [[nodiscard]] double schedule() const;
  [[nodiscard]] RunArrays arrays();

  const TrainOptions& options_;
  Learner learner_;
  const TrainingData& data_;
  Observer& observer_;
  RunDirectory* directory_;
  Ranks& ranks_;
  Rng rng_;
  Loader train_, test_;
  std::optional<Loader> validation_;
  Metadata metadata_;                    // of files of weights
  std::vector<NamedParameter> average_;  // of the weights, where it is wanted
  std::vector<NamedParameter> best_;     // for early stopping, likewise
  std::variant<AdamW, Adam, SGD, Muon> optimizer_;
  std::size_t steps_an_epoch_, steps_, warmup_, log_every_;
  RunState state_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point saved_ = Clock::now();
  bool tested_ = false;  // metrics.jsonl has the result already, of a run that makes lost weights
  std::size_t own_steps_ = 0;  // of this process
  double stepping_seconds_ = 0, waiting_seconds_ = 0;
};

/// Calls `step` on one thread and says where its time went. The number of threads is then what it
/// was. Of the report, `step`, `images` and `micro_batches` are left to the caller.
ProfileReport profiled(const std::function<void()>& step);

/// What it costs to put a node on the tape, to walk over it and to free it, without the arithmetic
/// of its op: measured on a chain of scalars, the best of a few times.
double seconds_a_node();

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
