#include "vitruvian/charts/colours.hpp"

#include "vitruvian/core/base/error.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

namespace vitruvian {
namespace {

#include "vitruvian/charts/colour_table.inc"

// Six hexadecimal digits a colour, evenly spaced, straight lines in between.
Colour looked_up(std::string_view table, double place) {
  const auto channel = [table](std::size_t i, std::size_t c) {
    const auto digit = [&](std::size_t at) {
      const char d = table[6 * i + 2 * c + at];
      return d <= '9' ? d - '0' : d - 'a' + 10;
    };
    return 16 * digit(0) + digit(1);
  };
  const std::size_t last = table.size() / 6 - 1;
  const double x = place * static_cast<double>(last);
  const auto i = std::min(static_cast<std::size_t>(x), last - 1);
  const double t = x - static_cast<double>(i);
  const auto between = [&](std::size_t c) {
    return static_cast<std::uint8_t>(std::lround((1 - t) * channel(i, c) + t * channel(i + 1, c)));
  };
  return {between(0), between(1), between(2)};
}

}  // namespace

Colour colour_at(ColourMap map, double place) {
  if (std::isnan(place)) return {128, 128, 128};
  place = std::clamp(place, 0.0, 1.0);
  if (map == ColourMap::viridis) return looked_up(viridis_table, place);
  if (map == ColourMap::blue_red) return looked_up(blue_red_table, place);
  const auto level = static_cast<std::uint8_t>(std::lround(255 * place));
  return {level, level, level};
}

double Range::place(double value) const {
  if (std::isnan(value)) return value;
  return high > low ? (value - low) / (high - low) : 0.5;
}

Range range_of(const std::vector<double>& values) {
  Range range{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    range.low = std::min(range.low, value);
    range.high = std::max(range.high, value);
  }
  return range.low <= range.high ? range : Range{};
}

Range symmetric_range_of(const std::vector<double>& values) {
  double most = 0;
  for (const double value : values) {
    if (std::isfinite(value)) most = std::max(most, std::abs(value));
  }
  return most > 0 ? Range{-most, most} : Range{-1, 1};
}

Image coloured(const Matrix& matrix, ColourMap map, Range range) {
  if (matrix.values.size() != matrix.rows * matrix.columns) {
    fail("coloured: {} numbers for {} x {}", matrix.values.size(), matrix.rows, matrix.columns);
  }
  Image image{matrix.rows, matrix.columns, 3, {}};
  image.pixels.reserve(3 * matrix.values.size());
  for (const double value : matrix.values) {
    const Colour colour = colour_at(map, range.place(value));
    image.pixels.insert(image.pixels.end(), {colour.r, colour.g, colour.b});
  }
  return image;
}

}  // namespace vitruvian
