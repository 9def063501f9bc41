#pragma once

#include "vitruvian/train/ranks/ranks.hpp"
#include "vitruvian/train/settings/options.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace vitruvian {

/// Trains one run for each seed into OUT/seed-1, OUT/seed-2, ..., each with `train_one`, and says
/// what they have come to together: a table, and OUT/report.html. A run that is there already with
/// the same settings is left if it is finished, or else goes on. On several ranks each calls it.
/// Throws (Exit::usage) before the first run where the set cannot be made.
void train_seeds(Ranks& ranks, const TrainOptions& options, const std::vector<std::uint64_t>& seeds,
                 bool quiet, const std::function<void(const TrainOptions&)>& train_one);

}  // namespace vitruvian
