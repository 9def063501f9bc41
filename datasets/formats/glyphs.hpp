#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace vitruvian {

/// A point that a stroke passes through, in a box of height 1: x to the right, y down. The curve
/// is smooth in it, or turns a corner.
struct Knot {
  double x = 0, y = 0;
  bool corner = false;
};

/// One movement of the pen.
using Stroke = std::vector<Knot>;

/// One way of writing a digit, and how often people write it so, against the digit's other ways.
struct Glyph {
  double weight = 1;
  std::vector<Stroke> strokes;
};

/// The ways of writing `digit`, 0 to 9.
const std::vector<Glyph>& glyphs(std::size_t digit);

}  // namespace vitruvian
