#include "vitruvian/charts/chart.hpp"

#include "vitruvian/core/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace vitruvian {

ImageGrid heat_map(const Matrix& matrix, std::string title, ColourBar bar, double side) {
  ImageGrid grid{std::move(title)};
  grid.images = {coloured(matrix, bar.map, bar.range)};
  const auto rows = static_cast<double>(matrix.rows);
  const auto columns = static_cast<double>(matrix.columns);
  grid.width = side * std::min(columns / std::max(rows, 1.0), 1.0);
  const bool one = matrix.across * matrix.down == 1;
  if (one || matrix.down > 1) {
    grid.x_count = one ? matrix.columns : matrix.across;
    grid.y_count = one ? matrix.rows : matrix.down;
  }
  grid.bar = std::move(bar);
  return grid;
}

std::vector<double> round_numbers(Range range, std::size_t count) {
  const double rough = (range.high - range.low) / static_cast<double>(count);
  if (!(rough > 0) || !std::isfinite(rough)) return {};
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= rough * (1 - 1e-9)) step = factor * power;
  }
  std::vector<double> numbers;
  for (double i = std::ceil(range.low / step - 1e-9); i * step <= range.high + 1e-9 * step; ++i) {
    if (numbers.size() > 2 * count) break;  // where doubles are too coarse for such a step
    numbers.push_back(i * step + 0.0);      // 0, not -0
  }
  return numbers;
}

std::string tick_text(double value, double step) {
  if (!std::isfinite(value)) return "";
  const double most = std::max(std::abs(value), std::abs(step));
  if (most >= 1e5 || (most > 0 && most < 1e-3)) return fmt::format("{:.2g}", value);
  const double digits = step > 0 ? std::ceil(-std::log10(step) - 1e-9) : 2;
  return fmt::format("{:.{}f}", value, static_cast<int>(std::clamp(digits, 0.0, 6.0)));
}

Series thinned(const Series& series, std::size_t points) {
  const std::size_t n = series.x.size();
  if (n <= points) return series;
  Series result{series.name, {}, {}, series.mark, series.colour};
  for (std::size_t part = 0; part < points; ++part) {
    const std::size_t begin = part * n / points;
    const std::size_t end = (part + 1) * n / points;
    std::vector<double> numbers;
    double x = 0;
    double y = 0;
    Range band{0, 0};  // its own, where it has one
    for (std::size_t i = begin; i < end; ++i) {
      x += series.x[i];
      if (!std::isfinite(series.y[i])) continue;
      numbers.push_back(series.y[i]);
      y += series.y[i];
      if (series.low.empty()) continue;
      band.low += series.low[i];
      band.high += series.high[i];
    }
    const auto n_here = static_cast<double>(numbers.size());
    const Range range =
        series.low.empty() ? range_of(numbers) : Range{band.low / n_here, band.high / n_here};
    result.x.push_back(x / static_cast<double>(end - begin));
    result.y.push_back(y / n_here);  // NaN, a gap, where there is none
    result.low.push_back(range.low);
    result.high.push_back(range.high);
  }
  return result;
}

double height_of(const Chart& chart, double y) {
  if (!chart.log_y) return std::isfinite(y) ? y : std::nan("");
  return y > 0 && std::isfinite(y) ? std::log10(y) : std::nan("");
}

std::optional<Extent> extent_of(const Chart& chart) {
  std::vector<double> xs;
  std::vector<double> ys;
  for (const Series& series : chart.series) {
    if (series.x.size() != series.y.size()) {
      fail("chart: {} has {} numbers across and {} up", series.name, series.x.size(),
           series.y.size());
    }
    if (series.low.size() != series.high.size() ||
        (!series.low.empty() && series.low.size() != series.x.size())) {
      fail("chart: {} has a band of {} to {} numbers around {}", series.name, series.low.size(),
           series.high.size(), series.x.size());
    }
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (std::isnan(height_of(chart, series.y[i])) || !std::isfinite(series.x[i])) continue;
      xs.push_back(series.x[i]);
      ys.push_back(height_of(chart, series.y[i]));
      if (series.low.empty()) continue;
      ys.push_back(height_of(chart, series.low[i]));
      ys.push_back(height_of(chart, series.high[i]));
    }
  }
  if (xs.empty()) return std::nullopt;
  return Extent{range_of(xs), range_of(ys)};
}

}  // namespace vitruvian
