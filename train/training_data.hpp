#pragma once

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/datasets/images.hpp"
#include "vitruvian/datasets/loader.hpp"
#include "vitruvian/train/data_config.hpp"
#include "vitruvian/train/settings/options.hpp"

#include <cstdint>
#include <string>

namespace vitruvian {

struct TrainingData {
  ImageSplit images;
  Parts indices;  ///< which images of `images.train` train and which validate
  /// Of all pixels and labels, of the training set and the test set: CRC-32; of a folder's files
  /// SHA-256 (without OpenSSL: their number, mean and std). What a teacher says of them is data
  /// too: `of_teacher` and the checksum of its weights follow.
  std::string checksum;
  static constexpr const char* of_teacher = "-teacher-";

  /// What stays in memory of the images: all, or of pictures in files those decoded ahead.
  [[nodiscard]] std::uint64_t resident_bytes() const;
};

/// Opens what the options ask for, resized and split. Throws as `open_images` does, and
/// (Exit::data) when the images are not of the model's shape and classes, or those of a run that
/// is resumed are not where they were.
TrainingData training_data(const TrainOptions& options);
/// Throws (Exit::usage) where there are no images to train on or to test with.
void check_there(const ImageSplit& images);
/// The same of images that a program brings: split, and their checksum known. Throws (Exit::data)
/// for a label that is not below the number of classes, and as check_there.
TrainingData training_data(const TrainOptions& options, ImageSplit images);

/// The test images, normalised as those that train.
Loader test_images_of(const TrainingData& data);

/// Throws (Exit::data) when images are not of a model's shape and classes.
void check_shapes(const ViTConfig& model, const Dataset& data);

/// The test images as a trained model takes them: of its size and classes, and normalised as those
/// were that it was trained on. `weights` is its file, or its run's directory: see
/// TestImageOptions. What the user should know of them is added to `note`. Throws as
/// `open_test_images` does, (Exit::usage) where no data set is known, and (Exit::data) when they
/// have other channels or classes, or are not where the run found them.
Loader test_data(const TestImageOptions& said, const std::string& weights, const ViTConfig& model,
                 const DataConfig& trained, std::string& note);

/// An error of data that a run was trained on, with the way out: they may have been moved.
Error perhaps_moved(const Error& error, const std::string& run);

/// What weights say of the images of a run.
DataConfig data_config_of(const TrainingData& data);

/// The built-in digits are one data set, and so are the test pictures of a folder, whatever seed a
/// run has: results can be compared.
inline constexpr std::uint64_t data_seed = 1;

}  // namespace vitruvian
