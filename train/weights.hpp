#pragma once

#include "train/trained_on.hpp"
#include "vit/model.hpp"
#include "vit/weights.hpp"

#include <string>
#include <vector>

namespace vitruvian::inline VITRUVIAN_PRECISION {

struct TrainedModel {
  VisionTransformer model;
  TrainedOn data;
  std::string scheme;              ///< whose names the file has
  std::vector<std::string> notes;  ///< what is not as in the file
};

/// Writes a safetensors file with timm's names; the config and what the model was trained on are
/// its metadata, so that the file says all there is to know. The same model gives the same bytes.
void save_weights(const VisionTransformer& model, const TrainedOn& data, const std::string& path);

/// Reads it back, or what another project wrote: see vit/weights.hpp. Throws (Exit::checkpoint),
/// naming the file, when it is damaged, or does not fit its config.
TrainedModel load_weights(const std::string& path, const WeightsRequest& request = {});

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
