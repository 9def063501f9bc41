#pragma once

#include "datasets/loader.hpp"
#include "report/inspect.hpp"
#include "train/weights.hpp"

#include <string>
#include <vector>

// Internal to train.

namespace vitruvian::inline VITRUVIAN_PRECISION {

/// What there is to look at. Images go through the model one by one: their number costs time alone.
struct Samples {
  DataConfig data;  ///< how its images are normalised
  std::vector<Image> pictures;
  std::vector<Array> inputs;        ///< (1, C, H, W)
  std::vector<std::size_t> labels;  ///< of a data set's images
  std::vector<std::string> class_names;
  std::string described;  ///< "16 test images of digits, the classes in turn"
};

/// Reads the pictures or the data set's images. Throws as read_image and load_test do.
Samples samples_of(const TrainedModel& trained, const InspectOptions& options,
                   const InspectObserver& observer);
/// The first images of a loader, the classes in turn, which have the model's shape; `data` stays
/// empty.
Samples samples_of(const Loader& images, std::size_t count, const ViTConfig& config);

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
