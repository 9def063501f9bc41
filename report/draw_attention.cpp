#include "vitruvian/report/draw.hpp"
#include "vitruvian/vit/inspect/inspect.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

void add_to(Numbers& sum, const Array& array) {
  if (sum.values.empty()) {
    sum = numbers(array);
    return;
  }
  for (std::size_t i = 0; i < array.size(); ++i) sum.values[i] += array.data()[i];
}

void divide(Numbers& sum, std::size_t n) {
  for (double& value : sum.values) value /= static_cast<double>(n);
}

}  // namespace

void draw_attention(const VisionTransformer& model, const Samples& samples,
                    const InspectOptions& options, FigureList& list) {
  const ViTConfig& config = model.config;
  const std::size_t layer = options.layer.value_or(config.L - 1);
  inspect::Query query{options.query};
  if (!query.patch && config.mean_pooling) {
    query.patch = config.grid_height() / 2 * config.grid_width() + config.grid_width() / 2;
  }
  const std::string asker =
      query.patch ? fmt::format("patch {}", *query.patch) : std::string("the class token");
  const std::string whose =
      fmt::format("layer {}, {}", layer,
                  options.head ? fmt::format("head {}", *options.head) : "mean of its heads");

  figures::HeadNumbers heads;
  for (std::size_t b = 0; b < samples.inputs.size(); ++b) {
    const inspect::Attention seen = inspect::attention(model, samples.inputs[b]);
    const inspect::Heads of_image = inspect::heads(seen);
    add_to(heads.distance, of_image.distance);
    if (!config.mean_pooling) add_to(heads.on_class_token, of_image.on_class_token);
    add_to(heads.entropy, of_image.entropy);
    add_to(heads.saturated, of_image.saturated);
    if (b > 0) continue;

    Numbers maps{{config.L, config.h, config.grid_height(), config.grid_width()}, {}};
    for (std::size_t l = 0; l < config.L; ++l) {
      for (std::size_t i = 0; i < config.h; ++i) {
        const Array map = inspect::attention_map(seen, l, i, query);
        maps.values.insert(maps.values.end(), map.data(), map.data() + map.size());
      }
    }
    const figures::Asker who{asker, query.patch, !config.mean_pooling};
    list.add(figures::attention_maps(maps, who));
    list.add(figures::attention_map(
        samples.pictures[0], numbers(inspect::attention_map(seen, layer, options.head, query)), who,
        whose));
    const Array& probs = seen.probs[layer];  // (1, h, T, T)
    const std::size_t T = config.T();
    Numbers matrix{{T, T}, std::vector<double>(T * T, 0.0)};
    const std::size_t first = options.head.value_or(0);
    const std::size_t last = options.head ? first + 1 : config.h;
    for (std::size_t i = first; i < last; ++i) {
      for (std::size_t j = 0; j < T * T; ++j) {
        matrix.values[j] += probs.data()[i * T * T + j] / static_cast<double>(last - first);
      }
    }
    list.add(figures::attention_matrix(matrix, whose, !config.mean_pooling));
  }
  for (Numbers* sum : {&heads.distance, &heads.on_class_token, &heads.entropy, &heads.saturated}) {
    divide(*sum, samples.inputs.size());
  }
  list.add(figures::attention_distance(heads, samples.inputs.size()));
  list.add(figures::attention_entropy(heads, config.T()));
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
