#pragma once

#include "train/trained_on.hpp"
#include "vit/model.hpp"

#include <string>

namespace vitruvian::inline VITRUVIAN_PRECISION {

struct TrainedModel {
  VisionTransformer model;
  TrainedOn data;
};

/// Writes a safetensors file with timm's names; the config and what the model was trained on are
/// its metadata, so that the file says all there is to know. The same model gives the same bytes.
void save_weights(const VisionTransformer& model, const TrainedOn& data, const std::string& path);

/// Reads it back. Throws (Exit::checkpoint), naming the file, when it is damaged, is not one of
/// ours, or does not fit the config that it carries.
TrainedModel load_weights(const std::string& path);

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
