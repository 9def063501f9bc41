#include "vitruvian/report/figures.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>

// The figures of attention, and of what explains an output.

namespace vitruvian::figures {
namespace {

using Json = nlohmann::ordered_json;

// Entry i of the first axis as a matrix: of the last two axes of all the rest.
Matrix matrix_at(const Numbers& numbers, std::size_t i) {
  const std::size_t rank = numbers.shape.size();
  const std::size_t columns = numbers.shape[rank - 1];
  const std::size_t size = size_of(numbers.shape, 1);
  const double* const begin = numbers.values.data() + i * size;
  return {size / columns, columns, {begin, begin + size}};
}

Matrix matrix_of(const Numbers& numbers) {
  return {numbers.shape.at(0), numbers.shape.at(1), numbers.values};
}

// A map by its own largest number.
Image by_itself(const Matrix& map) {
  return coloured(map, ColourMap::viridis, {0, range_of(map.values).high});
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

// The frame of the patch that asks, in a picture that shows the map's patches.
std::optional<Box> frame_of(const Asker& asker, const Image& image, const Matrix& map) {
  if (!asker.patch) return {};
  const std::size_t height = image.height / map.rows;
  const std::size_t width = image.width / map.columns;
  return Box{*asker.patch / map.columns * height, *asker.patch % map.columns * width, height,
             width};
}

}  // namespace

Figure attention_distance(const HeadNumbers& heads, std::size_t images) {
  const std::size_t L = heads.distance.shape[0];
  const std::size_t h = heads.distance.shape[1];
  Series dots{"a head", {}, {}, Mark::dots};
  Series mean{"mean of heads"};
  std::string words;
  for (std::size_t l = 0; l < L; ++l) {
    const auto row = matrix_at(heads.distance, l).values;
    const Range range = range_of(row);
    dots.x.insert(dots.x.end(), h, static_cast<double>(l));
    dots.y.insert(dots.y.end(), row.begin(), row.end());
    mean.x.push_back(static_cast<double>(l));
    mean.y.push_back(std::accumulate(row.begin(), row.end(), 0.0) / static_cast<double>(h));
    words += fmt::format("layer {:>2}: {:.1f} to {:.1f} pixels\n", l, range.low, range.high);
  }
  Chart chart{"Mean attention distance", "layer", "pixels", {mean, dots}};
  chart.from_zero = chart.whole_x = true;
  return {"attention_distance",
          "Attention distance",
          fmt::format("How far each head looks: the attention-weighted distance between patch "
                      "centres, in pixels, averaged over queries and {} image{} (Figure 7, right; "
                      "Figure 11).{}",
                      images, images == 1 ? "" : "s",
                      heads.on_class_token.values.empty()
                          ? ""
                          : " The class token, which is nowhere, is left out as query and as key, "
                            "and what is left is brought back to a sum of 1."),
          {{{chart}}},
          {json_file("attention_distance",
                     Json{{"unit", "pixels"}, {"images", images}, {"layers", heads.distance}})},
          {},
          words};
}

Figure attention_entropy(const HeadNumbers& heads, std::size_t tokens) {
  const auto from_zero = [](const Numbers& shares) {
    return Range{0, std::max(range_of(shares.values).high, 0.01)};
  };
  const double most = std::log(static_cast<double>(tokens));
  const auto map = [&](const Numbers& numbers, const char* title, const char* bar, Range range) {
    ImageGrid grid = heat_map(matrix_of(numbers), title, {ColourMap::viridis, range, bar}, 220);
    grid.x_label = "head";
    grid.y_label = "layer";
    return grid;
  };
  const bool class_token = !heads.on_class_token.values.empty();
  std::vector<Drawing::Panel> maps{
      map(heads.entropy, "Entropy", "nats", {0, most}),
      map(heads.saturated, "Saturated queries", "share", from_zero(heads.saturated))};
  Json json{{"entropy", heads.entropy}};
  if (class_token) {
    maps.insert(maps.begin() + 1, map(heads.on_class_token, "On the class token", "share",
                                      from_zero(heads.on_class_token)));
    json["on_class_token"] = heads.on_class_token;
  }
  json["saturated"] = heads.saturated;
  return {"attention_entropy",
          "What heads do",
          fmt::format("Of every head: the entropy of its attention in nats (0 looks at one token, "
                      "log {} = {:.2f} at all alike), {}and the share of queries that give one "
                      "token more than 0.99.",
                      tokens, most,
                      class_token ? "the share that patches give to the class token, " : ""),
          {{std::move(maps)}},
          {json_file("attention_entropy", json)}};
}

Figure attention_maps(const Numbers& maps, const Asker& asker) {
  const std::string& query = asker.name;
  const auto& shape = maps.shape;
  ImageGrid grid{"Attention of " + query, "head", "layer"};
  const Numbers flat{{shape[0] * shape[1], shape[2], shape[3]}, maps.values};
  for (std::size_t i = 0; i < flat.shape[0]; ++i) {
    grid.images.push_back(by_itself(matrix_at(flat, i)));
  }
  grid.marked = frame_of(asker, grid.images.at(0), matrix_at(flat, 0));
  grid.columns = grid.x_count = shape[1];
  grid.y_count = shape[0];
  grid.width = std::clamp(880 / static_cast<double>(shape[1]), 24.0, 84.0);
  grid.bar = {ColourMap::viridis, {0, 1}, "share of the largest"};
  return {"attention_maps",
          "Attention of every head",
          "The attention of " + query +
              " to the patches of the first image, in every layer and head, each map scaled by its "
              "own largest share." +
              (asker.patch ? " The patch that asks has a frame." : "") +
              " The numbers are the shares, (L, h, H / P, W / P).",
          {{{std::move(grid)}}},
          {npy_file("attention_maps", maps)}};
}

Figure attention_map(const Image& image, const Numbers& map, const Asker& asker,
                     const std::string& which) {
  const Matrix matrix = matrix_of(map);
  const Range range{0, std::max(range_of(matrix.values).high, 1e-12)};
  const Image small = coloured(matrix, ColourMap::viridis, range);
  const auto grid = [&](const char* title, const Image& shown, std::optional<ColourBar> bar = {}) {
    return ImageGrid{.title = title,
                     .images = {shown},
                     .width = 240,
                     .bar = std::move(bar),
                     .marked = frame_of(asker, shown, matrix)};
  };
  return {"attention_map",
          "Attention over the image",
          "Attention of " + asker.name + ", " + which + ", beside the image and as its light." +
              (asker.patch ? " The patch that asks has a frame." : "") +
              (asker.class_token ? " What goes to the class token is missing." : ""),
          {{{grid("Image", image), grid("Lit by attention", lit(image, matrix, range)),
             grid("Share of attention", small, ColourBar{ColourMap::viridis, range, "share"})}}},
          {npy_file("attention_map", map)},
          small};
}

Figure attention_matrix(const Numbers& matrix, const std::string& which, bool class_token) {
  const std::string first = class_token ? " (0 is the class token)" : "";
  ImageGrid grid = heat_map(matrix_of(matrix), "Attention of " + which,
                            {ColourMap::viridis, range_of(matrix.values), "share"});
  grid.x_label = "key" + first;
  grid.y_label = "query" + first;
  return {
      "attention_matrix",
      "All queries of one head",
      "The attention of " + which + ": a row for each query, which sums to 1, in the first image.",
      {{{std::move(grid)}}},
      {npy_file("attention_matrix", matrix)}};
}

Figure explanations(const std::vector<Image>& images, const std::vector<std::string>& labels,
                    const std::vector<Explained>& columns, const std::string& text) {
  ImageGrid grid{"What the output comes from"};
  Image small;
  grid.x_names = {"image"};
  for (const Explained& column : columns) grid.x_names.push_back(column.title);
  grid.y_names = labels;
  for (std::size_t b = 0; b < images.size(); ++b) {
    grid.images.push_back(images[b]);
    for (const Explained& column : columns) {
      grid.images.push_back(by_itself(matrix_at(column.maps, b)));
      if (small.pixels.empty()) small = grid.images.back();
    }
  }
  grid.columns = columns.size() + 1;
  grid.width = 110;
  grid.bar = {ColourMap::viridis, {0, 1}, "share of each map's largest"};
  std::vector<Figure::File> files;
  for (const Explained& column : columns) files.push_back(npy_file(column.name, column.maps));
  files.push_back(json_file("explanations", Json{{"images", labels}}));
  return {
      "explanations", "What the output comes from", text, {{{std::move(grid)}}}, std::move(files),
      small};
}

}  // namespace vitruvian::figures
