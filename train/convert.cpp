#include "vitruvian/train/convert.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/json.hpp"
#include "vitruvian/core/base/safe_file.hpp"
#include "vitruvian/media/image.hpp"
#include "vitruvian/nn/tensor_file.hpp"
#include "vitruvian/train/data_config.hpp"
#include "vitruvian/train/hf_folder.hpp"
#include "vitruvian/train/run/run_directory.hpp"
#include "vitruvian/train/settings/options.hpp"
#include "vitruvian/vit/onnx/graph.hpp"
#include "vitruvian/vit/weights/held.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

namespace vitruvian {
namespace {

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return path.ends_with('/') || std::filesystem::is_directory(path, ignored);
}

// How predict makes a picture of any size its input, in words: whoever runs the graph has to do it.
std::string preprocessing(const ViTConfig& c, const DataConfig& data) {
  const std::string resize = data.crops()
                                 ? fmt::format("shorter side to {}, the middle {} x {} cut out",
                                               Fit{c.H, c.W}.shorter_side(), c.H, c.W)
                                 : fmt::format("stretched to {} x {}", c.H, c.W);
  return fmt::format("{}, height by width, bilinear with antialias; {} in planes; bytes / 255; {}",
                     resize, c.C == 3 ? "R, G, B" : fmt::format("{} channels", c.C),
                     data.mean.empty() ? "normalised nobody knows how" : "(x - mean) / std");
}

Metadata onnx_metadata(const ViTConfig& config, const DataConfig& data) {
  Metadata metadata = to_metadata(config, data);
  metadata.erase("format");
  metadata["preprocessing"] = preprocessing(config, data);
  if (const auto names = data.class_names(config.K); config.head != Head::none && !names.empty()) {
    metadata["classes"] = dump_json(SortedJson(names));
  }
  return metadata;
}

// The config of a small file may promise more tokens than a machine has room for.
void check_tokens(const ViTConfig& config, bool pairs) {
  const std::uint64_t tokens = config.T();
  const std::uint64_t numbers = tokens * (config.D + (pairs ? tokens : 0));
  check_fits_in_memory(config, sizeof(double) * numbers, "to convert");
}

}  // namespace

Converted convert(const ConvertOptions& options) {
  check_no_file_of_run(options.to);
  if (!options.to_onnx() && options.scheme != Scheme::hf && is_folder(options.to)) {
    fail(Exit::usage, "{}: a folder is what --scheme hf is written to; name a file", options.to);
  }
  VitWeights weights = open_weights(weights_file(options.from), options.request);
  const ViTConfig config = weights.config;
  check_tokens(config, options.to_onnx() && config.positions == Positions::relative);
  DataConfig data = data_config_of(weights.tensors.metadata, config.C, options.from);
  if (data.mean.empty()) data = published_normalisation(name_of(weights.scheme), config.C);
  if (options.to_onnx()) {
    const OnnxGraph graph = onnx_graph(weights);
    make_folder_of(options.to);
    write_onnx(options.to, graph, onnx_metadata(config, data));
    return {config, weights.scheme, graph.weights.size(), weights.notes};
  }
  const Scheme from = weights.scheme;
  weights = held_by(options.scheme, std::move(weights));
  TensorFile named = from_timm(weights.tensors, options.scheme, config.h);
  const std::size_t tensors = named.tensors.size();
  const Metadata metadata = to_metadata(weights.config, data);
  if (options.scheme != Scheme::hf || !is_folder(options.to)) {
    make_folder_of(options.to);
    write_safetensors(options.to, std::move(named.tensors), metadata);
  } else {
    check_hf_folder(options.to);
    write_safetensors(std::filesystem::path(options.to) / "model.safetensors",
                      std::move(named.tensors), metadata);
    write_hf_configs(options.to, weights.config, data, weights.notes);
  }
  return {weights.config, from, tensors, weights.notes};
}

}  // namespace vitruvian
