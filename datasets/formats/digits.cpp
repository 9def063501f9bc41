#include "vitruvian/datasets/formats/digits.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/parallel.hpp"
#include "vitruvian/core/base/rng.hpp"
#include "vitruvian/datasets/formats/ink.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

// From knots to pixels: a hand writes the glyph (knots moved, pose, bend), and the result becomes
// ink (ink.hpp). Only + - * / and sqrt decide a pixel: the same bits on every machine.

namespace vitruvian {
namespace {

// The draws of one image, one after the other.
class Draws {
 public:
  explicit Draws(const Rng& rng) : rng_(rng) {}
  double uniform(double low, double high) { return low + (high - low) * rng_.uniform(next_++); }
  // Standard normal, its tails folded onto +-2.5.
  double normal() { return std::clamp(rng_.normal(next_++), -2.5, 2.5); }
  std::uint64_t bits() { return rng_.bits(next_++); }

 private:
  Rng rng_;
  std::uint64_t next_ = 0;
};

using Point = InkPoint;
Point operator+(const Point& a, const Point& b) {
  return {a.x + b.x, a.y + b.y, a.radius + b.radius};
}
Point operator-(const Point& a, const Point& b) {
  return {a.x - b.x, a.y - b.y, a.radius - b.radius};
}
Point operator*(double s, const Point& a) { return {s * a.x, s * a.y, s * a.radius}; }

using Path = InkPath;

const Glyph& choose(std::size_t digit, Draws& draws) {
  const std::vector<Glyph>& ways = glyphs(digit);
  double total = 0;
  for (const Glyph& way : ways) total += way.weight;
  double left = draws.uniform(0, total);
  for (const Glyph& way : ways) {
    left -= way.weight;
    if (left < 0) return way;
  }
  return ways.back();
}

// What one hand does to every point of a glyph: a linear map (turn, slant, width) after a bend, the
// displacement by a random polynomial of degree 3 in the centred coordinates.
class Hand {
 public:
  explicit Hand(Draws& draws) {
    // A turn by the angle whose tangent is t.
    const double t = 0.14 * draws.normal();
    const double cosine = 1 / std::sqrt(1 + t * t);
    const double sine = t * cosine;
    const double slant = 0.15 + 0.25 * draws.normal();
    const double width = 1.1 + 0.22 * draws.normal();
    xx_ = cosine * width;
    xy_ = -cosine * slant - sine;
    yx_ = sine * width;
    yy_ = cosine - sine * slant;
    for (double& c : bend_x_) c = 0.13 * draws.normal();
    for (double& c : bend_y_) c = 0.11 * draws.normal();
  }

  [[nodiscard]] Point write(const Point& p) const {
    const double x = 2 * (p.x - 0.3);  // about -1 ... 1 both ways
    const double y = 2 * (p.y - 0.5);
    const std::array basis = {y * y, x * y, x * x, y * y * y - y, x * y * y - x};
    double u = p.x - 0.3;
    double v = p.y - 0.5;
    for (std::size_t i = 0; i < basis.size(); ++i) {
      u += 0.5 * bend_x_[i] * basis[i];
      v += 0.5 * bend_y_[i] * basis[i];
    }
    return {xx_ * u + xy_ * v, yx_ * u + yy_ * v, p.radius};
  }

