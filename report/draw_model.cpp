#include "vitruvian/core/base/error.hpp"
#include "vitruvian/report/draw.hpp"
#include "vitruvian/train/weights.hpp"
#include "vitruvian/vit/inspect/gradients.hpp"
#include "vitruvian/vit/inspect/inspect.hpp"
#include "vitruvian/vit/inspect/layers.hpp"

#include <algorithm>
#include <filesystem>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

// How many images may be on the tape at once.
std::size_t batch_for(const ViTConfig& config, std::size_t images) {
  constexpr std::uint64_t enough = 1'500'000'000;
  while (images > 1 && config.training_bytes(images, sizeof(real)) > enough) --images;
  return images;
}

}  // namespace

bool has_position_table(const ViTConfig& config) {
  return config.positions != Positions::none && config.positions != Positions::relative;
}

bool learns_position_table(const ViTConfig& config) {
  return config.positions == Positions::learned || config.positions == Positions::learned_2d;
}

Numbers numbers(const Array& array) {
  return {{array.shape().begin(), array.shape().end()},
          {array.data(), array.data() + array.size()}};
}

void draw_patches(const VisionTransformer& model, const Samples& samples, FigureList& list) {
  const Array patches = inspect::patches(model, samples.inputs.at(0));  // (1, N, C, P, P)
  Numbers of_first = numbers(patches);
  of_first.shape.erase(of_first.shape.begin());
  list.add(figures::patches(samples.pictures[0], of_first, model.config.grid_width(),
                            samples.data.mean, samples.data.std));
}

void draw_weights(const VisionTransformer& model, FigureList& list) {
  const Array& filters = inspect::filters(model);
  list.add(figures::filters(numbers(filters)));
  const auto parts = inspect::principal_components(filters);
  list.add(figures::filter_components(numbers(parts.components), parts.variances, parts.total));
  if (!has_position_table(model.config)) return;
  const Array similarity = inspect::position_similarity(model);
  const auto lines = inspect::lines(similarity);
  list.add(figures::position_similarity(numbers(similarity), lines.line, lines.rest));
}

void draw_layers(const VisionTransformer& model, const Samples& samples, FigureList& list) {
  const ViTConfig& config = model.config;
  const std::size_t B = batch_for(config, samples.inputs.size());
  Array x = empty({B, config.C, config.H, config.W});
  for (std::size_t b = 0; b < B; ++b) {
    std::copy_n(samples.inputs[b].data(), samples.inputs[b].size(),
                x.data() + b * samples.inputs[b].size());
  }
  std::vector<std::size_t> labels = samples.labels;
  if (labels.empty()) {
    const NoGrad no_grad;
    labels = inspect::most_probable(model(x).value());
  }
  labels.resize(B);
  const Layers layers = inspect::layers(model, x, labels);
  figures::Flow flow;
  for (const LayerNorms& layer : layers.norms) {
    flow.names.push_back(layer.name);
    flow.activations.push_back(layer.activation);
    flow.gradients.push_back(layer.gradient);
  }
  list.add(figures::norms(flow, layers.loss));
  figures::Units units;
  for (const HiddenUnits& mlp : layers.units) {
    const auto share = [&mlp](std::size_t n) {
      return static_cast<double>(n) / static_cast<double>(mlp.units);
    };
    units.dead.push_back(share(mlp.dead));
    units.never_on.push_back(share(mlp.never_on));
    units.always_on.push_back(share(mlp.always_on));
    units.on.push_back(mlp.on);
  }
  list.add(figures::hidden_units(units));
}

void draw_strip(const std::vector<std::string>& checkpoints, const WeightsRequest& request,
                FigureList& list) {
  std::vector<figures::Moment> moments;
  for (const std::string& path : checkpoints) {
    const TrainedModel trained = load_weights(path, request);
    if (!learns_position_table(trained.model.config)) {
      fail(Exit::checkpoint, "{}: the model learns no table of positions to compare", path);
    }
    const Array similarity = inspect::position_similarity(trained.model);
    const auto lines = inspect::lines(similarity);
    moments.push_back(
        {std::filesystem::path(path).stem().string(), numbers(similarity), lines.line, lines.rest});
    if (moments.back().similarity.shape != moments[0].similarity.shape) {
      fail(Exit::checkpoint, "{}: its grid of patches is another than that of the first checkpoint",
           path);
    }
  }
  list.add(figures::strip(moments));
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
