#pragma once

#include "vitruvian/core/profile.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace vitruvian {

/// What is known before the first step.
struct RunStart {
  std::string directory;  ///< empty where nothing is written
  std::string model;      ///< "ViT 28 x 28 x 1, P 7, D 64, L 4, h 4, M 256"
  std::uint64_t parameters = 0;
  std::uint64_t training_bytes = 0;  ///< an estimate: ViTConfig::training_bytes, and the images;
                                     ///< 0 where it is not known
  std::string dataset;
  std::uint64_t macs = 0;       ///< multiply-adds of one image's forward pass; 0 likewise
  double seconds_an_epoch = 0;  ///< foretold, from three steps
  std::size_t train_images = 0;
  std::size_t validation_images = 0;
  std::size_t test_images = 0;
  std::size_t epochs = 0;
  std::size_t steps = 0;   ///< of the whole run
  std::size_t warmup = 0;  ///< of them
  std::size_t done = 0;    ///< of them, in a run that is resumed
  std::size_t ranks = 1;   ///< processes that share each step
};

/// One step of training.
struct StepReport {
  std::size_t epoch = 0;  ///< from 1
  std::size_t epochs = 0;
  std::size_t step = 0;  ///< of the whole run, from 1
  std::size_t steps = 0;
  double loss = 0;       ///< mean over the step's images
  double lr = 0;         ///< that was used
  double grad_norm = 0;  ///< before clipping
  double images_per_second = 0;
  double seconds_left = 0;  ///< of training, by the pace so far
  std::size_t ranks = 1;    ///< processes that share each step
  double waiting = 0;       ///< share of this one's time so far in which it waited for others

  /// A line of metrics.jsonl: what no clock decides. NaN and infinity become null.
  [[nodiscard]] std::string to_json() const;
};

/// One epoch, after its evaluation.
struct EpochReport {
  std::size_t epoch = 0;  ///< from 1
  std::size_t epochs = 0;
  std::size_t step = 0;          ///< of the whole run: the epoch's last
  double train_loss = 0;         ///< mean over the epoch, as the weights changed
  double train_accuracy = 0;     ///< the same, a fraction
  bool validation = false;       ///< whether the next two are of the validation split
  double test_loss = 0;          ///< of the test set, or of the validation split
  double test_accuracy = 0;      ///< a fraction
  double lr = 0;                 ///< of the last step
  double grad_norm = 0;          ///< mean over the epoch, before clipping
  double images_per_second = 0;  ///< of training
  double seconds = 0;            ///< since the run began or went on, evaluations included
  std::size_t after_step = 0;    ///< the step after which it went on

  /// Its line of metrics.jsonl, and its line of timing.jsonl.
  [[nodiscard]] std::string to_json() const;
  [[nodiscard]] std::string timing_to_json() const;
};

/// The test set, read once at the end of a run that has a validation split.
struct TestReport {
  std::size_t epoch = 0;  ///< whose weights these are
  double loss = 0;
  double accuracy = 0;  ///< a fraction

  [[nodiscard]] std::string to_json() const;
};

/// Where the `n` largest of some values are, the largest first; equal ones in their order.
std::vector<std::size_t> largest_of(std::span<const double> values, std::size_t n);

/// What a model says of n labelled images: the probabilities of K classes for each.
struct Predictions {
  std::size_t classes = 0;            ///< K
  std::vector<std::size_t> labels;    ///< (n), each below K
  std::vector<double> probabilities;  ///< (n, K)

  [[nodiscard]] std::size_t size() const { return labels.size(); }
  /// The K probabilities of image i. Throws where there is no such image.
  [[nodiscard]] std::span<const double> of(std::size_t i) const;
  /// The likeliest class of image i; of equal ones the first.
  [[nodiscard]] std::size_t guess(std::size_t i) const;
  /// The `n` likeliest classes of image i, the likeliest first; equal ones in their order.
  [[nodiscard]] std::vector<std::size_t> likeliest(std::size_t i, std::size_t n) const;
  /// The `n` images that were classified wrongly with the least probability for the right class:
  /// those that cost the most. Equal ones in their order.
  [[nodiscard]] std::vector<std::size_t> worst_mistakes(std::size_t n) const;
};

/// Where the time of one training step went, on one thread.
struct ProfileReport {
  std::size_t step = 0;  ///< of the whole run, from 1
  std::size_t images = 0;
  std::size_t micro_batches = 0;
  std::vector<ProfileRow> ops;
  std::vector<ProfileRow> paths;
  std::vector<Profile::Other> others;  ///< what is no op: batches, summing gradients, the optimizer
  std::size_t bytes_before = 0;        ///< of array storage, when the step began
  std::size_t peak_bytes = 0;          ///< the most during the step
  double node_seconds = 0;             ///< see `seconds_a_node`

  /// Seconds of the whole step: every moment of it belongs to one op, or to one of the others.
  [[nodiscard]] double seconds() const;
  /// Two tables, one row an op (the longest first) and one a module path (in the model's order),
  /// then the totals.
  [[nodiscard]] std::string to_text() const;
};

/// What a trained model makes of test images.
struct Evaluation {
  std::string dataset;
  std::vector<std::string> class_names;
  double loss = 0;
  double accuracy = 0;      ///< a fraction
  Predictions predictions;  ///< empty where it does not classify
  std::size_t images = 0;
  std::string note{};  ///< what was left out, or ""
};

/// Who is told how a run goes; the command line prints it, a test or a lesson keeps it.
class Observer {
 public:
  Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  virtual ~Observer() = default;
  virtual void started(const RunStart& /*start*/) {}
  /// Something to know: a doubtful setting, a damaged checkpoint.
  virtual void noted(const std::string& /*sentence*/) {}
  virtual void stepped(const StepReport& /*step*/) {}
  virtual void profiled(const ProfileReport& /*profile*/) {}
  virtual void finished_epoch(const EpochReport& /*epoch*/) {}
  virtual void tested(const TestReport& /*test*/) {}
  /// Once, at the end: what the trained model says of the test images.
  virtual void predicted(const Predictions& /*predictions*/,
                         const std::vector<std::string>& /*class_names*/) {}
};

}  // namespace vitruvian
