#include "vitruvian/train/weights.hpp"

#include "vitruvian/core/error.hpp"
#include "vitruvian/nn/safetensors.hpp"
#include "vitruvian/train/run/run_directory.hpp"
#include "vitruvian/train/settings/options.hpp"
#include "vitruvian/vit/weights/pos_resize.hpp"

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

void save_weights(const VisionTransformer& model, const DataConfig& data, const std::string& path) {
  save(model, path, to_metadata({model.config, data}));
}

VisionTransformer initial_model(const TrainOptions& options, Observer& observer) {
  if (options.init.empty() || options.resume) {
    return {options.model, Rng(options.seed).fork("weights")};
  }
  const ViTConfig& c = options.model;
  WeightsRequest request{.height = c.H, .width = c.W, .classes = c.K};
  if (!options.pos_resize.empty()) request.pos_resize = pos_resize_of(options.pos_resize);
  VitWeights weights = open_weights(weights_file(options.init), request);
  for (const std::string& note : weights.notes) observer.noted(note);
  VisionTransformer model = undrawn(c);
  std::vector<NamedParameter> parameters = named_parameters(model);
  if (!options.keep_head) {
    const auto of_head = [](const auto& x) {
      return x.name.starts_with("head.") || x.name.starts_with("pre_logits.");
    };
    std::erase_if(parameters, of_head);
    std::erase_if(weights.tensors.tensors, of_head);
  }
  load(parameters, weights.tensors);
  return model;
}

Metadata metadata_of(const Learner& learner, const DataConfig& data) {
  return learner.vit != nullptr ? to_metadata({learner.vit->config, data}) : to_metadata(data);
}

TrainedModel load_weights(const std::string& path, const WeightsRequest& request) {
  VitWeights weights = open_weights(path, request);
  const ViTConfig& config = weights.config;
  DataConfig data = data_config_of(weights.tensors.metadata, config.C, path);
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

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
