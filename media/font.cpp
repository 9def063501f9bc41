#include "media/font.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace vitruvian {
namespace {

constexpr Glyph font[] = {
#include "media/font_table.inc"
};

const Glyph& glyph_of(char32_t letter) {
  const auto* const found =
      std::lower_bound(std::begin(font), std::end(font), letter,
                       [](const Glyph& glyph, char32_t wanted) { return glyph.letter < wanted; });
  return found != std::end(font) && found->letter == letter ? *found : font['?' - ' '];
}

}  // namespace

std::vector<const Glyph*> glyphs_of(std::string_view text) {
  std::vector<const Glyph*> glyphs;
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text.front());
    // The first byte says how many follow, and holds the highest bits.
    const std::size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    char32_t letter = length == 1 ? first : first & (0xFFU >> (length + 1));
    std::size_t taken = 1;
    for (; taken < std::min(length, text.size()); ++taken) {
      const auto byte = static_cast<unsigned char>(text[taken]);
      if ((byte & 0xC0U) != 0x80U) break;
      letter = letter << 6U | (byte & 0x3FU);
    }
    glyphs.push_back(&glyph_of(taken == length ? letter : U'?'));
    text.remove_prefix(taken);
  }
  return glyphs;
}

}  // namespace vitruvian
