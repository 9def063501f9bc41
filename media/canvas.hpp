#pragma once

#include "media/image.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

// What figures are drawn with. Lengths are pixels; (0, 0) is the upper left corner. Letters are 20
// pixels high, so that a figure may be shrunk to half its size and read.

namespace vitruvian {

struct Colour {
  std::uint8_t r = 0, g = 0, b = 0;
  friend bool operator==(const Colour&, const Colour&) = default;
};
inline constexpr Colour black{0, 0, 0}, white{255, 255, 255}, ink{45, 45, 45}, pale{222, 222, 222};

enum class Align { left, centre, right };

/// An RGB picture to draw on. What lies outside of it is not drawn.
class Canvas {
 public:
  /// Throws where it would have no pixels, or more than usual_max_pixels.
  Canvas(std::size_t width, std::size_t height, Colour background = white);

  void rectangle(double x, double y, double width, double height, Colour colour);
  /// The rectangle's outline, `line` pixels wide, just outside of it.
  void frame(double x, double y, double width, double height, Colour colour, double line = 2);
  /// A smooth stroke with round ends; from a point to itself it is a dot.
  void stroke(double x0, double y0, double x1, double y1, double width, Colour colour);
  /// A grey or RGB picture, every pixel repeated to scale x scale.
  void picture(double x, double y, const Image& image, std::size_t scale = 1);
  /// UTF-8, in one line: x is its left end, centre or right end, y the top of its line.
  void text(double x, double y, std::string_view text, Align align = Align::left,
            Colour colour = ink);
  /// The same, turned to be read from below: x is the left side of its line, y its centre.
  void text_upwards(double x, double y, std::string_view text, Colour colour = ink);

  [[nodiscard]] const Image& image() const& { return image_; }
  [[nodiscard]] Image image() && { return std::move(image_); }

 private:
  void blend(std::ptrdiff_t x, std::ptrdiff_t y, Colour colour, double alpha);

  Image image_;
};

/// From the top of a line of text to the top of the next.
inline constexpr std::size_t line_height = 26;
/// In pixels.
std::size_t text_width(std::string_view text);

/// A grey picture as RGB; one in RGB as it is.
Image in_rgb(const Image& image);
/// Every pixel repeated to scale x scale.
Image enlarged(const Image& image, std::size_t scale);

}  // namespace vitruvian
