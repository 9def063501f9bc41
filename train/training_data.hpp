#pragma once

#include "datasets/dataset.hpp"
#include "datasets/split.hpp"
#include "train/options.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace vitruvian {

struct TrainingData {
  Split images;
  Parts indices;         ///< which images train and which validate
  std::string checksum;  ///< of all pixels and labels: CRC-32 of the training set, of the test set
};

/// Loads what the options ask for, resized and split. Throws as `load` does, and (Exit::data) when
/// the images are not of the model's shape and classes.
TrainingData training_data(const TrainOptions& options);

/// The test images as a trained model takes them: of its size, and to be normalised as those were
/// that it was trained on. Throws as `load_test` and check_shapes do.
Dataset test_data(const Source& source, const ViTConfig& model, const std::vector<double>& mean,
                  const std::vector<double>& std);

void check_shapes(const ViTConfig& model, const Dataset& data);

/// The images at another size, each stretched as Pillow does it (bilinear, with antialias).
Dataset resized(const Dataset& data, std::size_t height, std::size_t width);

/// The built-in digits are one data set, whatever seed a run has: results can be compared.
inline constexpr std::uint64_t digits_seed = 1;

}  // namespace vitruvian
