#pragma once

#include "vitruvian/core/base/byte_source.hpp"

#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace vitruvian {

inline constexpr double not_recorded = std::numeric_limits<double>::quiet_NaN();

/// What a run directory tells, finished or not. A number that is absent, or was not finite when it
/// was written, is `not_recorded`.
struct RunRecord {
  struct Step {
    double step = not_recorded, loss = not_recorded, lr = not_recorded, grad_norm = not_recorded;
  };
  struct Epoch {
    std::size_t epoch = 0;  ///< from 1
    double step = not_recorded;
    double train_loss = not_recorded, train_accuracy = not_recorded;
    double val_loss = not_recorded, val_accuracy = not_recorded;
    double test_loss = not_recorded, test_accuracy = not_recorded;
    double lr = not_recorded, grad_norm = not_recorded;
  };

  std::string directory;
  std::string name;  ///< the directory's own, without the path
  /// Of config.json, flattened: {"width", "64"}.
  std::vector<std::pair<std::string, std::string>> settings;
  std::vector<Step> steps;
  std::vector<Epoch> epochs;
  /// After training: of a final test, or else of the last epoch that has one.
  double test_loss = not_recorded, test_accuracy = not_recorded;
  double seconds = not_recorded;            ///< of all epochs together, evaluations included
  double images_per_second = not_recorded;  ///< mean over the epochs

  /// The value of a setting; empty where there is none.
  [[nodiscard]] std::string setting(const std::string& key) const;
  /// The same of a setting that is a count; 0 where there is none.
  [[nodiscard]] std::size_t count(const std::string& key) const;
  /// Steps of an epoch, as the first recorded epoch has them; 0 before one has ended.
  [[nodiscard]] double steps_an_epoch() const;
  /// Validation accuracy is what runs are judged by; test accuracy where there was no validation.
  [[nodiscard]] bool validated() const;
  /// The first epoch with the highest accuracy of that kind; null when there is none.
  [[nodiscard]] const Epoch* best() const;
};

/// Adds the lines of metrics.jsonl, or of timing.jsonl. Throws (Exit::data), naming source and
/// line, where it is damaged or beyond reason (1 GB); the last line may be cut short.
void read_metrics(const ByteSource& source, RunRecord& run);
void read_timing(const ByteSource& source, RunRecord& run);

/// The lines of a run directory's metrics.jsonl as a table for other programs (RFC 4180, the names
/// in the first line): a row for each line, a column for each name in the order in which the lines
/// have them, numbers with all their digits; empty where a line has no such number, or one that was
/// not finite. Throws as read_run does.
std::string metrics_csv(const std::string& directory);

/// Reads config.json, metrics.jsonl and timing.jsonl of a run directory; the last two may be absent
/// (nothing was trained yet), and the last line of each may be cut short (the run was killed).
/// Throws (Exit::data), naming file and line, where there is no such directory or its files are
/// damaged or beyond reason (1 MB of config, 1 GB of metrics).
RunRecord read_run(const std::string& directory);

}  // namespace vitruvian