 private:
  double xx_ = 1, xy_ = 0, yx_ = 0, yy_ = 1;
  std::array<double, 5> bend_x_{}, bend_y_{};
};

// The cubic Hermite curve through the knots with Catmull-Rom tangents, one-sided at ends and
// corners, as short straight pieces.
Path curve(const Path& knots, const std::vector<bool>& corner) {
  constexpr int pieces = 6;
  Path path{knots.front()};
  for (std::size_t i = 0; i + 1 < knots.size(); ++i) {
    const Point& a = knots[i];
    const Point& b = knots[i + 1];
    const Point chord = b - a;
    const Point ta = i == 0 || corner[i] ? chord : 0.5 * (b - knots[i - 1]);
    const Point tb = i + 2 == knots.size() || corner[i + 1] ? chord : 0.5 * (knots[i + 2] - a);
    for (int k = 1; k <= pieces; ++k) {
      const double s = static_cast<double>(k) / pieces;
      const double s2 = s * s;
      const double s3 = s2 * s;
      path.push_back(a + (3 * s2 - 2 * s3) * chord + (s - 2 * s2 + s3) * ta + (s3 - s2) * tb);
    }
  }
  return path;
}

std::vector<Path> write(const Glyph& glyph, Draws& draws) {
  const Hand hand(draws);
  const double unrest = draws.uniform(0.01, 0.045);
  const double pen = draws.normal();
  const double radius = 1.2 + 0.32 * pen + 0.07 * pen * pen;  // more bold hands than fine
  const double pressure = draws.uniform(0, 0.2);  // how much the thickness varies along a stroke
  std::vector<Path> paths;
  for (const Stroke& stroke : glyph.strokes) {
    Path knots;
    std::vector<bool> corner;
    for (std::size_t i = 0; i < stroke.size(); ++i) {
      const bool end = i == 0 || i + 1 == stroke.size();
      const double reach = end ? 1.6 * unrest : unrest;
      const double x = stroke[i].x + reach * draws.normal();
      const double y = stroke[i].y + reach * draws.normal();
      knots.push_back(hand.write({x, y, radius * (1 + pressure * draws.normal())}));
      corner.push_back(stroke[i].corner && draws.uniform(0, 1) < 0.75);
    }
    paths.push_back(curve(knots, corner));
  }
  return paths;
}

// Shifts by whole pixels, so that the centre of mass comes to the middle, and adds the paper's and
// the scanner's grain where there is ink.
void centre(const InkCanvas& canvas, Draws& draws, std::uint8_t* out) {
  const InkShift shift = shift_to_centre(canvas);
  const auto grain = static_cast<float>(std::max(0.0, draws.uniform(-0.2, 0.12)));
  std::uint64_t bits = 0;
  for (int i = 0; i < static_cast<int>(InkCanvas::side); ++i) {
    for (int j = 0; j < static_cast<int>(InkCanvas::side); ++j, ++out) {
      if (j % 8 == 0) bits = draws.bits();
      const auto noise = static_cast<float>(bits & 0xFFU) / 255.0F;
      bits >>= 8U;
      const float x01 = canvas.at(i - shift.down, j - shift.right);
      const float level = 255.0F * x01 * (1 - grain * noise);
      *out = static_cast<std::uint8_t>(level + 0.5F);  // NOLINT(bugprone-incorrect-roundings): >= 0
    }
  }
}

void draw(std::size_t digit, const Rng& rng, std::uint8_t* out) {
  Draws draws(rng);
  std::vector<Path> paths = write(choose(digit, draws), draws);
  fit_to_box(paths);
  // Grey over the width of a pixel or two: the edge of a scanned, reduced stroke.
  const auto softness = static_cast<float>(draws.uniform(0.65, 1.15));
  centre(inked(paths, softness), draws, out);
}

}  // namespace

std::vector<InkPath> written(const Glyph& glyph, double radius) {
  std::vector<InkPath> paths;
  for (const Stroke& stroke : glyph.strokes) {
    Path knots;
    std::vector<bool> corner;
    for (const Knot& knot : stroke) {
      knots.push_back({knot.x, knot.y, radius});
      corner.push_back(knot.corner);
    }
    paths.push_back(curve(knots, corner));
  }
  return paths;
}

Dataset digits(std::size_t n, std::uint64_t seed, std::string_view part) {
  constexpr std::size_t most = 10'000'000;
  if (part != "train" && part != "test") {
    fail(Exit::usage, "digits: expected the part 'train' or 'test', was asked for '{}'", part);
  }
  if (n == 0 || n > most) {
    fail(Exit::usage, "digits: expected from 1 to {} images, was asked for {}", most, n);
  }
  Dataset data = empty_digit_dataset("digits", InkCanvas::side, InkCanvas::side);
  data.labels.resize(n);
  data.pixels.resize(n * InkCanvas::side * InkCanvas::side);
  const Rng rng = Rng(seed).fork(std::string("digits ") + std::string(part));
  constexpr std::size_t chunk = 64;
  parallel_for(n, chunk, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t digit = i % 10;
      data.labels[i] = static_cast<std::uint32_t>(digit);
      draw(digit, rng.fork("image", {i}), &data.pixels[i * InkCanvas::side * InkCanvas::side]);
    }
  });
  return data;
}

}  // namespace vitruvian
