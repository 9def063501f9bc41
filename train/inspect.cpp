#include "train/inspect.hpp"

#include "core/error.hpp"
#include "media/encode_png.hpp"
#include "train/gallery.hpp"
#include "train/report_figures.hpp"
#include "train/run_directory.hpp"
#include "train/weights.hpp"
#include "vit/inspect_graph.hpp"

#include <algorithm>
#include <filesystem>

namespace vitruvian::inline VITRUVIAN_PRECISION {
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
  Gallery gallery{observer, {}};
  std::string subtitle;
  std::optional<TrainedModel> trained;
  Subject subject;
  if (!options.weights.empty()) {
    trained.emplace(load_weights(weights_file(options.weights), options.request));
    subject = subject_of(*trained, options, observer);
    const ViTConfig& config = trained->model.config;
    check_index("layer", options.layer, config.L);
    check_index("head", options.head, config.h);
    check_index("query", options.query, config.N());
    subtitle = fmt::format("{}: ViT {} x {} x {}, P {}, D {}, L {}, h {}, M {}; {}",
                           options.weights, config.H, config.W, config.C, config.P, config.D,
                           config.L, config.h, config.M, subject.described);
  }
  Album album(options.out);
  if (trained) {
    const VisionTransformer& model = trained->model;
    const bool pictures = !subject.inputs.empty();
    if (pictures) draw_patches(model, subject, gallery);
    draw_weights(model, gallery);
    if (pictures) {
      draw_attention(model, subject, options, gallery);
      draw_explanations(model, subject, options, gallery);
      draw_layers(model, subject, gallery);
    }
    const std::size_t layer = options.layer.value_or(model.config.L - 1);
    const BlockGraph graph = inspect::block_graph(model, layer);
    gallery.add(figures::block_graph(layer, graph.to_dot(), graph.to_text()));
  }
  if (!options.strip.empty()) {
    const std::vector<std::string> paths = checkpoints_of(options.strip, options.every);
    if (paths.empty()) {
      fail(Exit::data, "{}: no weights of epochs are in it; 'train --save-every N' keeps them",
           options.strip);
    }
    draw_strip(paths, options.request, gallery);
  }
  return album.write("Inside a Vision Transformer", subtitle, gallery.figures);
}

std::vector<ReportFigure> report_figures(const VisionTransformer& model, const Loader& images,
                                         const std::string& directory) {
  constexpr std::size_t enough = 8;
  const InspectObserver nobody{[](const std::string&) {}, {}};
  Gallery gallery{nobody};
  draw_weights(model, gallery);
  const Subject subject = subject_of(images, enough, model.config);
  draw_attention(model, subject, {}, gallery);
  draw_explanations(model, subject, {}, gallery);
  draw_layers(model, subject, gallery);
  const std::size_t epochs = checkpoints_of(directory, 1).size();
  if (epochs > 1 && learns_position_table(model.config)) {
    constexpr std::size_t most = 12;
    draw_strip(checkpoints_of(directory, (epochs + most - 1) / most), {}, gallery);
  }
  std::vector<ReportFigure> result;
  for (Figure& figure : gallery.figures) {
    result.push_back({std::move(figure.title), std::move(figure.text), encode_png(figure.picture)});
  }
  return result;
}

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
