#pragma once

#include "vitruvian/core/tensor.hpp"
#include "vitruvian/train/run/profile_report.hpp"

#include <functional>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

/// Calls `step` on one thread and says where its time went. The number of threads is then what it
/// was. Of the report, `step`, `images` and `micro_batches` are left to the caller.
ProfileReport profiled(const std::function<void()>& step);

/// What it costs to put a node on the tape, to walk over it and to free it, without the arithmetic
/// of its op: measured on a chain of scalars, the best of a few times.
double seconds_a_node();

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
