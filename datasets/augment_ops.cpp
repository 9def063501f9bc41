#include "vitruvian/datasets/augment_ops.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/rng.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace vitruvian {
namespace {

using Lut = std::array<std::uint8_t, 256>;

// Output (x, y) is input (a0 x + a1 y + a2, a3 x + a4 y + a5), pixel centres at halves, the nearest
// pixel, in 16.16 fixed point: Pillow's Geometry.c.
void affine(const std::array<double, 6>& a, const Planes& picture,
            std::vector<std::uint8_t>& scratch) {
  const auto fix = [](double v) { return static_cast<std::int64_t>(std::floor(v * 65536 + 0.5)); };
  const std::int64_t a0 = fix(a[0]);
  const std::int64_t a3 = fix(a[3]);
  const std::int64_t a1 = fix(a[1]);
  const std::int64_t a4 = fix(a[4]);
  const std::int64_t a2 = fix(a[2] + a[0] * 0.5 + a[1] * 0.5);
  const std::int64_t a5 = fix(a[5] + a[3] * 0.5 + a[4] * 0.5);
  const auto height = static_cast<std::int64_t>(picture.height);
  const auto width = static_cast<std::int64_t>(picture.width);
  scratch.assign(picture.pixels, picture.pixels + picture.size());
  for (std::size_t c = 0; c < picture.channels; ++c) {
    const std::uint8_t* const in = scratch.data() + c * picture.height * picture.width;
    std::uint8_t* out = picture.pixels + c * picture.height * picture.width;
    for (std::int64_t y = 0; y < height; ++y) {
      std::int64_t xx = a2 + a1 * y;
      std::int64_t yy = a5 + a4 * y;
      for (std::int64_t x = 0; x < width; ++x, xx += a0, yy += a3) {
        const std::int64_t from_x = xx >> 16;
        const std::int64_t from_y = yy >> 16;
        const bool inside = from_x >= 0 && from_x < width && from_y >= 0 && from_y < height;
        *out++ = inside ? in[from_y * width + from_x] : std::uint8_t{0};
      }
    }
  }
}

void rotate(double degrees, const Planes& picture, std::vector<std::uint8_t>& scratch) {
  const auto [sine, cosine] = portable_sine_cosine(-degrees * 3.14159265358979323846 / 180);
  const double x = static_cast<double>(picture.width) / 2;
  const double y = static_cast<double>(picture.height) / 2;
  affine({cosine, sine, x - cosine * x - sine * y, -sine, cosine, y + sine * x - cosine * y},
         picture, scratch);
}

// a + factor (b - a), cut to a whole number: Pillow's Blend.c, in float as there.
std::uint8_t blended(int a, int b, float factor) {
  const float x = static_cast<float>(a) + factor * static_cast<float>(b - a);
  return static_cast<std::uint8_t>(std::clamp(x, 0.0F, 255.0F));
}

void map(std::uint8_t* begin, std::size_t n, const Lut& lut) {
  for (std::size_t i = 0; i < n; ++i) begin[i] = lut[begin[i]];
}

// Towards one grey level.
void blend_with(int level, float factor, const Planes& picture) {
  Lut lut{};
  for (std::size_t x = 0; x < 256; ++x) lut[x] = blended(level, static_cast<int>(x), factor);
  map(picture.pixels, picture.size(), lut);
}

// ITU-R 601 in 16 bits, as Pillow's convert("L").
int grey(const Planes& picture, std::size_t i) {
  if (picture.channels == 1) return picture.pixels[i];
  const std::size_t plane = picture.height * picture.width;
  const unsigned weighted = 19595U * picture.pixels[i] + 38470U * picture.pixels[plane + i] +
                            7471U * picture.pixels[2 * plane + i] + 0x8000U;
  return static_cast<int>(weighted >> 16U);
}

void color(float factor, const Planes& picture) {
  if (picture.channels == 1) return;
  const std::size_t plane = picture.height * picture.width;
  for (std::size_t i = 0; i < plane; ++i) {
    const int level = grey(picture, i);
    for (std::size_t c = 0; c < picture.channels; ++c) {
      std::uint8_t& x = picture.pixels[c * plane + i];
      x = blended(level, x, factor);
    }
  }
}

void contrast(float factor, const Planes& picture) {
  const std::size_t plane = picture.height * picture.width;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < plane; ++i) sum += static_cast<std::uint64_t>(grey(picture, i));
  const double mean = static_cast<double>(sum) / static_cast<double>(plane);
  blend_with(static_cast<int>(std::lround(mean)), factor, picture);
}

// The smoothed version is (1 1 1, 1 5 1, 1 1 1) / 13 inside and the picture itself on its border.
void sharpness(float factor, const Planes& picture, std::vector<std::uint8_t>& scratch) {
  const std::size_t w = picture.width;
  const std::size_t plane = picture.height * w;
  if (picture.height < 3 || w < 3) return;
  scratch.assign(picture.pixels, picture.pixels + picture.size());
  for (std::size_t c = 0; c < picture.channels; ++c) {
    for (std::size_t y = 1; y + 1 < picture.height; ++y) {
      for (std::size_t x = 1; x + 1 < w; ++x) {
        const std::uint8_t* const at = scratch.data() + c * plane + y * w + x;
        int sum = 4 * at[0];
        for (const std::uint8_t* row : {at - w, at, at + w}) sum += row[-1] + row[0] + row[1];
        picture.pixels[c * plane + y * w + x] = blended((2 * sum + 13) / 26, at[0], factor);
      }
    }
  }
}

