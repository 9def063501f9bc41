#pragma once

#include "tests/folder.hpp"
#include "tests/golden.hpp"
#include "vitruvian/nn/safetensors.hpp"
#include "vitruvian/vit/model.hpp"
#include "vitruvian/vit/weights/weights.hpp"

// What the tests of other projects' weights share: a file of made-up tensors is written and opened.

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

/// What opening a file of these tensors makes of them.
inline VitWeights opened(const TensorFile& file, const WeightsRequest& request = {.heads = 2}) {
  const Folder folder;
  write_safetensors(folder.file("w"), file.tensors, file.metadata);
  VitWeights weights = open_weights(folder.file("w"), request);
  for (StoredTensor& t : weights.tensors.tensors) {  // before the folder goes
    t = stored(t.name, t.shape, t.values(), t.dtype);
  }
  return weights;
}

inline VisionTransformer model_of(const VitWeights& weights) {
  VisionTransformer model = undrawn(weights.config);
  load(model, weights.tensors);
  return model;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
