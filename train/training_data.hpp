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

void check_shapes(const ViTConfig& model, const Dataset& data);

/// The images at another size, each stretched as Pillow does it (bilinear, with antialias).
Dataset resized(const Dataset& data, std::size_t height, std::size_t width);

/// The built-in digits are one data set, whatever seed a run has: results can be compared.
inline constexpr std::uint64_t digits_seed = 1;

}  // namespace vitruvian
