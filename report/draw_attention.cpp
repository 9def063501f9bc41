#include "vitruvian/core/base/json.hpp"
#include "vitruvian/report/draw.hpp"
#include "vitruvian/report/figures.hpp"
#include "vitruvian/vit/inspect/inspect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
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

// Whose attention it is, and the frame of the patch that asks in a picture of the image's patches.
struct Asker {
  std::string name;
  std::optional<std::size_t> patch;
  std::size_t rows, columns;  // of patches

  [[nodiscard]] std::optional<Box> frame_in(const Image& image) const {
    if (!patch) return {};
    const std::size_t height = image.height / rows;
    const std::size_t width = image.width / columns;
    return Box{*patch / columns * height, *patch % columns * width, height, width};
  }
  [[nodiscard]] const char* says_frame() const {
    return patch ? " The patch that asks has a frame." : "";
  }
};

// What is no patch.
std::string others(const ViTConfig& config) {
  return config.first_patch() == 1 && config.registers == 0 ? "the class token"
                                                            : "tokens that are no patches";
}

Matrix matrix_of(const Numbers& numbers) {
  return {numbers.shape.at(0), numbers.shape.at(1), numbers.values};
}

// `image` where the map is 1, a quarter as bright where it is 0. The map's cells divide the image.
Image lit(const Image& image, const Matrix& map, Range range) {
  Image result = in_rgb(image);
  for (std::size_t y = 0; y < image.height; ++y) {
    for (std::size_t x = 0; x < image.width; ++x) {
      const std::size_t row = y * map.rows / image.height;
      const std::size_t column = x * map.columns / image.width;
      const double place =
          std::clamp(range.place(map.values[row * map.columns + column]), 0.0, 1.0);
      for (std::size_t c = 0; c < 3; ++c) {
        std::uint8_t& pixel = result.pixels[(y * image.width + x) * 3 + c];
        pixel = static_cast<std::uint8_t>(std::lround(pixel * (0.25 + 0.75 * place)));
      }
    }
  }
  return result;
}

// What one image's attention shows: the maps of every head, one map over the image, all queries.
void draw_maps(const inspect::Attention& seen, const ViTConfig& config, const Samples& samples,
               const InspectOptions& options, FigureList& list) {
  const std::size_t layer = options.layer.value_or(config.L - 1);
  inspect::Query query{options.query};
  if (!query.patch && config.mean_pooling) {
    query.patch = config.grid_height() / 2 * config.grid_width() + config.grid_width() / 2;
  }
  const Asker asker{query.patch ? fmt::format("patch {}", *query.patch) : "the class token",
                    query.patch, config.grid_height(), config.grid_width()};
  const std::string whose =
      fmt::format("layer {}, {}", layer,
                  options.head ? fmt::format("head {}", *options.head) : "mean of its heads");

  const std::size_t L = config.L, h = config.h;
  Numbers maps{{L * h, asker.rows, asker.columns}, {}};
  ImageGrid grid{"Attention of " + asker.name, "head", "layer"};
  for (std::size_t i = 0; i < L * h; ++i) {
    const Array map = inspect::attention_map(seen, i / h, i % h, query);
    maps.values.insert(maps.values.end(), map.data(), map.data() + map.size());
    grid.images.push_back(figures::picture_at(maps, i));
  }
  maps.shape = {L, h, asker.rows, asker.columns};
  grid.marked = asker.frame_in(grid.images[0]);
  grid.columns = grid.x_count = h;
  grid.y_count = L;
  grid.width = std::clamp(880 / static_cast<double>(h), 24.0, 84.0);
  grid.bar = {ColourMap::viridis, {0, 1}, "share of the largest"};
  list.add(
      {"attention_maps",
       "Attention of every head",
       "The attention of " + asker.name +
           " to the patches of the first image, in every layer and head, each map scaled by its "
           "own largest share." +
           asker.says_frame() + " The numbers are the shares, (L, h, H / P, W / P).",
       {{{std::move(grid)}}},
       {npy_file("attention_maps", maps)}});

  const Numbers map = numbers(inspect::attention_map(seen, layer, options.head, query));
  const Matrix of_map = matrix_of(map);
  const Range range{0, std::max(range_of(of_map.values).high, 1e-12)};
  const Image& image = samples.pictures[0];
  const Image small = coloured(of_map, ColourMap::viridis, range);
  const auto shown_as = [&](const char* title, const Image& picture,
                            std::optional<ColourBar> bar = {}) {
    return ImageGrid{.title = title,
                     .images = {picture},
                     .width = 240,
                     .bar = std::move(bar),
                     .marked = asker.frame_in(picture)};
  };
  list.add(
      {"attention_map",
       "Attention over the image",
       "Attention of " + asker.name + ", " + whose + ", beside the image and as its light." +
           asker.says_frame() +
           (config.first_patch() != 0 ? fmt::format(" What goes to {} is missing.", others(config))
                                      : ""),
       {{{shown_as("Image", image), shown_as("Lit by attention", lit(image, of_map, range)),
          shown_as("Share of attention", small, ColourBar{ColourMap::viridis, range, "share"})}}},
       {npy_file("attention_map", map)},
       small});

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
  const std::string place = config.first_patch() == 0 ? ""
                            : config.first_patch() == 1 && config.registers == 0
                                ? " (0 is the class token)"
                                : fmt::format(" (patches from {} on)", config.first_patch());
  ImageGrid square = heat_map(matrix_of(matrix), "Attention of " + whose,
                              {ColourMap::viridis, range_of(matrix.values), "share"});
  square.x_label = "key" + place;
  square.y_label = "query" + place;
  list.add(
      {"attention_matrix",
       "All queries of one head",
       "The attention of " + whose + ": a row for each query, which sums to 1, in the first image.",
       {{{std::move(square)}}},
       {npy_file("attention_matrix", matrix)}});
}

}  // namespace

