#include "vitruvian/vit/waves.hpp"

#include "vitruvian/core/base/rng.hpp"

#include <cmath>
#include <numbers>

namespace vitruvian {

std::vector<double> sincos_waves(std::size_t places, std::size_t D) {
  const double log_10000 = portable_log(10000);
  std::vector<double> E(places * D);
  for (std::size_t p = 0; p < places; ++p) {
    for (std::size_t j = 0; j < D; ++j) {
      const std::size_t even = j - j % 2;
      const double f =
          portable_exp(-static_cast<double>(even) / static_cast<double>(D) * log_10000);
      const double angle = std::remainder(static_cast<double>(p) * f, 2 * std::numbers::pi);
      const auto [sine, cosine] = portable_sine_cosine(angle);
      E[p * D + j] = j % 2 == 0 ? sine : cosine;
    }
  }
  return E;
}

std::vector<double> sincos_2d_waves(std::size_t height, std::size_t width, std::size_t D) {
  const std::size_t half = D / 2;
  const std::vector<double> x = sincos_waves(width, half), y = sincos_waves(height, half);
  std::vector<double> E;
  for (std::size_t place = 0; place < height * width; ++place) {
    // Of the column, then of the row: the sines, then the cosines.
    for (const double* const waves : {&x[place % width * half], &y[place / width * half]}) {
      for (std::size_t i = 0; i < half; i += 2) E.push_back(waves[i]);
      for (std::size_t i = 1; i < half; i += 2) E.push_back(waves[i]);
    }
  }
  return E;
}

std::vector<double> fixed_positions(const ViTConfig& c) {
  if (c.positions == Positions::sincos) return sincos_waves(c.places(), c.D);
  std::vector<double> E = sincos_2d_waves(c.grid_height(), c.grid_width(), c.D);
  E.insert(E.begin(), c.places() * c.D - E.size(), 0.0);
  return E;
}

std::vector<std::size_t> relative_rows(const ViTConfig& c) {
  const std::size_t height = c.grid_height();
  const std::size_t width = c.grid_width();
  const std::size_t of_patches = (2 * height - 1) * (2 * width - 1);
  const std::size_t first = c.first_patch();
  std::vector<std::size_t> offsets;
  offsets.reserve(c.T() * c.T());
  for (std::size_t q = 0; q < c.T(); ++q) {
    for (std::size_t k = 0; k < c.T(); ++k) {
      if (q < first || k < first) {
        offsets.push_back(of_patches + (q >= first ? 1 : k < first ? 2 : 0));
        continue;
      }
      const std::size_t down = (q - first) / width + height - 1 - (k - first) / width;
      const std::size_t right = (q - first) % width + width - 1 - (k - first) % width;
      offsets.push_back(down * (2 * width - 1) + right);
    }
  }
  return offsets;
}

}  // namespace vitruvian
