#include "vitruvian/datasets/formats/ink.hpp"

#include <algorithm>
#include <cmath>

namespace vitruvian {
namespace {

constexpr std::size_t side = InkCanvas::side;
constexpr double middle = static_cast<double>(side) / 2;
constexpr double box = 20;

// Raises every pixel near the piece from a to b to the depth of its centre below the ink's edge:
// radius minus distance.
void ink(InkCanvas& depth, const InkPoint& a, const InkPoint& b) {
  const double reach = std::max(a.radius, b.radius) + 1.5;
  const auto first = [&](double p, double q) {
    return static_cast<std::size_t>(std::max(0.0, std::min(p, q) - reach));
  };
  const auto last = [&](double p, double q) {
    return static_cast<std::size_t>(
        std::clamp(std::max(p, q) + reach, 0.0, static_cast<double>(side - 1)));
  };
  const double dx = b.x - a.x;
  const double dy = b.y - a.y;
  const double length2 = dx * dx + dy * dy;
  for (std::size_t i = first(a.y, b.y); i <= last(a.y, b.y); ++i) {
    for (std::size_t j = first(a.x, b.x); j <= last(a.x, b.x); ++j) {
      const double px = static_cast<double>(j) + 0.5 - a.x;
      const double py = static_cast<double>(i) + 0.5 - a.y;
      const double along = px * dx + py * dy;
      const double t = length2 > 0 ? std::clamp(along / length2, 0.0, 1.0) : 0.0;
      const double ex = px - t * dx;
      const double ey = py - t * dy;
      const double d = a.radius + t * (b.radius - a.radius) - std::sqrt(ex * ex + ey * ey);
      depth.levels[i * side + j] = std::max(depth.levels[i * side + j], static_cast<float>(d));
    }
  }
}

}  // namespace

float InkCanvas::at(int row, int column) const {
  constexpr int n = static_cast<int>(side);
  if (row < 0 || row >= n || column < 0 || column >= n) return 0;
  return levels[static_cast<std::size_t>(row) * side + static_cast<std::size_t>(column)];
}

double fit_to_box(std::vector<InkPath>& paths) {
  InkPoint low{1e9, 1e9};
  InkPoint high{-1e9, -1e9};
  double radius = 0;
  for (const InkPath& path : paths) {
    for (const InkPoint& p : path) {
      low = {std::min(low.x, p.x), std::min(low.y, p.y)};
      high = {std::max(high.x, p.x), std::max(high.y, p.y)};
      radius = std::max(radius, p.radius);
    }
  }
  const double extent = std::max(high.x - low.x, high.y - low.y);
  const double scale = extent > 0 ? (box - 2 * radius) / extent : 1;
  for (InkPath& path : paths) {
    for (InkPoint& p : path) {
      p.x = middle + scale * (p.x - 0.5 * (low.x + high.x));
      p.y = middle + scale * (p.y - 0.5 * (low.y + high.y));
    }
  }
  return scale;
}

InkCanvas inked(const std::vector<InkPath>& paths, float softness) {
  InkCanvas canvas;
  canvas.levels.fill(-100.0F);
  for (const InkPath& path : paths) {
    if (path.size() == 1) ink(canvas, path.front(), path.front());
    for (std::size_t i = 0; i + 1 < path.size(); ++i) ink(canvas, path[i], path[i + 1]);
  }
  for (float& x : canvas.levels) x = std::clamp(0.5F + x / softness, 0.0F, 1.0F);
  return canvas;
}

InkShift shift_to_centre(const InkCanvas& canvas) {
  double mass = 0;
  double x = 0;
  double y = 0;
  for (std::size_t i = 0; i < side; ++i) {
    for (std::size_t j = 0; j < side; ++j) {
      const double m = canvas.levels[i * side + j];
      mass += m;
      x += m * (static_cast<double>(j) + 0.5);
      y += m * (static_cast<double>(i) + 0.5);
    }
  }
  if (mass == 0) return {};
  const auto shift = [&](double moment) {
    return static_cast<int>(std::floor(middle - moment / mass + 0.5));
  };
  return {shift(x), shift(y)};
}

}  // namespace vitruvian
