#pragma once

#include "vitruvian/core/base/real.hpp"
#include "vitruvian/train/trainer.hpp"

#include <functional>
#include <string>

// report.html of a run: at its end, and again later.

namespace vitruvian {

struct ReportOptions {
  std::string directory;  ///< of the run
  std::string data;       ///< where its data set is now; empty means where it was
};

inline namespace VITRUVIAN_PRECISION {
/// Writes report.html into the run's directory; nothing where there is none. It shows the curves,
/// what the model says of the test images, and its inside: filters, positions, attention, rollout,
/// norms, seen on the first few of them; where the directory keeps the weights of epochs
/// (--save-every), also the positions from epoch to epoch. It is what `train` is given as `at_end`.
void write_report(const Outcome& outcome);
/// Reads a run directory, lets its model.safetensors look at the test images, and writes
/// report.html anew. Returns whether there were weights: without them it has curves and settings
/// only. What is to be known of the images is told to `note`. Throws as read_run, settings_of_run,
/// load_weights and load_test do.
bool rewrite_report(const ReportOptions& options,
                    const std::function<void(const std::string&)>& note = {});
}  // namespace VITRUVIAN_PRECISION

}  // namespace vitruvian
