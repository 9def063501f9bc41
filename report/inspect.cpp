#include "vitruvian/report/inspect.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/report/draw.hpp"
#include "vitruvian/train/run/run_directory.hpp"
#include "vitruvian/train/weights.hpp"
#include "vitruvian/vit/inspect/graph.hpp"

#include <algorithm>
#include <filesystem>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

// A layer, head or patch that the user chose.
void check_index(const char* flag, std::optional<std::size_t> index, std::size_t count) {
  if (index && *index >= count) {
    fail(Exit::usage, "--{} {}: the model has 0 to {}", flag, *index, count - 1);
  }
}

}  // namespace

std::vector<std::string> inspect_model(const InspectOptions& options,
                                       const InspectObserver& observer) {
  options.validate();
  FigureList list{observer, {}};
  std::string subtitle;
  std::optional<TrainedModel> trained;
  Samples samples;
  if (!options.weights.empty()) {
    trained.emplace(load_weights(weights_file(options.weights), options.request));
    samples = samples_of(*trained, options, observer);
    const ViTConfig& config = trained->model.config;
    check_index("layer", options.layer, config.L);
    check_index("head", options.head, config.h);
    check_index("query", options.query, config.N());
    subtitle = fmt::format("{}: ViT {} x {} x {}, P {}, D {}, L {}, h {}, M {}; {}",
                           options.weights, config.H, config.W, config.C, config.P, config.D,
                           config.L, config.h, config.M, samples.described);
  }
  FigureFolder folder(options.out);
  if (trained) {
    const VisionTransformer& model = trained->model;
    const bool pictures = !samples.inputs.empty();
    if (pictures) draw_patches(model, samples, list);
    draw_weights(model, list);
    if (pictures) {
      draw_attention(model, samples, options, list);
      draw_explanations(model, samples, options, list);
      draw_layers(model, samples, list);
    }
    const std::size_t layer = options.layer.value_or(model.config.L - 1);
    const BlockGraph graph = inspect::block_graph(model, layer);
    list.add(figures::block_graph(layer, graph.to_dot(), graph.to_text()));
  }
  if (!options.strip.empty()) {
    const std::vector<std::string> paths = checkpoints_of(options.strip, options.every);
    if (paths.empty()) {
      fail(Exit::data, "{}: no weights of epochs are in it; 'train --save-every N' keeps them",
           options.strip);
    }
    draw_strip(paths, options.request, list);
  }
  return folder.write("Inside a Vision Transformer", subtitle, list.figures);
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
