#pragma once

#include <cstddef>
#include <memory>

namespace vitruvian {

/// While it lives, SIGINT, SIGTERM and SIGHUP do not end the program but are remembered, so that a
/// run can finish its step and save; a second SIGINT or SIGTERM ends it at once, with exit code
/// 128 + signal. A SIGHUP that is ignored, as under nohup, stays so. Signals go to the thread that
/// makes it: the pool's take none (core/base/parallel.cpp says why).
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// The signal that came, or 0.
  static int received();

 private:
  std::unique_ptr<std::byte[]> stack_;
};

}  // namespace vitruvian
