#include "train/weights.hpp"

#include "core/error.hpp"
#include "nn/safetensors.hpp"

namespace vitruvian::inline VITRUVIAN_PRECISION {

void save_weights(const VisionTransformer& model, const TrainedOn& data, const std::string& path) {
  save(model, path, to_metadata({model.config, data}));
}

TrainedModel load_weights(const std::string& path) {
  const SafetensorsFile file = read_safetensors(path);
  auto [config, data] = from_metadata(file.content.metadata, path);
  // A config that promises more than the file holds must not make us allocate it.
  std::uint64_t stored = 0;
  for (const StoredTensor& tensor : file.content.tensors) stored += tensor.size();
  if (stored != config.parameters()) {
    fail(Exit::checkpoint, "{}: holds {} numbers, but a model of its config has {}", path, stored,
         config.parameters());
  }
  VisionTransformer model = undrawn(config);
  load(model, file.content);
  return {std::move(model), std::move(data)};
}

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
