#pragma once

namespace vitruvian {

/// While it lives, SIGINT and SIGTERM do not end the program but are remembered, so that a run can
/// finish its step and save; a second one ends it at once, with exit code 128 + signal.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// The signal that came, or 0.
  static int received();
};

}  // namespace vitruvian
