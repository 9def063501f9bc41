#include "vitruvian/report/figures.hpp"
#include "vitruvian/core/base/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace vitruvian::figures {
namespace {

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

Image similarity_picture(const Numbers& similarity) {
  return tiled(grids_of(similarity, ColourMap::blue_red, symmetric_range_of(of_others(similarity))),
               similarity.shape[1]);
}

Image picture_at(const Numbers& maps, std::size_t i) {
  const std::size_t size = size_of(maps.shape, 1);
  const double* const begin = maps.values.data() + i * size;
  const Matrix map{maps.shape.at(1), maps.shape.at(2), {begin, begin + size}};
  return coloured(map, ColourMap::viridis, {0, range_of(map.values).high});
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
       json_file("position_similarity", dump_json(Json{{"line", line}, {"rest", rest}}))},
      tiled(grids_of(similarity, ColourMap::viridis, range_of(of_others(similarity))), shape[1]),
      means};
}

}  // namespace vitruvian::figures
