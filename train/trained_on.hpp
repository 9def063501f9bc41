#pragma once

#include "nn/tensor_file.hpp"
#include "vit/config.hpp"

#include <string>
#include <vector>

namespace vitruvian {

/// What has to be known of the images that a model was trained on: others are normalised alike.
struct TrainedOn {
  std::string dataset;
  std::vector<double> mean, std;  // (C)
};

/// What a file of weights says about itself: the model's config and its images.
struct Provenance {
  ViTConfig config;
  TrainedOn data;
};

/// As a file's metadata, and back. Throws (Exit::checkpoint), naming `path` and the entry, where
/// something is missing or makes no sense.
Metadata to_metadata(const Provenance& provenance);
Provenance from_metadata(const Metadata& metadata, const std::string& path);

}  // namespace vitruvian
