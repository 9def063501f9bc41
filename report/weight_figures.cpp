#include "vitruvian/report/figures.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

// The figures of what can be read off the weights.

namespace vitruvian::figures {
namespace {

using Json = nlohmann::ordered_json;

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
ImageGrid filter_grid(std::string title, const Numbers& filters, std::size_t most,
                      std::size_t columns, double width) {
  ImageGrid grid{std::move(title)};
  const auto& shape = filters.shape;
  for (std::size_t i = 0; i < std::min(most, shape[0]); ++i) {
    const double* const filter = filters.values.data() + i * size_of(shape, 1);
    grid.images.push_back(filter_picture(filter, shape[1], shape[2], shape[3]));
  }
  grid.columns = columns;
  grid.width = width;
  return grid;
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

// A grid for each patch.
std::vector<Image> grids_of(const Numbers& similarity, ColourMap map, Range range) {
  const auto& shape = similarity.shape;
  const std::size_t N = shape[0] * shape[1];
  std::vector<Image> grids;
  for (std::size_t i = 0; i < N; ++i) {
    const auto begin = similarity.values.begin() + static_cast<std::ptrdiff_t>(i * N);
    const Matrix grid{shape[0], shape[1], {begin, begin + static_cast<std::ptrdiff_t>(N)}};
    grids.push_back(coloured(grid, map, range));
  }
  return grids;
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
  ImageGrid whole{fmt::format("Image, {} x {}", image.height, image.width)};
  whole.images = {image};
  whole.width = 220;
  ImageGrid cut{fmt::format("{} patches of {} x {} pixels", shape[0], shape[2], shape[3]), "column",
                "row"};
  for (std::size_t n = 0; n < shape[0]; ++n) {
    const double* const patch = patches.values.data() + n * size_of(shape, 1);
    cut.images.push_back(picture_of(patch, shape[1], shape[2], shape[3], mean, std));
  }
  cut.columns = cut.x_count = grid_width;
  cut.y_count = shape[0] / grid_width;
  cut.width = std::clamp(220 / static_cast<double>(grid_width), 14.0, 60.0);
  return {
      "patches",
      "Patches",
      "The first image and its patches as the model takes them: cut in raster order, row by row "
      "from the upper left. The numbers are the normalised pixels, (N, C, P, P).",
      {{{std::move(whole), std::move(cut)}}},
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
          {{{filter_grid(title, filters, shown, 16, 40)}}},
          {npy_file("filters", filters)}};
}

Figure filter_components(const Numbers& components, const std::vector<double>& variances,
                         double total) {
  const std::size_t count = components.shape[0];
  const double explained =
      total > 0 ? std::accumulate(variances.begin(), variances.end(), 0.0) / total : 0;
  std::vector<double> n(count);
  std::iota(n.begin(), n.end(), 1.0);
  std::vector<double> shares;
  for (const double v : variances) shares.push_back(total > 0 ? v / total : 0);
  Chart bars{"Their share of the variance", "component", "", {{"", n, shares, Mark::bars}}};
  bars.whole_x = bars.percent = true;
  return {
      "filter_components",
      "Principal components of the filters",
      fmt::format("The directions in which the embedding filters differ most (Figure 7, left): "
                  "together {:.1f} % of their variance. Smooth, frequency-like patterns show "
                  "that the embedding has learned; noise that it is as it was drawn.",
                  100 * explained),
      {{{filter_grid(fmt::format("Principal components 1 to {}", count), components, count, 7, 60)},
        {std::move(bars)}}},
      {npy_file("filter_components", components),
       json_file("filter_components", Json{{"variances", variances}, {"total", total}})}};
}

Image similarity_picture(const Numbers& similarity) {
  return tiled(grids_of(similarity, ColourMap::blue_red, symmetric_range_of(of_others(similarity))),
               similarity.shape[1]);
}

Figure position_similarity(const Numbers& similarity, double line, double rest) {
  const auto& shape = similarity.shape;
  ImageGrid grid{"Cosine of each patch's position embedding with all others'", "patch column",
                 "patch row"};
  const Range range = symmetric_range_of(of_others(similarity));
  grid.images = grids_of(similarity, ColourMap::blue_red, range);
  grid.width = 360 / static_cast<double>(shape[1]);
  grid.columns = grid.x_count = shape[1];
  grid.y_count = shape[0];
  grid.bar = {ColourMap::blue_red, range, "cosine"};
  const std::string means = fmt::format(
      "mean cosine {:.3f} to patches of the same row or column, {:.3f} to the rest", line, rest);
  return {
      "position_similarity",
      "Position similarity",
      "Each small grid is one patch, and shows the cosine of its position embedding with every "
      "patch's (Figure 7, centre); with itself it is 1, which may be beyond the bar. Here: " +
          means + ".",
      {{{std::move(grid)}}},
      {npy_file("position_similarity", similarity),
       json_file("position_similarity", Json{{"line", line}, {"rest", rest}})},
      tiled(grids_of(similarity, ColourMap::viridis, range_of(of_others(similarity))), shape[1]),
      means};
}

}  // namespace vitruvian::figures