void draw_attention(const VisionTransformer& model, const Samples& samples,
                    const InspectOptions& options, FigureList& list) {
  const ViTConfig& config = model.config;
  const std::size_t images = samples.inputs.size();
  const std::size_t L = config.L, h = config.h, T = config.T();
  const bool all_patches = config.first_patch() == 0;
  const std::string no_patches = others(config);
  Numbers distance, on_class_token, entropy, saturated;  // (L, h), each
  for (std::size_t b = 0; b < images; ++b) {
    const inspect::Attention seen = inspect::attention(model, samples.inputs[b]);
    const inspect::Heads of_image = inspect::heads(seen);
    add_to(distance, of_image.distance);
    if (!all_patches) add_to(on_class_token, of_image.on_class_token);
    add_to(entropy, of_image.entropy);
    add_to(saturated, of_image.saturated);
    if (b == 0) draw_maps(seen, config, samples, options, list);
  }
  for (Numbers* sum : {&distance, &on_class_token, &entropy, &saturated}) divide(*sum, images);

  Series dots{"a head", {}, {}, Mark::dots};
  Series mean{"mean of heads"};
  std::string words;
  for (std::size_t l = 0; l < L; ++l) {
    const auto begin = distance.values.begin() + static_cast<std::ptrdiff_t>(l * h);
    const std::vector<double> row(begin, begin + static_cast<std::ptrdiff_t>(h));
    const Range range = range_of(row);
    dots.x.insert(dots.x.end(), h, static_cast<double>(l));
    dots.y.insert(dots.y.end(), row.begin(), row.end());
    mean.x.push_back(static_cast<double>(l));
    mean.y.push_back(std::accumulate(row.begin(), row.end(), 0.0) / static_cast<double>(h));
    words += fmt::format("layer {:>2}: {:.1f} to {:.1f} pixels\n", l, range.low, range.high);
  }
  Chart chart{"Mean attention distance", "layer", "pixels", {mean, dots}};
  chart.from_zero = chart.whole_x = true;
  list.add(
      {"attention_distance",
       "Attention distance",
       fmt::format("How far each head looks: the attention-weighted distance between patch "
                   "centres, in pixels, averaged over queries and {} (Figure 7, right; "
                   "Figure 11).{}",
                   counted(images, "image"),
                   all_patches
                       ? ""
                       : fmt::format(" Left out as queries and as keys, being nowhere: {}. What is "
                                     "left is brought back to a sum of 1.",
                                     no_patches)),
       {{{chart}}},
       {json_file("attention_distance",
                  dump_json(Json{{"unit", "pixels"}, {"images", images}, {"layers", distance}}))},
       {},
       words});

  const auto from_zero = [](const Numbers& shares) {
    return Range{0, std::max(range_of(shares.values).high, 0.01)};
  };
  const double most = std::log(static_cast<double>(T));
  const auto map = [&](const Numbers& shares, const char* title, const char* bar, Range range) {
    ImageGrid grid = heat_map(matrix_of(shares), title, {ColourMap::viridis, range, bar}, 220);
    grid.x_label = "head";
    grid.y_label = "layer";
    return grid;
  };
  std::vector<Drawing::Panel> maps{
      map(entropy, "Entropy", "nats", {0, most}),
      map(saturated, "Saturated queries", "share", from_zero(saturated))};
  Json json{{"entropy", entropy}};
  if (!all_patches) {
    const std::string title = "On " + no_patches;
    maps.insert(maps.begin() + 1,
                map(on_class_token, title.c_str(), "share", from_zero(on_class_token)));
    json["on_class_token"] = on_class_token;
  }
  json["saturated"] = saturated;
  list.add({"attention_entropy",
            "What heads do",
            fmt::format(
                "Of every head: the entropy of its attention in nats (0 looks at one token, "
                "log {} = {:.2f} at all alike), {}and the share of queries that give one "
                "token more than 0.99.",
                T, most,
                all_patches ? "" : fmt::format("the share that patches give to {}, ", no_patches)),
            {{std::move(maps)}},
            {json_file("attention_entropy", dump_json(json))}});
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
