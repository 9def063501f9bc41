#include "vitruvian/datasets/augment.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/rng.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace vitruvian {
namespace {

double between(double low, double high, double uniform) { return low + (high - low) * uniform; }

// Python's round(): halves to the even neighbour.
std::size_t whole(double x) { return static_cast<std::size_t>(std::nearbyint(x)); }

// Ten tries at a part whose area and ratio of height to width are drawn; the draws of try t are 4t,
// ..., 4t + 3. `fits` says which parts are taken.
template <class Fits>
bool draw_box(std::size_t height, std::size_t width, double least_area, double most_area,
              double least_ratio, double most_ratio, const Rng& rng, const Fits& fits, Box& box) {
  const double low = portable_log(least_ratio);
  const double high = portable_log(most_ratio);
  for (std::uint64_t i = 0; i < 40; i += 4) {
    const double area =
        static_cast<double>(height * width) * between(least_area, most_area, rng.uniform(i));
    const double ratio = portable_exp(between(low, high, rng.uniform(i + 1)));
    box.height = whole(std::sqrt(area * ratio));
    box.width = whole(std::sqrt(area / ratio));
    if (!fits(box)) continue;
    box.top = static_cast<std::size_t>(rng.below(height - box.height + 1, i + 2));
    box.left = static_cast<std::size_t>(rng.below(width - box.width + 1, i + 3));
    return true;
  }
  return false;
}

// Cuts the part at (top, left) of the picture with `padding` black pixels around it.
void crop_padded(std::size_t padding, std::size_t top, std::size_t left, const Planes& picture,
                 std::vector<std::uint8_t>& scratch) {
  if (top == padding && left == padding) return;
  const std::size_t w = picture.width;
  scratch.assign(picture.pixels, picture.pixels + picture.size());
  std::fill_n(picture.pixels, picture.size(), std::uint8_t{0});
  // Output column x shows input column x + left - padding.
  const std::size_t begin = padding > left ? std::min(padding - left, w) : 0;
  const std::size_t end = left > padding ? w - std::min(left - padding, w) : w;
  if (begin >= end) return;
  for (std::size_t c = 0; c < picture.channels; ++c) {
    for (std::size_t y = 0; y < picture.height; ++y) {
      const std::size_t from = y + top;
      if (from < padding || from >= padding + picture.height) continue;
      const std::size_t row = (c * picture.height + from - padding) * w;
      std::memcpy(picture.pixels + (c * picture.height + y) * w + begin,
                  scratch.data() + row + (begin + left - padding), end - begin);
    }
  }
}

// Gamma(alpha, 1) by Marsaglia and Tsang, "A simple method for generating gamma variables" (2000),
// as its logarithm: for alpha below 1 the value itself may be too small for a double.
double log_gamma_draw(double alpha, const Rng& rng) {
  const double a = alpha < 1 ? alpha + 1 : alpha;  // and Gamma(a) = Gamma(a + 1) U^(1/a)
  const double d = a - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (std::uint64_t i = 1;; i += 2) {
    const double x = rng.normal(i);
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    const double u = 1 - rng.uniform(i + 1);  // (0, 1]
    if (portable_log(u) >= 0.5 * x * x + d - d * v + d * portable_log(v)) continue;
    const double boost = alpha < 1 ? portable_log(1 - rng.uniform(0)) / alpha : 0;
    return portable_log(d * v) + boost;
  }
}

}  // namespace

bool AugmentOptions::any() const {
  return crop_padding > 0 || random_resized_crop || flip > 0 || randaugment_ops > 0 ||
         erasing > 0 || mixes();
}

void AugmentOptions::validate() const {
  const auto check = [](bool right, const char* flag, auto value, const char* rule) {
    if (!right) fail(Exit::usage, "{} {} {}", flag, value, rule);
  };
  const auto share = [&](const char* flag, double value) {
    check(value >= 0 && value <= 1, flag, value, "is not a share between 0 and 1");
  };
  const auto alpha = [&](const char* flag, double value) {
    check(value == 0 || (value >= 0.01 && value <= 100), flag, value,
          "is neither 0 nor from 0.01 to 100");
  };
  check(crop_padding <= 1000, "--crop-padding", crop_padding, "is above 1000");
  check(crop_scale > 0 && crop_scale <= 1, "--crop-scale", crop_scale,
        "is not a share above 0, at most 1");
  share("--flip", flip);
  check(randaugment_ops <= 100, "--randaugment-ops", randaugment_ops, "is above 100");
  check(randaugment_magnitude >= 0 && randaugment_magnitude <= 30, "--randaugment-magnitude",
        randaugment_magnitude, "is not from 0 to 30");
  share("--erasing", erasing);
  share("--mix-probability", mix_probability);
  alpha("--mixup", mixup);
  alpha("--cutmix", cutmix);
}

