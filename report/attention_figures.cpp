#include "report/figure_parts.hpp"
#include "report/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

// The figures of attention, and of what explains an output.

namespace vitruvian::figures {
namespace {

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

// Enlarged, so that the map's cells are whole squares and the picture as large as `image` enlarged
// by `scale`.
Image map_as_large_as(const Matrix& map, Range range, const Image& image, std::size_t scale) {
  const std::size_t cell = std::max<std::size_t>(image.height * scale / map.rows, 1);
  return enlarged(coloured(map, ColourMap::viridis, range), cell);
}

// The picture of a grid of patches, with one of them in a frame; nothing is marked for the class
// token.
Image marked(Image picture, const Matrix& grid, const std::optional<std::size_t>& patch) {
  if (!patch) return picture;
  const std::size_t height = picture.height / grid.rows;
  const std::size_t width = picture.width / grid.columns;
  const std::size_t line = std::clamp<std::size_t>(std::min(height, width) / 8, 1, 4);
  Canvas canvas(picture.width, picture.height);
  canvas.picture(0, 0, picture);
  constexpr Colour red{230, 40, 40};
  const std::size_t x = *patch % grid.columns * width + line;
  const std::size_t y = *patch / grid.columns * height + line;
  const auto thick = static_cast<double>(line);  // a patch may be narrower than its frame
  canvas.frame(static_cast<double>(x), static_cast<double>(y),
               static_cast<double>(width) - 2 * thick, static_cast<double>(height) - 2 * thick, red,
               thick);
  return std::move(canvas).image();
}

}  // namespace

Figure attention_distance(const HeadNumbers& heads, std::size_t images) {
  const std::size_t L = heads.distance.shape[0];
  const std::size_t h = heads.distance.shape[1];
  Chart::Series dots{"a head", {}, {}, false};
  Chart::Series mean{"mean of heads", {}, {}, true};
  std::string words;
  for (std::size_t l = 0; l < L; ++l) {
    double sum = 0;
    Range range{1e300, 0};
    for (std::size_t i = 0; i < h; ++i) {
      const double value = heads.distance.values[l * h + i];
      dots.x.push_back(static_cast<double>(l));
      dots.y.push_back(value);
      sum += value;
      range = {std::min(range.low, value), std::max(range.high, value)};
    }
    mean.x.push_back(static_cast<double>(l));
    mean.y.push_back(sum / static_cast<double>(h));
    words += fmt::format("layer {:>2}: {:.1f} to {:.1f} pixels\n", l, range.low, range.high);
  }
  const Chart chart{"Mean attention distance", "layer", "pixels", {mean, dots}, {}, {}, true};
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
          drawn(chart),
          {{"attention_distance.json",
            fmt::format("{{\"unit\": \"pixels\", \"images\": {}, \"layers\": {}}}\n", images,
                        json_of(heads.distance))}},
          {},
          words};
}

Figure attention_entropy(const HeadNumbers& heads, std::size_t tokens) {
  const auto from_zero = [](const Numbers& shares) {
    return Range{0, std::max(range_of(shares.values).high, 0.01)};
  };
  const double most = std::log(static_cast<double>(tokens));
  const auto map = [&](const Numbers& numbers, const std::string& title, const std::string& bar,
                       std::optional<Range> range) {
    return drawn(
        HeatMap{matrix_of(numbers), title, "head", "layer", bar, ColourMap::viridis, range}, 360);
  };
  const bool class_token = !heads.on_class_token.values.empty();
  std::vector<Image> pictures{
      map(heads.entropy, "Entropy", "nats", Range{0, most}),
      map(heads.saturated, "Saturated queries", "share", from_zero(heads.saturated))};
  std::string json = "\"entropy\": " + json_of(heads.entropy);
  if (class_token) {
    pictures.insert(pictures.begin() + 1, map(heads.on_class_token, "On the class token", "share",
                                              from_zero(heads.on_class_token)));
    json += ", \"on_class_token\": " + json_of(heads.on_class_token);
  }
  return {"attention_entropy",
          "What heads do",
          fmt::format("Of every head: the entropy of its attention in nats (0 looks at one token, "
                      "log {} = {:.2f} at all alike), {}and the share of queries that give one "
                      "token more than 0.99.",
                      tokens, most,
                      class_token ? "the share that patches give to the class token, " : ""),
          tiled(pictures, pictures.size(), 10),
          {{"attention_entropy.json",
            fmt::format("{{{}, \"saturated\": {}}}\n", json, json_of(heads.saturated))}}};
}

