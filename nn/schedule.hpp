#pragma once

#include <cstddef>

// Learning-rate schedules: pure functions from a step to a factor of the base rate. `step` counts
// from 0 and `steps` is their number. All begin with the same linear warm-up,
//   factor = (step + 1) / warmup         for step < warmup,
// so that no step is wasted on a rate of 0 and the last step of the warm-up runs at the full rate.
// Afterwards, with p = (step - warmup) / (steps - warmup), which is 0 at the first step after the
// warm-up and reaches 1 at step = steps, one after the last; beyond it the factor stays that of p
// = 1. A negative number (which arrives as one of at least 2^63) throws.

namespace vitruvian {

/// factor = 1
double constant_schedule(std::size_t step, std::size_t steps, std::size_t warmup = 0);
/// factor = 1 - p
double linear_schedule(std::size_t step, std::size_t steps, std::size_t warmup = 0);
/// factor = (1 + cos(pi p)) / 2 (Loshchilov and Hutter, arXiv 1608.03983, without restarts)
double cosine_schedule(std::size_t step, std::size_t steps, std::size_t warmup = 0);

}  // namespace vitruvian
