#pragma once

#include "vitruvian/core/array.hpp"
#include "vitruvian/media/image.hpp"
#include "vitruvian/train/weights.hpp"

#include <functional>
#include <string>
#include <vector>

// From pictures to what a model takes.

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

/// How pictures become a model's input: by what the user says (`mean` and `std`, for one channel or
/// for all; empty: nothing), else as the file of weights says, else as its scheme's project has it,
/// which `note` is told. Throws (Exit::usage), naming `weights`, where nobody knows, and where the
/// model's images have neither one nor three channels.
DataConfig normalisation(const TrainedModel& trained, const std::vector<double>& mean,
                         const std::vector<double>& std, const std::string& weights,
                         const std::function<void(const std::string&)>& note);

/// (H, W, C) bytes to (1, C, H, W).
Array normalised(const Image& image, const DataConfig& data);

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
