#pragma once

#include "train/inspect.hpp"
#include "train/weights.hpp"

#include <string>
#include <vector>

// Internal to train.

namespace vitruvian::inline VITRUVIAN_PRECISION {

/// What there is to look at. Images go through the model one by one: their number costs time alone.
struct Subject {
  TrainedModel trained;
  TrainedOn data;  ///< how its images are normalised
  std::vector<Image> pictures;
  std::vector<Array> inputs;        ///< (1, C, H, W)
  std::vector<std::size_t> labels;  ///< of a data set's images
  std::vector<std::string> class_names;
  std::string described;  ///< "16 test images of digits"
};

/// Reads the weights, and the pictures or the data set's images. Throws as load_weights, read_image
/// and load_test do.
Subject subject_of(const InspectOptions& options, const InspectObserver& observer);

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
