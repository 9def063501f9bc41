#include "vitruvian/train/convert.hpp"

#include "vitruvian/nn/tensor_file.hpp"
#include "vitruvian/train/data_config.hpp"
#include "vitruvian/train/run/run_directory.hpp"
#include "vitruvian/vit/weights/held.hpp"

#include <utility>

namespace vitruvian {

Converted convert(const ConvertOptions& options) {
  const VitWeights weights =
      held_by(options.scheme, open_weights(weights_file(options.from), options.request));
  const ViTConfig& config = weights.config;
  DataConfig data = data_config_of(weights.tensors.metadata, config.C, options.from);
  if (data.mean.empty()) data = published_normalisation(name_of(weights.scheme), config.C);
  TensorFile named = from_timm(weights.tensors, options.scheme, config.h);
  const std::size_t tensors = named.tensors.size();
  write_safetensors(options.to, std::move(named.tensors), to_metadata(config, data));
  return {config, weights.scheme, tensors, weights.notes};
}

}  // namespace vitruvian