Figure attention_maps(const Numbers& maps, const Asker& asker) {
  const std::string& query = asker.name;
  const auto& shape = maps.shape;
  const std::size_t cell = std::max<std::size_t>(76 / std::max(shape[2], shape[3]), 3);
  constexpr std::size_t gap = 6;
  std::vector<Image> tiles;
  const Numbers flat{{shape[0] * shape[1], shape[2], shape[3]}, maps.values};
  for (std::size_t i = 0; i < flat.shape[0]; ++i) {
    const Matrix map = matrix_at(flat, i);
    const double most = range_of(map.values).high;
    tiles.push_back(
        marked(enlarged(coloured(map, ColourMap::viridis, {0, most}), cell), map, asker.patch));
  }
  return {
      "attention_maps",
      "Attention of every head",
      "The attention of " + query +
          " to the patches of the first image, in every layer and head, each map scaled by its "
          "own largest share." +
          (asker.patch ? " The patch that asks has a frame." : "") +
          " The numbers are the shares, (L, h, H / P, W / P).",
      framed(tiled(tiles, shape[1], gap),
             {"Attention of " + query, "head", "layer", tile_ticks(shape[1], shape[3] * cell, gap),
              tile_ticks(shape[0], shape[2] * cell, gap),
              ColourBar{ColourMap::viridis, {0, 1}, "share of the largest"}}),
      {npy_file("attention_maps", maps)}};
}

Figure attention_map(const Image& image, const Numbers& map, const Asker& asker,
                     const std::string& which) {
  const Matrix matrix = matrix_of(map);
  const Range range{0, std::max(range_of(matrix.values).high, 1e-12)};
  const std::size_t scale = scale_to(320, image.height, image.width);
  const Image small = coloured(matrix, ColourMap::viridis, range);
  return {"attention_map",
          "Attention over the image",
          "Attention of " + asker.name + ", " + which + ", beside the image and as its light." +
              (asker.patch ? " The patch that asks has a frame." : "") +
              (asker.class_token ? " What goes to the class token is missing." : ""),
          tiled({titled(marked(in_rgb(enlarged(image, scale)), matrix, asker.patch), "Image"),
                 titled(marked(enlarged(lit(image, matrix, range), scale), matrix, asker.patch),
                        "Lit by attention"),
                 framed(marked(map_as_large_as(matrix, range, image, scale), matrix, asker.patch),
                        {"Share of attention",
                         "",
                         "",
                         {},
                         {},
                         ColourBar{ColourMap::viridis, range, "share"}})},
                3, 10),
          {npy_file("attention_map", map)},
          small};
}

Figure attention_matrix(const Numbers& matrix, const std::string& which, bool class_token) {
  const std::string first = class_token ? " (0 is the class token)" : "";
  return {
      "attention_matrix",
      "All queries of one head",
      "The attention of " + which + ": a row for each query, which sums to 1, in the first image.",
      drawn(HeatMap{matrix_of(matrix),
                    "Attention of " + which,
                    "key" + first,
                    "query" + first,
                    "share",
                    ColourMap::viridis,
                    {}}),
      {npy_file("attention_matrix", matrix)}};
}

Figure explanations(const std::vector<Image>& images, const std::vector<std::string>& labels,
                    const std::vector<Explained>& columns, const std::string& text) {
  const std::size_t scale = scale_to(200, images.at(0).height, images.at(0).width);
  std::vector<Image> tiles;
  Image small;
  for (std::size_t b = 0; b < images.size(); ++b) {
    tiles.push_back(enlarged(images[b], scale));
    for (const Explained& column : columns) {
      const Matrix map = matrix_at(column.maps, b);
      const Range range{0, range_of(map.values).high};
      tiles.push_back(map_as_large_as(map, range, images[b], scale));
      if (b == 0 && small.pixels.empty()) small = coloured(map, ColourMap::viridis, range);
    }
  }
  constexpr std::size_t gap = 14;
  std::vector<Tick> across;
  std::vector<Tick> down;
  const auto width = static_cast<double>(images.at(0).width * scale);
  const auto height = static_cast<double>(images.at(0).height * scale);
  for (std::size_t c = 0; c <= columns.size(); ++c) {
    across.push_back({static_cast<double>(c) * (width + gap) + width / 2,
                      c == 0 ? "image" : columns[c - 1].title});
  }
  for (std::size_t b = 0; b < images.size(); ++b) {
    down.push_back({static_cast<double>(b) * (height + gap) + height / 2, labels.at(b)});
  }
  std::vector<Figure::File> files;
  for (const Explained& column : columns) files.push_back(npy_file(column.name, column.maps));
  std::string rows;
  for (const std::string& label : labels) rows += (rows.empty() ? "" : ", ") + quoted(label);
  files.push_back({"explanations.json", "{\"images\": [" + rows + "]}\n"});
  return {"explanations",
          "What the output comes from",
          text,
          framed(tiled(tiles, columns.size() + 1, gap),
                 {"What the output comes from", "", "", across, down,
                  ColourBar{ColourMap::viridis, {0, 1}, "share of each map's largest"}}),
          std::move(files),
          small};
}

}  // namespace vitruvian::figures
