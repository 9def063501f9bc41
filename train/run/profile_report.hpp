#pragma once

#include "vitruvian/core/profile.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace vitruvian {

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

}  // namespace vitruvian
