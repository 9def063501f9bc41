#pragma once

#include "datasets/loader.hpp"
#include "datasets/open.hpp"
#include "datasets/split.hpp"
#include "train/options.hpp"
#include "train/trained_on.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace vitruvian {

struct TrainingData {
  ImageSplit images;
  Parts indices;  ///< which images of `images.train` train and which validate
  /// Of all pixels and labels, of the training set and the test set: CRC-32; of a folder's files
  /// SHA-256 (without OpenSSL: their number, mean and std).
  std::string checksum;
};

/// Opens what the options ask for, resized and split. Throws as `open_images` does, and
/// (Exit::data) when the images are not of the model's shape and classes.
TrainingData training_data(const TrainOptions& options);

/// The test images as a trained model takes them: of its size and classes, and normalised as those
/// were that it was trained on. What the user should know of them is added to `note`. Throws as
/// `open_test_images` does, and (Exit::data) when they have other channels or classes.
Loader test_data(Source source, const ViTConfig& model, const TrainedOn& trained,
                 std::string& note);

/// What weights say of the images of a run.
TrainedOn trained_on(const TrainingData& data);

/// The built-in digits are one data set, and so are the test pictures of a folder, whatever seed a
/// run has: results can be compared.
inline constexpr std::uint64_t data_seed = 1;

}  // namespace vitruvian
