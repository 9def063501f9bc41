#include "media/terminal.hpp"

#include "media/canvas.hpp"

#include <fmt/format.h>

#if __has_include(<unistd.h>)
#include <sys/ioctl.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string_view>

namespace vitruvian {
namespace {

std::string_view environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

bool speaks_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view value = environment(name);
    if (value.empty()) continue;
    return value.find("UTF-8") != value.npos || value.find("utf8") != value.npos ||
           value.find("UTF8") != value.npos || value.find("utf-8") != value.npos;
  }
  return false;
}

// The mean of every factor x factor square; what is left over at the edges is a smaller one.
Image shrunk(const Image& image, std::size_t factor) {
  const auto less = [factor](std::size_t n) { return (n + factor - 1) / factor; };
  Image small{less(image.height), less(image.width), image.channels, {}};
  for (std::size_t y = 0; y < small.height; ++y) {
    for (std::size_t x = 0; x < small.width; ++x) {
      for (std::size_t c = 0; c < image.channels; ++c) {
        std::size_t sum = 0;
        std::size_t count = 0;
        for (std::size_t i = y * factor; i < std::min((y + 1) * factor, image.height); ++i) {
          for (std::size_t j = x * factor; j < std::min((x + 1) * factor, image.width); ++j) {
            sum += image.pixels[(i * image.width + j) * image.channels + c];
            ++count;
          }
        }
        small.pixels.push_back(static_cast<std::uint8_t>((sum + count / 2) / count));
      }
    }
  }
  return small;
}

Colour pixel_at(const Image& rgb, std::size_t y, std::size_t x) {
  const std::uint8_t* const p = rgb.pixels.data() + 3 * (y * rgb.width + x);
  return {p[0], p[1], p[2]};
}

int squared_distance(Colour a, Colour b) {
  return (a.r - b.r) * (a.r - b.r) + (a.g - b.g) * (a.g - b.g) + (a.b - b.b) * (a.b - b.b);
}

// xterm's 16 to 231 are a cube of six levels a channel, 232 to 255 greys 8, 18, ..., 238.
int of_256(Colour colour) {
  constexpr std::array<int, 6> levels{0, 95, 135, 175, 215, 255};
  const auto level = [&levels](int v) {
    int best = 0;
    for (int i = 1; i < 6; ++i) {
      if (std::abs(levels[static_cast<std::size_t>(i)] - v) <
          std::abs(levels[static_cast<std::size_t>(best)] - v)) {
        best = i;
      }
    }
    return best;
  };
  const auto byte = [](int v) { return static_cast<std::uint8_t>(v); };
  const auto value = [&](int i) { return byte(levels[static_cast<std::size_t>(i)]); };
  const int r = level(colour.r);
  const int g = level(colour.g);
  const int b = level(colour.b);
  const int grey = std::clamp(((colour.r + colour.g + colour.b) / 3 - 3) / 10, 0, 23);
  const std::uint8_t shade = byte(8 + 10 * grey);
  return squared_distance(colour, {shade, shade, shade}) <
                 squared_distance(colour, {value(r), value(g), value(b)})
             ? 232 + grey
             : 16 + 36 * r + 6 * g + b;
}

std::string escape(int ground, Colour colour, Shown shown) {
  if (shown == Shown::colours_256) return fmt::format("\x1b[{};5;{}m", ground, of_256(colour));
  return fmt::format("\x1b[{};2;{};{};{}m", ground, colour.r, colour.g, colour.b);
}

}  // namespace

Terminal terminal_of([[maybe_unused]] std::FILE* stream) {
  Terminal terminal;
#if __has_include(<unistd.h>)
  if (isatty(fileno(stream)) == 0) return terminal;
  winsize size{};
  if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col >= 20) {
    terminal.columns = size.ws_col;
  }
  const std::string_view term = environment("TERM");
  if (!environment("NO_COLOR").empty() || term.empty() || term == "dumb" || !speaks_utf8()) {
    return terminal;
  }
  const std::string_view depth = environment("COLORTERM");
  terminal.shown = depth == "truecolor" || depth == "24bit" ? Shown::colours : Shown::colours_256;
#endif
  return terminal;
}

std::string in_terminal(const Image& image, const Terminal& terminal) {
  const std::size_t across = terminal.shown == Shown::letters ? 2 : 1;  // columns of a pixel
  const std::size_t room = std::max<std::size_t>(terminal.columns / across, 1);
  const std::size_t factor = (image.width + room - 1) / room;
  const Image rgb = in_rgb(factor > 1 ? shrunk(image, factor) : image);
  std::string text;
  if (terminal.shown == Shown::letters) {
    constexpr std::string_view ramp = " .:-=+*#%@";
    for (std::size_t y = 0; y < rgb.height; ++y) {
      for (std::size_t x = 0; x < rgb.width; ++x) {
        const Colour c = pixel_at(rgb, y, x);
        // ITU-R 601's brightness, in thousandths.
        const std::size_t bright = (299U * c.r + 587U * c.g + 114U * c.b) * (ramp.size() - 1);
        text.append(2, ramp[(bright + 127'500) / 255'000]);
      }
      text.erase(text.find_last_not_of(' ') + 1);
      text += '\n';
    }
    return text;
  }
  for (std::size_t y = 0; y < rgb.height; y += 2) {
    for (std::size_t x = 0; x < rgb.width; ++x) {
      text += escape(38, pixel_at(rgb, y, x), terminal.shown);
      if (y + 1 < rgb.height) text += escape(48, pixel_at(rgb, y + 1, x), terminal.shown);
      text += "▀";
    }
    text += "\x1b[0m\n";
  }
  return text;
}

}  // namespace vitruvian
