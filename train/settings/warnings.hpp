#pragma once

#include "vitruvian/train/settings/options.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace vitruvian {

/// What is known to go wrong with such settings, a sentence each.
std::vector<std::string> warnings_of(const TrainOptions& options);

/// How many steps an epoch of so many training images has.
std::size_t steps_an_epoch(const TrainOptions& options, std::size_t images);

/// How many of a run's steps the warm-up takes.
std::size_t warmup_steps(const TrainOptions& options, std::size_t steps);

}  // namespace vitruvian
