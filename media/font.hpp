#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

// The letters of figures. Internal to media.

namespace vitruvian {

/// One letter as alpha in 16 steps, a hexadecimal digit a pixel, row by row. `left` and `top` are
/// its first pixel's place from the pen and from the top of the line, `advance` how far the pen
/// goes.
struct Glyph {
  char32_t letter;
  int advance, left, top, width, height;
  std::string_view pixels;
};

/// The glyphs of a text in UTF-8; '?' for what the font lacks and for what is no UTF-8.
std::vector<const Glyph*> glyphs_of(std::string_view text);

}  // namespace vitruvian
