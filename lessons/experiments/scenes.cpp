#include "lessons/experiments/scenes.hpp"
#include "lessons/telling/source.hpp"

#include "vitruvian/charts/colours.hpp"

#include <algorithm>
#include <cmath>

namespace vitruvian::lessons {
inline namespace VITRUVIAN_PRECISION {

TrainedModel cifar_model() { return load_weights(project_path("models/cifar.safetensors")); }

namespace {

// A canvas of 128 x 128, which is shrunk by four: edges are as soft as a photograph's.
class Canvas {
 public:
  /// From one colour at the top to another at the bottom.
  Canvas(Colour top, Colour bottom) { fade(0, side, top, bottom); }
  /// The same between two heights.
  void fade(double from, double to, Colour top, Colour bottom) {
    paint([&](double y, double) { return y >= from && y < to; },
          [&](double y) {
            const double t = (y - from) / (to - from);
            const auto between = [t](double a, double b) {
              return static_cast<std::uint8_t>(std::lround(a + t * (b - a)));
            };
            return Colour{between(top.r, bottom.r), between(top.g, bottom.g),
                          between(top.b, bottom.b)};
          });
  }
  void box(double top, double left, double bottom, double right, Colour colour) {
    paint([=](double y, double x) { return y >= top && y < bottom && x >= left && x < right; },
          [=](double) { return colour; });
  }
  void ellipse(double y0, double x0, double height, double width, Colour colour) {
    paint([=](double y, double x) { return std::hypot((y - y0) / height, (x - x0) / width) < 1; },
          [=](double) { return colour; });
  }
  /// Sides that lean: from `left` and `right` above to the others below.
  void slab(double top, double left, double right, double bottom, double left_below,
            double right_below, Colour colour) {
    paint(
        [=](double y, double x) {
          const double t = (y - top) / (bottom - top);
          return t >= 0 && t < 1 && x >= left + t * (left_below - left) &&
                 x < right + t * (right_below - right);
        },
        [=](double) { return colour; });
  }
  [[nodiscard]] Image picture() const {
    Image small{side / 4, side / 4, 3, {}};
    for (std::size_t y = 0; y < side; y += 4) {
      for (std::size_t x = 0; x < side; x += 4) {
        for (std::size_t c = 0; c < 3; ++c) {
          std::size_t sum = 8;
          for (std::size_t i = 0; i < 16; ++i) {
            sum += large_.pixels[((y + i / 4) * side + x + i % 4) * 3 + c];
          }
          small.pixels.push_back(static_cast<std::uint8_t>(sum / 16));
        }
      }
    }
    return small;
  }

 private:
  static constexpr std::size_t side = 128;
  Image large_{side, side, 3, std::vector<std::uint8_t>(side* side * 3)};

  template <class Inside, class ColourOf>
  void paint(const Inside& inside, const ColourOf& colour_of) {
    for (std::size_t y = 0; y < side; ++y) {
      for (std::size_t x = 0; x < side; ++x) {
        const auto row = static_cast<double>(y), column = static_cast<double>(x);
        if (!inside(row, column)) continue;
        const Colour colour = colour_of(row);
        std::uint8_t* const pixel = &large_.pixels[(y * side + x) * 3];
        pixel[0] = colour.r, pixel[1] = colour.g, pixel[2] = colour.b;
      }
    }
  }
};

constexpr Colour black{25, 25, 28}, white{235, 235, 232}, glass{120, 150, 170};

Image ship() {
  Canvas c({175, 200, 225}, {215, 225, 232});
  c.fade(78, 128, {60, 95, 130}, {35, 65, 100});
  c.slab(64, 14, 118, 88, 26, 106, {70, 40, 45});
  c.box(46, 40, 64, 92, white), c.box(34, 52, 46, 78, white);
  c.box(50, 46, 55, 86, glass), c.box(20, 60, 34, 68, {190, 60, 50});
  return c.picture();
}
Image car() {
  Canvas c({170, 190, 205}, {150, 165, 150});
  c.fade(84, 128, {110, 110, 112}, {90, 90, 94});
  c.slab(40, 42, 88, 62, 28, 102, {175, 30, 35});
  c.slab(44, 46, 63, 60, 36, 63, glass), c.slab(44, 67, 84, 60, 67, 94, glass);
  c.slab(60, 12, 116, 90, 10, 120, {190, 32, 38});
  c.ellipse(90, 34, 14, 14, black), c.ellipse(90, 96, 14, 14, black);
  c.ellipse(90, 34, 6, 6, {170, 170, 172}), c.ellipse(90, 96, 6, 6, {170, 170, 172});
  return c.picture();
}
Image aeroplane() {
  Canvas c({95, 150, 215}, {170, 205, 235});
  c.slab(28, 16, 30, 60, 26, 46, {200, 205, 212});
  c.ellipse(62, 66, 9, 52, white);
  c.slab(64, 56, 80, 92, 34, 50, {150, 156, 166});
  c.slab(40, 44, 60, 58, 60, 78, {185, 190, 198});
  return c.picture();
}
Image lorry() {
  Canvas c({160, 185, 210}, {190, 200, 205});
  c.fade(92, 128, {115, 112, 108}, {95, 92, 90});
  c.box(28, 8, 86, 80, white), c.box(46, 82, 88, 118, {40, 80, 160});
  c.box(52, 92, 66, 116, glass), c.box(86, 8, 94, 118, black);
  for (const double x : {24.0, 48.0, 102.0}) c.ellipse(96, x, 12, 12, black);
  return c.picture();
}

}  // namespace

std::vector<Scene> scenes() {
  return {{"ship", 8, ship()},
          {"automobile", 1, car()},
          {"airplane", 0, aeroplane()},
          {"truck", 9, lorry()}};
}

std::vector<Image> shades(const Array& numbers) {
  std::vector<Image> pictures;
  const std::size_t size = numbers.shape(1) * numbers.shape(2);
  for (std::size_t i = 0; i < numbers.shape(0); ++i) {
    const auto first = numbers.begin() + static_cast<std::ptrdiff_t>(i * size);
    const Matrix m{
        numbers.shape(1), numbers.shape(2), {first, first + static_cast<std::ptrdiff_t>(size)}};
    pictures.push_back(coloured(m, ColourMap::viridis, range_of(m.values)));
  }
  return pictures;
}

Image lit_by(const Image& picture, const Array& map) {
  Image result = picture;
  const double most = *std::max_element(map.begin(), map.end());
  for (std::size_t i = 0; i < result.pixels.size(); ++i) {
    const std::size_t y = i / 3 / picture.width, x = i / 3 % picture.width;
    const double share = map(y * map.shape(0) / picture.height, x * map.shape(1) / picture.width);
    result.pixels[i] =
        static_cast<std::uint8_t>(std::lround(picture.pixels[i] * (0.15 + 0.85 * share / most)));
  }
  return result;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian::lessons
