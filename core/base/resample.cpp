#include "vitruvian/core/base/resample.hpp"

#include <algorithm>
#include <cmath>

namespace vitruvian {
namespace {

// Keys' cubic convolution kernel (1981): 1 at 0, 0 at the other whole numbers and beyond +-2.
double keys(double x, double a) {
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

double triangle(double x) { return std::max(0.0, 1 - std::abs(x)); }

}  // namespace

std::vector<Taps> antialiased(Filter filter, std::size_t n_in, std::size_t n_out, std::size_t begin,
                              std::size_t count) {
  const double scale = static_cast<double>(n_in) / static_cast<double>(n_out);
  const double width = std::max(scale, 1.0);
  const double support = (filter == Filter::bilinear ? 1 : 2) * width;
  std::vector<Taps> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double centre = (static_cast<double>(begin + i) + 0.5) * scale;
    // Pillow cuts off after adding a half: NOLINTBEGIN(bugprone-incorrect-roundings)
    const auto first = static_cast<std::size_t>(std::max(centre - support + 0.5, 0.0));
    const auto end = std::min(static_cast<std::size_t>(centre + support + 0.5), n_in);
    // NOLINTEND(bugprone-incorrect-roundings)
    Taps& taps = result[i];
    taps.first = first;
    double sum = 0;
    for (std::size_t j = first; j < end; ++j) {
      const double x = (static_cast<double>(j) - centre + 0.5) / width;
      taps.weights.push_back(filter == Filter::bilinear ? triangle(x) : keys(x, -0.5));
      sum += taps.weights.back();
    }
    for (double& w : taps.weights) w /= sum;
  }
  return result;
}

std::vector<Taps> interpolated(const Interpolation& how, std::size_t n_in, std::size_t n_out) {
  const std::ptrdiff_t reach = how.filter == Filter::bilinear ? 1 : 2;
  const auto last = static_cast<std::ptrdiff_t>(n_in) - 1;
  std::vector<Taps> result(n_out);
  for (std::size_t i = 0; i < n_out; ++i) {
    double x = 0;
    if (!how.align_corners) {
      const double scale = static_cast<double>(n_in) / static_cast<double>(n_out);
      x = (static_cast<double>(i) + 0.5) * scale - 0.5;
    } else if (n_out > 1) {
      x = static_cast<double>(i) * static_cast<double>(last) / static_cast<double>(n_out - 1);
    }
    const auto below = static_cast<std::ptrdiff_t>(std::floor(x));
    const auto clamped = [last](std::ptrdiff_t j) {
      return std::clamp<std::ptrdiff_t>(j, 0, last);
    };
    const std::ptrdiff_t first = clamped(below - reach + 1);
    Taps& taps = result[i];
    taps.first = static_cast<std::size_t>(first);
    taps.weights.assign(static_cast<std::size_t>(clamped(below + reach) - first + 1), 0);
    for (std::ptrdiff_t j = below - reach + 1; j <= below + reach; ++j) {
      const double distance = x - static_cast<double>(j);
      taps.weights[static_cast<std::size_t>(clamped(j) - first)] +=
          how.filter == Filter::bilinear ? triangle(distance) : keys(distance, -0.75);
    }
  }
  return result;
}

std::vector<double> along_axis(const std::vector<double>& values, const std::vector<Taps>& taps,
                               std::size_t outer, std::size_t length, std::size_t inner) {
  std::vector<double> result(outer * taps.size() * inner);
  double* to = result.data();
  for (std::size_t o = 0; o < outer; ++o) {
    for (const Taps& tap : taps) {
      const double* from = values.data() + (o * length + tap.first) * inner;
      for (const double w : tap.weights) {
        for (std::size_t i = 0; i < inner; ++i) to[i] += w * from[i];
        from += inner;
      }
      to += inner;
    }
  }
  return result;
}

}  // namespace vitruvian
