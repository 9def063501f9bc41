#pragma once

#include "core/real.hpp"
#include "train/options.hpp"

#include <string>

// The report of a run that is over, written again. As in train/trainer.hpp, nothing here knows of
// `real`.

namespace vitruvian {

struct ReportOptions {
  std::string directory;  ///< of the run
  std::string data;       ///< where its data set is now; empty means where it was
  Precision precision = Precision::float32;
};

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Winline-namespace-reopened-noninline"
#endif

namespace f32 {
/// Reads a run directory, lets its model.safetensors look at the test images, and writes
/// report.html anew. Returns whether there were weights: without them it has curves and settings
/// only. Throws as read_run, load_weights and load_test do.
bool rewrite_report(const ReportOptions& options);
}  // namespace f32

namespace f64 {
bool rewrite_report(const ReportOptions& options);
}  // namespace f64

#if defined(__clang__)
#pragma clang diagnostic pop
#endif

/// The precision that the options ask for; for programs that link both.
namespace either {
inline bool rewrite_report(const ReportOptions& options) {
  return options.precision == Precision::float32 ? f32::rewrite_report(options)
                                                 : f64::rewrite_report(options);
}
}  // namespace either

}  // namespace vitruvian