Box random_box(std::size_t height, std::size_t width, double scale, const Rng& rng) {
  Box box;
  const auto fits = [&](const Box& b) {
    return b.height > 0 && b.width > 0 && b.height <= height && b.width <= width;
  };
  if (draw_box(height, width, scale, 1, 3.0 / 4, 4.0 / 3, rng, fits, box)) return box;
  // The centre, as much of it as has an allowed ratio.
  const double ratio = static_cast<double>(width) / static_cast<double>(height);
  box.height = height;
  box.width = width;
  if (ratio < 3.0 / 4)
    box.height = std::max<std::size_t>(1, whole(static_cast<double>(width) * 4 / 3));
  if (ratio > 4.0 / 3)
    box.width = std::max<std::size_t>(1, whole(static_cast<double>(height) * 4 / 3));
  box.top = (height - box.height) / 2;
  box.left = (width - box.width) / 2;
  return box;
}

void augment(const AugmentOptions& options, const Rng& rng, const Planes& picture,
             std::vector<std::uint8_t>& scratch) {
  if (options.crop_padding > 0) {
    const Rng draw = rng.fork("crop");
    const std::size_t places = 2 * options.crop_padding + 1;
    crop_padded(options.crop_padding, static_cast<std::size_t>(draw.below(places, 0)),
                static_cast<std::size_t>(draw.below(places, 1)), picture, scratch);
  }
  if (options.flip > 0 && rng.fork("flip").uniform(0) < options.flip) {
    for (std::size_t row = 0; row < picture.channels * picture.height; ++row) {
      std::uint8_t* const begin = picture.pixels + row * picture.width;
      std::reverse(begin, begin + picture.width);
    }
  }
  if (options.randaugment_ops == 0) return;
  const Rng draw = rng.fork("randaugment");
  for (std::uint64_t i = 0; i < options.randaugment_ops; ++i) {
    const auto op = static_cast<AugmentOp>(draw.below(augment_ops, 2 * i));
    const bool negative = draw.below(2, 2 * i + 1) == 1;
    apply(op,
          magnitude_of(op, options.randaugment_magnitude, picture.height, picture.width, negative),
          picture, scratch);
  }
}

Box random_erased(const AugmentOptions& options, std::size_t height, std::size_t width,
                  const Rng& rng) {
  if (options.erasing <= 0) return {};
  const Rng draw = rng.fork("erasing");
  if (draw.uniform(1000) >= options.erasing) return {};
  Box box;
  const auto fits = [&](const Box& b) { return b.height < height && b.width < width; };
  return draw_box(height, width, 0.02, 0.33, 0.3, 3.3, draw, fits, box) ? box : Box{};
}

Mixing random_mixing(const AugmentOptions& options, std::size_t height, std::size_t width,
                     const Rng& rng) {
  if (!options.mixes() || rng.uniform(0) >= options.mix_probability) return {};
  const bool cut = options.cutmix > 0 && (options.mixup <= 0 || rng.uniform(1) < 0.5);
  Mixing mixing;
  mixing.lambda = symmetric_beta(cut ? options.cutmix : options.mixup, rng.fork("lambda"));
  if (!cut) return mixing;
  // Yun et al. 2019: a box of sqrt(1 - lambda) of each side about a uniform centre, cut at the
  // picture's ends; lambda is then what is really left.
  const double side = std::sqrt(1 - mixing.lambda);
  const auto part = [&](std::size_t n, std::uint64_t index) {
    const auto half = static_cast<std::size_t>(0.5 * side * static_cast<double>(n));
    const auto centre = static_cast<std::size_t>(rng.below(n, index));
    const std::size_t begin = centre > half ? centre - half : 0;
    return std::pair{begin, std::min(centre + half, n) - begin};
  };
  const auto [top, box_height] = part(height, 2);
  const auto [left, box_width] = part(width, 3);
  mixing.box = {top, left, box_height, box_width};
  mixing.lambda =
      1 - static_cast<double>(box_height * box_width) / static_cast<double>(height * width);
  if (box_height * box_width == 0) mixing = {};
  return mixing;
}

double symmetric_beta(double alpha, const Rng& rng) {
  // X / (X + Y) of two gamma draws, from their logarithms.
  const double difference =
      log_gamma_draw(alpha, rng.fork("y")) - log_gamma_draw(alpha, rng.fork("x"));
  return 1 / (1 + portable_exp(std::min(difference, 700.0)));
}

}  // namespace vitruvian
