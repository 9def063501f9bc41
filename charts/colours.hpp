#pragma once

#include "vitruvian/media/image.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

// From numbers to colours. Both maps are perceptually even and can be told apart by the
// colour-blind.

namespace vitruvian {

struct Colour {
  std::uint8_t r = 0, g = 0, b = 0;
  friend bool operator==(const Colour&, const Colour&) = default;
};

enum class ColourMap {
  viridis,   ///< for magnitudes: dark blue is least, yellow most (matplotlib's)
  blue_red,  ///< for signed numbers: white in the middle (ColorBrewer's RdBu, turned around)
  grey,      ///< for pixels: black is least
};

/// `place` in [0, 1], clamped; grey 128, which no map holds but `grey`, for NaN.
Colour colour_at(ColourMap map, double place);

/// Where a colour map begins and ends.
struct Range {
  double low = 0, high = 1;
  /// In [0, 1] for what lies inside. An empty range has everything in its middle.
  [[nodiscard]] double place(double value) const;
};

/// From the least to the largest finite value; [0, 1] where there is none.
Range range_of(const std::vector<double>& values);
/// From -m to m for the largest finite |value| m, as blue_red wants it.
Range symmetric_range_of(const std::vector<double>& values);

/// Numbers in rows, the first on top.
struct Matrix {
  std::size_t rows = 0, columns = 0;
  std::vector<double> values;        // (rows, columns)
  std::size_t across = 1, down = 1;  // so many pictures are laid out in it, with gaps of NaN
};

/// One pixel a number.
Image coloured(const Matrix& matrix, ColourMap map, Range range);

}  // namespace vitruvian
