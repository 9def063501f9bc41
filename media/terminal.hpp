#pragma once

#include "media/image.hpp"

#include <cstdio>
#include <string>

namespace vitruvian {

/// How a terminal can show a picture.
enum class Shown {
  colours,      ///< 24 bits: two pixels in a half block, one above the other
  colours_256,  ///< the same in the 256 colours that xterm made usual
  letters,      ///< ASCII from ' ' to '@' by brightness, two a pixel
};
struct Terminal {
  Shown shown = Shown::letters;
  std::size_t columns = 80;
};

/// What `stream` goes to. Letters where it is no terminal, with NO_COLOR set, TERM=dumb, and where
/// the locale is not UTF-8; 24 bits where COLORTERM says so (truecolor or 24bit).
Terminal terminal_of(std::FILE* stream);

/// The picture as lines of text, each with its newline. One that is too wide is shrunk by a whole
/// factor, each new pixel the mean of those it covers.
std::string in_terminal(const Image& image, const Terminal& terminal);

}  // namespace vitruvian
