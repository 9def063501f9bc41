#include "report/figure_parts.hpp"
#include "report/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

// The figures of what can be read off the weights.

namespace vitruvian::figures {
namespace {

// A filter (C, P, P) with middle grey for 0, by its own largest entry. RGB for three channels, the
// channels' mean otherwise.
Image filter_picture(const double* filter, std::size_t C, std::size_t height, std::size_t width) {
  const std::size_t plane = height * width;
  const std::vector<double> values(filter, filter + C * plane);
  const Range range = symmetric_range_of(values);
  Image image{height, width, C == 3 ? std::size_t{3} : std::size_t{1}, {}};
  for (std::size_t i = 0; i < plane; ++i) {
    for (std::size_t c = 0; c < image.channels; ++c) {
      double value = values[c * plane + i];
      for (std::size_t more = 1; C != 3 && more < C; ++more) value += values[more * plane + i];
      if (C != 3) value /= static_cast<double>(C);
      image.pixels.push_back(colour_at(ColourMap::grey, range.place(value)).r);
    }
  }
  return image;
}

// The first `most` of (n, C, P, P), in rows.
Image filter_tiles(const Numbers& filters, std::size_t most, std::size_t columns,
                   std::size_t side) {
  const auto& shape = filters.shape;
  const std::size_t scale = std::max<std::size_t>(side / std::max(shape[2], shape[3]), 2);
  std::vector<Image> tiles;
  for (std::size_t i = 0; i < std::min(most, shape[0]); ++i) {
    const double* const filter = filters.values.data() + i * size_of(shape, 1);
    tiles.push_back(enlarged(filter_picture(filter, shape[1], shape[2], shape[3]), scale));
  }
  return tiled(tiles, columns, 8);
}

// Cosines of different patches: with itself a patch's is 1, and would leave no colours to the rest.
std::vector<double> of_others(const Numbers& similarity) {
  const std::size_t N = similarity.shape[0] * similarity.shape[1];
  std::vector<double> others;
  for (std::size_t i = 0; i < N * N; ++i) {
    if (i / N != i % N) others.push_back(similarity.values[i]);
  }
  return others;
}

// A grid for each patch, where that patch is.
Image grid_of_grids(const Numbers& similarity, ColourMap map, Range range, std::size_t cell,
                    std::size_t gap, Colour background) {
  const auto& shape = similarity.shape;
  const std::size_t N = shape[0] * shape[1];
  std::vector<Image> tiles;
  for (std::size_t i = 0; i < N; ++i) {
    const auto begin = similarity.values.begin() + static_cast<std::ptrdiff_t>(i * N);
    const Matrix grid{shape[0], shape[1], {begin, begin + static_cast<std::ptrdiff_t>(N)}};
    tiles.push_back(enlarged(coloured(grid, map, range), cell));
  }
  return tiled(tiles, shape[1], gap, background);
}

}  // namespace

Image picture_of(const double* pixels, std::size_t C, std::size_t H, std::size_t W,
                 const std::vector<double>& mean, const std::vector<double>& std) {
  Image image{H, W, C, std::vector<std::uint8_t>(C * H * W)};
  for (std::size_t c = 0; c < C; ++c) {
    for (std::size_t i = 0; i < H * W; ++i) {
      const double value = 255 * (pixels[c * H * W + i] * std.at(c) + mean.at(c));
      image.pixels[i * C + c] =
          static_cast<std::uint8_t>(std::lround(std::clamp(value, 0.0, 255.0)));
    }
  }
  return image;
}

Figure patches(const Image& image, const Numbers& patches, std::size_t grid_width,
               const std::vector<double>& mean, const std::vector<double>& std) {
  const auto& shape = patches.shape;
  const std::size_t scale = scale_to(448, image.height, image.width);
  std::vector<Image> tiles;
  for (std::size_t n = 0; n < shape[0]; ++n) {
    const double* const patch = patches.values.data() + n * size_of(shape, 1);
    tiles.push_back(enlarged(picture_of(patch, shape[1], shape[2], shape[3], mean, std), scale));
  }
  constexpr std::size_t gap = 8;
  const std::size_t grid_height = shape[0] / grid_width;
  const Frame around{
      fmt::format("{} patches of {} x {} pixels, in raster order", shape[0], shape[2], shape[3]),
      "column", "row", tile_ticks(grid_width, shape[3] * scale, gap),
      tile_ticks(grid_height, shape[2] * scale, gap)};
  const Image cut = framed(tiled(tiles, grid_width, gap), around);
  const Image whole =
      titled(enlarged(image, scale), fmt::format("Image, {} x {}", image.height, image.width));
  return {
      "patches",
      "Patches",
      "The first image and its patches as the model takes them: cut in raster order, row by row "
      "from the upper left. The numbers are the normalised pixels, (N, C, P, P).",
      tiled({whole, cut}, 2, 20),
      {npy_file("patches", patches)},
      image};
}

Figure filters(const Numbers& filters) {
  const std::size_t shown = std::min<std::size_t>(filters.shape[0], 128);
  const std::string title =
      shown == filters.shape[0]
          ? fmt::format("All {} embedding filters", shown)
          : fmt::format("The first {} of {} embedding filters", shown, filters.shape[0]);
  return {"filters",
          "Embedding filters",
          "The rows of E as pictures: what entry d of a token is large for. Middle grey is 0; each "
          "filter is scaled by its own largest entry.",
          titled(filter_tiles(filters, shown, 16, 48), title),
          {npy_file("filters", filters)}};
}

Figure filter_components(const Numbers& components, const std::vector<double>& variances,
                         double total) {
  const std::size_t count = components.shape[0];
  const double explained =
      total > 0 ? std::accumulate(variances.begin(), variances.end(), 0.0) / total : 0;
  const Image tiles = titled(filter_tiles(components, count, 7, 64),
                             fmt::format("Principal components 1 to {}", count));
  std::vector<double> n(count);
  std::iota(n.begin(), n.end(), 1.0);
  std::vector<double> shares;
  for (const double v : variances) shares.push_back(total > 0 ? 100 * v / total : 0);
  const Image bars = drawn(
      Chart{"Their share of the variance", "component", "percent", {{"", n, shares}}, {}, {}, true},
      420, 280);
  return {"filter_components",
          "Principal components of the filters",
          fmt::format("The directions in which the embedding filters differ most (Figure 7, left): "
                      "together {:.1f} % of their variance. Smooth, frequency-like patterns show "
                      "that the embedding has learned; noise that it is as it was drawn.",
                      100 * explained),
          tiled({tiles, bars}, 2, 20),
          {npy_file("filter_components", components),
           {"filter_components.json", fmt::format("{{\"variances\": {}, \"total\": {:.9g}}}\n",
                                                  json_list(variances), total)}}};
}

Image similarity_picture(const Numbers& similarity, std::size_t cell, std::size_t gap) {
  const Range range = symmetric_range_of(of_others(similarity));
  return grid_of_grids(similarity, ColourMap::blue_red, range, cell, gap, white);
}

Figure position_similarity(const Numbers& similarity, double line, double rest) {
  const auto& shape = similarity.shape;
  const std::size_t cell = scale_to(700, shape[0] * shape[0], shape[1] * shape[1]);
  const std::size_t gap = std::max<std::size_t>(2 * cell / 3, 3);
  const Image picture = framed(
      similarity_picture(similarity, cell, gap),
      {"Cosine of each patch's position embedding with all others'", "patch column", "patch row",
       tile_ticks(shape[1], shape[1] * cell, gap), tile_ticks(shape[0], shape[0] * cell, gap),
       ColourBar{ColourMap::blue_red, symmetric_range_of(of_others(similarity)), "cosine"}});
  const std::string means = fmt::format(
      "mean cosine {:.3f} to patches of the same row or column, {:.3f} to the rest", line, rest);
  return {
      "position_similarity",
      "Position similarity",
      "Each small grid is one patch, and shows the cosine of its position embedding with every "
      "patch's (Figure 7, centre); with itself it is 1, which may be beyond the bar. Here: " +
          means + ".",
      picture,
      {npy_file("position_similarity", similarity),
       {"position_similarity.json",
        fmt::format("{{\"line\": {}, \"rest\": {}}}\n", json_number(line), json_number(rest))}},
      grid_of_grids(similarity, ColourMap::viridis, range_of(of_others(similarity)), 1, 1, black),
      means};
}

}  // namespace vitruvian::figures
