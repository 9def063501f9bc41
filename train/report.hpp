#pragma once

#include "train/profile_report.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace vitruvian {

struct Predictions;

/// What is known before the first step.
struct RunStart {
  std::string model;  ///< "ViT 28 x 28 x 1, P 7, D 64, L 4, h 4, M 256"
  std::uint64_t parameters = 0;
  std::uint64_t training_bytes = 0;  ///< an estimate, see ViTConfig::training_bytes
  std::string dataset;
  std::size_t train_images = 0;
  std::size_t test_images = 0;
  std::size_t epochs = 0;
  std::size_t steps = 0;  ///< of the whole run
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
};

/// One epoch, after its evaluation: a line of metrics.jsonl.
struct EpochReport {
  std::size_t epoch = 0;  ///< from 1
  std::size_t epochs = 0;
  double train_loss = 0;      ///< mean over the epoch, as the weights changed
  double train_accuracy = 0;  ///< the same, a fraction
  double test_loss = 0;
  double test_accuracy = 0;      ///< a fraction
  double lr = 0;                 ///< of the last step
  double grad_norm = 0;          ///< mean over the epoch, before clipping
  double images_per_second = 0;  ///< of training
  double seconds = 0;            ///< since the run began, evaluations included

  /// The line, as JSON without a newline. A value that is no number becomes null.
  [[nodiscard]] std::string to_json() const;
};

/// Who is told how a run goes; the command line prints it, a test or a lesson keeps it.
class Observer {
 public:
  Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  virtual ~Observer() = default;
  virtual void started(const RunStart& /*start*/) {}
  virtual void stepped(const StepReport& /*step*/) {}
  virtual void profiled(const ProfileReport& /*profile*/) {}
  virtual void finished_epoch(const EpochReport& /*epoch*/) {}
  /// Once, at the end: what the trained model says of the test images.
  virtual void predicted(const Predictions& /*predictions*/,
                         const std::vector<std::string>& /*class_names*/) {}
};

}  // namespace vitruvian