void posterize(double bits, const Planes& picture) {
  const auto dropped = static_cast<unsigned>(std::clamp(8 - static_cast<int>(bits), 0, 8));
  Lut lut{};
  for (unsigned x = 0; x < 256; ++x) lut[x] = static_cast<std::uint8_t>(x >> dropped << dropped);
  map(picture.pixels, picture.size(), lut);
}

void solarize(double threshold, const Planes& picture) {
  Lut lut{};
  for (unsigned x = 0; x < 256; ++x) {
    lut[x] = static_cast<std::uint8_t>(static_cast<double>(x) < threshold ? x : 255 - x);
  }
  map(picture.pixels, picture.size(), lut);
}

void autocontrast(std::uint8_t* channel, std::size_t n) {
  const auto [low, high] = std::minmax_element(channel, channel + n);
  if (*low == *high) return;
  const double scale = 255.0 / (*high - *low);
  const double offset = -*low * scale;
  Lut lut{};
  for (std::size_t x = 0; x < 256; ++x) {
    lut[x] =
        static_cast<std::uint8_t>(std::clamp(static_cast<double>(x) * scale + offset, 0.0, 255.0));
  }
  map(channel, n, lut);
}

void equalize(std::uint8_t* channel, std::size_t n) {
  std::array<std::size_t, 256> histogram{};
  for (std::size_t i = 0; i < n; ++i) ++histogram[channel[i]];
  std::size_t last = 255;
  while (histogram[last] == 0) --last;
  const std::size_t step = (n - histogram[last]) / 255;
  if (step == 0) return;
  Lut lut{};
  std::size_t below = step / 2;
  for (std::size_t x = 0; x < 256; ++x) {
    lut[x] = static_cast<std::uint8_t>(std::min<std::size_t>(below / step, 255));
    below += histogram[x];
  }
  map(channel, n, lut);
}

bool has_two_directions(AugmentOp op) {
  return op >= AugmentOp::shear_x && op <= AugmentOp::sharpness;
}

}  // namespace

std::string name_of(AugmentOp op) {
  static const std::array<const char*, augment_ops> names = {
      "identity",  "shear_x",    "shear_y",      "translate_x", "translate_y",
      "rotate",    "brightness", "color",        "contrast",    "sharpness",
      "posterize", "solarize",   "autocontrast", "equalize"};
  return names.at(static_cast<std::size_t>(op));
}

double magnitude_of(AugmentOp op, double bin, std::size_t height, std::size_t width,
                    bool negative) {
  const double share = bin / 30;
  const double sign = negative && has_two_directions(op) ? -1 : 1;
  switch (op) {
    case AugmentOp::shear_x:
    case AugmentOp::shear_y:
      return sign * 0.3 * share;
    case AugmentOp::translate_x:
      return sign * 150.0 / 331 * static_cast<double>(width) * share;
    case AugmentOp::translate_y:
      return sign * 150.0 / 331 * static_cast<double>(height) * share;
    case AugmentOp::rotate:
      return sign * 30 * share;
    case AugmentOp::brightness:
    case AugmentOp::color:
    case AugmentOp::contrast:
    case AugmentOp::sharpness:
      return sign * 0.9 * share;
    case AugmentOp::posterize:
      return 8 - std::nearbyint(4 * share);
    case AugmentOp::solarize:
      return 255 * (30 - bin) / 30;  // whole where it should be
    case AugmentOp::identity:
    case AugmentOp::autocontrast:
    case AugmentOp::equalize:
      break;
  }
  return 0;
}

void apply(AugmentOp op, double magnitude, const Planes& picture,
           std::vector<std::uint8_t>& scratch) {
  const std::size_t plane = picture.height * picture.width;
  const auto factor = static_cast<float>(1 + magnitude);
  switch (op) {
    case AugmentOp::identity:
      return;
    case AugmentOp::shear_x:
      return affine({1, magnitude, 0, 0, 1, 0}, picture, scratch);
    case AugmentOp::shear_y:
      return affine({1, 0, 0, magnitude, 1, 0}, picture, scratch);
    case AugmentOp::translate_x:
      return affine({1, 0, -std::trunc(magnitude), 0, 1, 0}, picture, scratch);
    case AugmentOp::translate_y:
      return affine({1, 0, 0, 0, 1, -std::trunc(magnitude)}, picture, scratch);
    case AugmentOp::rotate:
      return rotate(magnitude, picture, scratch);
    case AugmentOp::brightness:
      return blend_with(0, factor, picture);
    case AugmentOp::color:
      return color(factor, picture);
    case AugmentOp::contrast:
      return contrast(factor, picture);
    case AugmentOp::sharpness:
      return sharpness(factor, picture, scratch);
    case AugmentOp::posterize:
      return posterize(magnitude, picture);
    case AugmentOp::solarize:
      return solarize(magnitude, picture);
    case AugmentOp::autocontrast:
    case AugmentOp::equalize:
      for (std::size_t c = 0; c < picture.channels; ++c) {
        std::uint8_t* const channel = picture.pixels + c * plane;
        op == AugmentOp::equalize ? equalize(channel, plane) : autocontrast(channel, plane);
      }
      return;
  }
  fail("augment: there is no operation {}", static_cast<int>(op));
}

void resized_crop(const std::uint8_t* from, std::size_t height, std::size_t width, const Box& box,
                  const Planes& to) {
  const Fit fit{.height = to.height,
                .width = to.width,
                .channels = to.channels,
                .filter = Filter::bilinear,
                .part = [&box](std::size_t, std::size_t) { return box; }};
  to_planes(fitted(from_planes(from, to.channels, height, width), fit), to.pixels);
}

}  // namespace vitruvian
