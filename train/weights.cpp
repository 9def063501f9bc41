#include "train/weights.hpp"

#include "core/error.hpp"
#include "nn/safetensors.hpp"
#include "train/options.hpp"

namespace vitruvian::inline VITRUVIAN_PRECISION {

void save_weights(const VisionTransformer& model, const TrainedOn& data, const std::string& path) {
  save(model, path, to_metadata({model.config, data}));
}

TrainedModel load_weights(const std::string& path, const WeightsRequest& request) {
  VitWeights weights = open_weights(path, request);
  const ViTConfig& config = weights.config;
  TrainedOn data = trained_on(weights.tensors.metadata, config.C, path);
  // A config that promises much more than the file holds must not make us allocate it. What differs
  // otherwise, `load` names.
  constexpr std::uint64_t little = 4096;
  const std::uint64_t stored = weights.tensors.size();
  if (config.parameters() / 2 > stored + little) {
    fail(Exit::checkpoint, "{}: holds {} numbers, but a model of its config has {}", path, stored,
         config.parameters());
  }
  check_fits_in_memory(config, config.forward_bytes(1, sizeof(real)), "to run");
  VisionTransformer model = undrawn(config);
  load(model, weights.tensors);
  return {std::move(model), std::move(data), name_of(weights.scheme), std::move(weights.notes)};
}

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
