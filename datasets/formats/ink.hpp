#pragma once

#include <array>
#include <cstddef>
#include <vector>

// From the path of a pen to the grey pixels of a digit, sized and centred as MNIST's are: for the
// drawn digits, and for what somebody draws by hand.

namespace vitruvian {

/// Where a pen is, in pixels: x to the right, y down; and how far its ink reaches.
struct InkPoint {
  double x = 0, y = 0, radius = 0;
};
/// One movement of the pen, as straight pieces. A path of one point is a dot.
using InkPath = std::vector<InkPoint>;

/// 28 x 28 grey levels, 0 paper and 1 ink.
struct InkCanvas {
  static constexpr std::size_t side = 28;
  std::array<float, side * side> levels{};

  /// The level of a pixel; paper outside.
  [[nodiscard]] float at(int row, int column) const;
};

/// Scales and moves the paths so that their ink fills a box of 20 x 20 in the middle, in its longer
/// direction, and returns the scale. The pen, whose radius is below 10, stays as thick as it was. A
/// dot is only moved.
double fit_to_box(std::vector<InkPath>& paths);

/// Inks every piece as a capsule, grey over `softness` pixels at its edge.
InkCanvas inked(const std::vector<InkPath>& paths, float softness);

/// The shift by whole pixels that brings the centre of mass to the middle; none without ink.
struct InkShift {
  int right = 0, down = 0;
};
InkShift shift_to_centre(const InkCanvas& canvas);

}  // namespace vitruvian
