#pragma once

#include "vitruvian/datasets/dataset.hpp"
#include "vitruvian/datasets/formats/ink.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace vitruvian {

/// n handwritten-looking digits, 28 x 28 grey, ten classes in equal parts: strokes drawn in the
/// pose and thickness of a random hand, then sized and centred as MNIST's are. Image i is a
/// function of (seed, part, i) alone, to the bit on every machine: the first 100 of 1000 are the
/// 100, and "train" and "test" never share a draw. Throws when `part` is neither or n is 0.
///
/// mean and std are MNIST's, not the digits' own: a model trained on the digits reads MNIST only if
/// the same ink gives the same number in both.
Dataset digits(std::size_t n, std::uint64_t seed, std::string_view part);

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
/// A glyph as a steady hand writes it with a pen of this radius, in the glyph's own box.
std::vector<InkPath> written(const Glyph& glyph, double radius);

}  // namespace vitruvian
