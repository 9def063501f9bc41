#include "media/canvas.hpp"

#include "core/error.hpp"
#include "media/font.hpp"

#include <algorithm>
#include <cmath>

namespace vitruvian {
namespace {

std::ptrdiff_t pixel(double x) { return static_cast<std::ptrdiff_t>(std::lround(x)); }

// Hands every pixel of a text with its alpha to `paint(x, y, alpha)`; x from the text's left end, y
// from the top of its line.
template <class Paint>
void for_each_pixel(std::string_view text, const Paint& paint) {
  int pen = 0;
  for (const Glyph* glyph : glyphs_of(text)) {
    for (int i = 0; i < glyph->width * glyph->height; ++i) {
      const char digit = glyph->pixels[static_cast<std::size_t>(i)];
      const int alpha = digit <= '9' ? digit - '0' : digit - 'a' + 10;
      if (alpha != 0) {
        paint(pen + glyph->left + i % glyph->width, glyph->top + i / glyph->width, alpha / 15.0);
      }
    }
    pen += glyph->advance;
  }
}

}  // namespace

Canvas::Canvas(std::size_t width, std::size_t height, Colour background) {
  if (width == 0 || height == 0 || width > usual_max_pixels / height) {
    fail("canvas: {} x {} pixels are none, or more than {}", height, width, usual_max_pixels);
  }
  image_ = {height, width, 3, {}};
  image_.pixels.reserve(width * height * 3);
  for (std::size_t i = 0; i < width * height; ++i) {
    image_.pixels.insert(image_.pixels.end(), {background.r, background.g, background.b});
  }
}

void Canvas::blend(std::ptrdiff_t x, std::ptrdiff_t y, Colour colour, double alpha) {
  const auto height = static_cast<std::ptrdiff_t>(image_.height);
  const auto width = static_cast<std::ptrdiff_t>(image_.width);
  if (x < 0 || y < 0 || x >= width || y >= height || !(alpha > 0)) return;
  std::uint8_t* const at = image_.pixels.data() + 3 * (y * width + x);
  const std::uint8_t channels[] = {colour.r, colour.g, colour.b};
  for (std::size_t c = 0; c < 3; ++c) {
    at[c] = static_cast<std::uint8_t>(
        std::lround(at[c] + std::min(alpha, 1.0) * (channels[c] - at[c])));
  }
}

void Canvas::rectangle(double x, double y, double width, double height, Colour colour) {
  for (std::ptrdiff_t row = pixel(y); row < pixel(y + height); ++row) {
    for (std::ptrdiff_t column = pixel(x); column < pixel(x + width); ++column) {
      blend(column, row, colour, 1);
    }
  }
}

void Canvas::frame(double x, double y, double width, double height, Colour colour, double line) {
  rectangle(x - line, y - line, width + 2 * line, line, colour);
  rectangle(x - line, y + height, width + 2 * line, line, colour);
  rectangle(x - line, y, line, height, colour);
  rectangle(x + width, y, line, height, colour);
}

void Canvas::stroke(double x0, double y0, double x1, double y1, double width, Colour colour) {
  const double dx = x1 - x0;
  const double dy = y1 - y0;
  const double length2 = dx * dx + dy * dy;
  const double reach = width / 2 + 1;
  for (auto y = pixel(std::min(y0, y1) - reach); y <= pixel(std::max(y0, y1) + reach); ++y) {
    for (auto x = pixel(std::min(x0, x1) - reach); x <= pixel(std::max(x0, x1) + reach); ++x) {
      const double px = static_cast<double>(x) + 0.5 - x0;
      const double py = static_cast<double>(y) + 0.5 - y0;
      const double along = length2 > 0 ? std::clamp((px * dx + py * dy) / length2, 0.0, 1.0) : 0.0;
      const double distance = std::hypot(px - along * dx, py - along * dy);
      blend(x, y, colour, std::clamp(width / 2 + 0.5 - distance, 0.0, 1.0));
    }
  }
}

void Canvas::picture(double x, double y, const Image& image, std::size_t scale) {
  for (std::size_t row = 0; row < image.height; ++row) {
    for (std::size_t column = 0; column < image.width; ++column) {
      const std::uint8_t* const p =
          image.pixels.data() + (row * image.width + column) * image.channels;
      const Colour colour{p[0], p[image.channels / 2], p[image.channels - 1]};
      const auto size = static_cast<double>(scale);
      rectangle(x + size * static_cast<double>(column), y + size * static_cast<double>(row), size,
                size, colour);
    }
  }
}

void Canvas::text(double x, double y, std::string_view text, Align align, Colour colour) {
  const auto width = static_cast<double>(text_width(text));
  const double left = align == Align::left ? x : align == Align::right ? x - width : x - width / 2;
  const std::ptrdiff_t x0 = pixel(left);
  const std::ptrdiff_t y0 = pixel(y);
  for_each_pixel(text, [&](int dx, int dy, double a) { blend(x0 + dx, y0 + dy, colour, a); });
}

void Canvas::text_upwards(double x, double y, std::string_view text, Colour colour) {
  const std::ptrdiff_t x0 = pixel(x);
  const std::ptrdiff_t y0 = pixel(y + static_cast<double>(text_width(text)) / 2);
  for_each_pixel(text, [&](int dx, int dy, double a) { blend(x0 + dy, y0 - dx, colour, a); });
}

std::size_t text_width(std::string_view text) {
  int width = 0;
  for (const Glyph* glyph : glyphs_of(text)) width += glyph->advance;
  return static_cast<std::size_t>(width);
}

Image in_rgb(const Image& image) {
  if (image.channels == 3) return image;
  Image rgb{image.height, image.width, 3, {}};
  rgb.pixels.reserve(3 * image.pixels.size());
  for (const std::uint8_t p : image.pixels) rgb.pixels.insert(rgb.pixels.end(), 3, p);
  return rgb;
}

Image enlarged(const Image& image, std::size_t scale) {
  Canvas canvas(image.width * scale, image.height * scale);
  canvas.picture(0, 0, image, scale);
  return std::move(canvas).image();
}

}  // namespace vitruvian
