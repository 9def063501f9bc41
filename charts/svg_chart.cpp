#include "vitruvian/charts/svg_parts.hpp"
#include "vitruvian/core/base/console.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

// Lines, dots and bars over two axes.

namespace vitruvian::svg {
namespace {

constexpr double chart_width = 520, plot = 210, left = 56, right = 14, bottom = 38;
constexpr double legend_row = 18;
constexpr std::size_t longest_label = 40;  // in a legend
constexpr std::size_t most_in_tip = 12;

struct Frame {
  Range x, y;
  double left = 0, top = 0;  // of the plot, beside the axis and below the legend
  [[nodiscard]] double floor() const { return top + plot; }
  [[nodiscard]] double at_x(double value) const {
    return left + x.place(value) * (chart_width - left - right);
  }
  // Of a height: see height_of.
  [[nodiscard]] double at_y(double value) const { return floor() - y.place(value) * plot; }
};

// A single value has room around it.
Range widened(Range range) {
  if (range.low < range.high) return range;
  const double room = range.low == 0 ? 1 : std::abs(range.low) / 2;
  return {range.low - room, range.high + room};
}

bool has_bars(const Chart& chart) {
  return std::any_of(chart.series.begin(), chart.series.end(),
                     [](const Series& s) { return s.mark == Mark::bars; });
}

Frame frame_of(const Chart& chart, const Extent& extent) {
  Frame frame{extent.x, extent.y, left + (chart.y_label.empty() ? 0 : 18)};
  // What begins a step or two after 0 began at 0.
  if (frame.x.low > 0 && frame.x.low < frame.x.high / 20) frame.x.low = 0;
  if (has_bars(chart)) {
    frame.x = {frame.x.low - 0.5, frame.x.high + 0.5};
  }
  frame.x = widened(frame.x);
  if (chart.y) {
    frame.y = *chart.y;
    return frame;
  }
  if ((chart.from_zero || has_bars(chart)) && !chart.log_y) {
    frame.y = {std::min(0.0, frame.y.low), std::max(0.0, frame.y.high)};
  }
  frame.y = widened(frame.y);
  if (chart.percent) frame.y = {std::max(0.0, frame.y.low), std::min(1.0, frame.y.high)};
  if (chart.log_y) {
    const double room = (frame.y.high - frame.y.low) / 20;
    frame.y = {frame.y.low - room, frame.y.high + room};
    return frame;
  }
  // To the next round numbers, so that no line touches the frame.
  const std::vector<double> ticks = round_numbers(frame.y, 5);
  if (ticks.size() > 1) {
    const double step = ticks[1] - ticks[0];
    frame.y.low = std::floor(frame.y.low / step + 1e-9) * step;
    frame.y.high = std::ceil(frame.y.high / step - 1e-9) * step;
  }
  return frame;
}

// Places of the axis, with what stands there.
std::vector<std::pair<double, std::string>> y_ticks(const Chart& chart, Range range) {
  std::vector<std::pair<double, std::string>> ticks;
  if (!chart.log_y) {
    for (const double y : round_numbers(range, 5)) {
      ticks.emplace_back(
          y, chart.percent ? fmt::format("{:.4g} %", 100 * y) : fmt::format("{:.4g}", y));
    }
    return ticks;
  }
  // Powers of ten; where there are few of them, 2 and 5 times one as well.
  const bool few = range.high - range.low < 2;
  const double apart = std::ceil((range.high - range.low) / 8);
  for (double power = std::floor(range.low); power <= range.high; ++power) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double at = power + std::log10(factor);
      if ((factor > 1 && !few) || at < range.low || at > range.high) continue;
      if (apart > 1 && std::fmod(power, apart) != 0) continue;
      ticks.emplace_back(at, fmt::format("{:.6g}", factor * std::pow(10, power)));
    }
  }
  return ticks;
}

std::string value_text(const Chart& chart, double value) {
  if (chart.percent) return fmt::format("{:.2f} %", 100 * value);
  return std::abs(value) >= 0.1 ? fmt::format("{:.4f}", value) : fmt::format("{:.3g}", value);
}

std::string axes(const Chart& chart, const Frame& frame) {
  std::string svg;
  for (const auto& [y, text] : y_ticks(chart, frame.y)) {
    svg += fmt::format("<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>",
                       frame.left, chart_width - right, frame.at_y(y), frame.at_y(y));
    svg += text_at(frame.left - 8, frame.at_y(y) + 4, "end", text);
  }
  for (const double x : round_numbers(frame.x, 8)) {
    if (chart.whole_x && x != std::floor(x)) continue;
    svg += text_at(frame.at_x(x), frame.floor() + 17, "middle", fmt::format("{:.6g}", x));
  }
  svg += text_upwards(12, frame.top + plot / 2, chart.y_label);
  return svg + text_at(chart_width - right, frame.floor() + 34, "end", chart.x_label);
}

// The colour and the dashes of a line.
std::string line_class(const Series& series) {
  const std::size_t k = *series.colour;
  return fmt::format("line k{} d{}", k % palette, (k + k / palette) % palette);
}

std::string circle(const Series& series, double x, double y, int radius) {
  return fmt::format("<circle class=\"f{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"/>",
                     *series.colour % palette, x, y, radius);
}

// As many rows as the names need.
Piece legend(const Chart& chart) {
  Piece piece{title_of(chart.title)};
  double x = 0;
  double y = (chart.title.empty() ? 0 : title_height) + 8;
  for (const Series& series : chart.series) {
    if (series.name.empty()) continue;
    const double wide = 46 + 1.25 * width_of(series.name);  // "momentum" is wider than most
    if (x > 0 && x + wide > chart_width) {
      x = 0;
      y += legend_row;
    }
    piece.svg +=
        series.mark == Mark::line
            ? fmt::format("<line class=\"{}\" x1=\"{:.0f}\" x2=\"{:.0f}\" y1=\"{}\" y2=\"{}\"/>",
                          line_class(series), x, x + 24, y, y)
            : circle(series, x + 12, y, 4);
    piece.svg += text_at(x + 30, y + 4, "start", series.name);
    x += wide;
  }
  piece.height = x == 0 ? y - 4 : y + legend_row;
  return piece;
}

std::string dots(const Series& series, const Frame& frame, int radius) {
  std::string svg;
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    if (std::isnan(series.y[i])) continue;
    svg += circle(series, frame.at_x(series.x[i]), frame.at_y(series.y[i]), radius);
  }
  return svg + "\n";
}

// They stand on 0, or, where heights are logarithms, on the axis.
std::string bars(const Series& series, const Frame& frame, bool log) {
  std::string svg;
  const double wide = 0.8 * (frame.at_x(1) - frame.at_x(0));
  const double zero = frame.at_y(log ? frame.y.low : std::clamp(0.0, frame.y.low, frame.y.high));
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    if (std::isnan(series.y[i])) continue;
    const double end = frame.at_y(series.y[i]);
    svg += fmt::format(
        "<rect class=\"f{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>",
        *series.colour % palette, frame.at_x(series.x[i]) - wide / 2, std::min(zero, end), wide,
        std::abs(end - zero));
  }
  return svg + "\n";
}

// The points of the line, lifted off the paper where y is NaN. Few of them are dots as well.
std::string line(const Series& series, const Frame& frame) {
  std::string svg;
  std::string band;
  std::string path;
  bool down = false;
  const auto point = [&](std::size_t i, double y) {
    return fmt::format("{:.1f},{:.1f}", frame.at_x(series.x[i]), frame.at_y(y));
  };
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    const bool here = std::isfinite(series.y[i]);
    if (here) path += (down ? "L" : "M") + point(i, series.y[i]);
    if (here && !series.low.empty()) band += point(i, series.high[i]) + " ";
    down = here;
  }
  for (std::size_t i = series.low.size(); i-- > 0;) {
    // A logarithm need not exist: the band goes down to the axis.
    const double low = std::isnan(series.low[i]) ? frame.y.low : series.low[i];
    if (std::isfinite(series.y[i])) band += point(i, low) + " ";
  }
  if (!band.empty()) {
    svg = fmt::format("<polygon class=\"band f{}\" points=\"{}\"/>\n", *series.colour % palette,
                      band);
  }
  svg += fmt::format("<path class=\"{}\" d=\"{}\"/>\n", line_class(series), path);
  return series.x.size() <= 30 ? svg + dots(series, frame, 3) : svg;
}

// Which point of the line is nearest to x; its size where x lies beyond both ends of the line by
// more than a strip, or the point there is none.
std::size_t nearest_to(const Series& series, double x, double strip) {
  const std::size_t none = series.x.size();
  if (none == 0 || x < series.x.front() - strip || x > series.x.back() + strip) return none;
  auto above = std::lower_bound(series.x.begin(), series.x.end(), x);
  if (above == series.x.end() || (above != series.x.begin() && x - above[-1] < *above - x)) --above;
  const auto i = static_cast<std::size_t>(above - series.x.begin());
  return std::isfinite(series.y[i]) ? i : none;
}

// What appears while the pointer is in one strip of the chart: plain CSS, no script.
std::string tip(const Chart& chart, const Frame& frame, double x, double begin, double end) {
  std::vector<std::string> words{
      fmt::format("{} {:.6g}", chart.x_label, std::round(x * 100) / 100)};
  std::string circles;
  for (const Series& series : chart.series) {
    const std::size_t i = nearest_to(series, x, end - begin);
    if (series.mark == Mark::dots || i == series.x.size()) continue;  // dots lie above each other
    if (words.size() > most_in_tip) break;
    const double y = chart.log_y ? std::pow(10, series.y[i]) : series.y[i];
    words.push_back(fmt::format("{}  {}", series.name, value_text(chart, y)));
    circles += circle(series, frame.at_x(series.x[i]), frame.at_y(series.y[i]), 4);
  }
  if (words.size() == 1) return "";
  double longest = 0;
  for (const std::string& w : words) longest = std::max(longest, width_of(w));
  const double box = 18 + longest;
  const double at = frame.at_x(x);
  const double box_left = at + 12 + box > chart_width ? std::max(0.0, at - 12 - box) : at + 12;
  std::string svg = fmt::format(
      "<g class=\"at\"><rect class=\"strip\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" "
      "height=\"{}\"/><g class=\"tip\"><line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\"/>{}"
      "<rect x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" rx=\"5\"/>",
      frame.at_x(begin), frame.top, frame.at_x(end) - frame.at_x(begin), plot, at, at, frame.top,
      frame.floor(), circles, box_left, frame.top + 4, box, 10 + 16 * words.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    svg += text_at(box_left + 9, frame.top + 20 + 16 * static_cast<double>(i), "start", words[i]);
  }
  return svg + "</g></g>\n";
}

std::string tips(const Chart& chart, const Frame& frame) {
  std::vector<double> places;
  for (const Series& series : chart.series) {
    places.insert(places.end(), series.x.begin(), series.x.end());
  }
  std::sort(places.begin(), places.end());
  // Points of several lines that are closer than a pointer can tell are one place.
  const double apart = (frame.x.high - frame.x.low) / (1.5 * most_points);
  std::vector<double> kept;
  for (const double x : places) {
    if (kept.empty() || x - kept.back() > apart) kept.push_back(x);
  }
  std::string svg;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const double begin = i == 0 ? frame.x.low : (kept[i - 1] + kept[i]) / 2;
    const double end = i + 1 == kept.size() ? frame.x.high : (kept[i] + kept[i + 1]) / 2;
    svg += tip(chart, frame, kept[i], begin, end);
  }
  return svg;
}

// A bar a name, and its number behind it.
Piece lying_bars(const Chart& chart) {
  constexpr double row = 22, thick = 14, number = 70;
  Piece piece{title_of(chart.title)};
  double top = chart.title.empty() ? 4 : title_height;
  double names = 0;
  for (const std::string& name : chart.names) names = std::max(names, width_of(name));
  const double begin = names + 10;
  const double room = std::max(160.0, chart_width - begin - number);
  for (const Series& series : chart.series) {
    std::vector<double> heights;
    for (const double y : series.y) heights.push_back(height_of(chart, y));
    if (!chart.log_y) heights.push_back(0);
    Range range = range_of(heights);
    if (chart.log_y) range.low -= (range.high - range.low) / 20;  // no bar is empty
    range = widened(range);
    const double zero = begin + room * range.place(chart.log_y ? range.low : 0);
    for (std::size_t i = 0; i < std::min(series.y.size(), chart.names.size()); ++i) {
      const double y = top + thick - 3;
      piece.svg += text_at(begin - 8, y, "end", chart.names[i]);
      if (std::isfinite(heights[i])) {
        const double end = begin + room * range.place(heights[i]);
        piece.svg += fmt::format(
            "<rect class=\"f{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\"/>",
            series.colour.value_or(0) % palette, std::min(zero, end), top, std::abs(end - zero),
            thick);
        const double value = series.y[i];
        const bool count = value == std::round(value);
        piece.svg += text_at(std::max(zero, end) + 6, y, "start",
                             chart.percent ? value_text(chart, value)
                             : count       ? fmt::format("{:.0f}", value)
                                           : fmt::format("{:.4g}", value));
      }
      top += row;
    }
  }
  piece.width = begin + room + number;
  piece.height = top;
  return piece;
}

}  // namespace

Piece piece_of(const Chart& chart) {
  if (!chart.names.empty()) return lying_bars(chart);
  const auto extent = extent_of(chart);
  if (!extent) return {};
  Chart shown = chart;
  for (std::size_t i = 0; i < shown.series.size(); ++i) {
    Series& series = shown.series[i];
    series.colour = series.colour.value_or(i);
    series.name = console::first_characters(series.name, longest_label);
    for (auto* values : {&series.y, &series.low, &series.high}) {  // from here on they are heights
      for (double& y : *values) y = height_of(chart, y);
    }
    for (std::size_t k = series.x.size(); k-- > 0;) {
      if (std::isfinite(series.x[k])) continue;
      for (auto* values : {&series.x, &series.y, &series.low, &series.high}) {
        if (!values->empty()) values->erase(values->begin() + static_cast<std::ptrdiff_t>(k));
      }
    }
    if (series.mark == Mark::line) series = thinned(series);
  }
  std::erase_if(shown.series, [](const Series& series) {
    return std::all_of(series.y.begin(), series.y.end(), [](double y) { return std::isnan(y); });
  });
  Piece piece = legend(shown);
  Frame frame = frame_of(shown, *extent);
  frame.top = piece.height;
  piece.svg += axes(shown, frame);
  for (const Series& series : shown.series) {
    piece.svg += series.mark == Mark::line   ? line(series, frame)
                 : series.mark == Mark::bars ? bars(series, frame, chart.log_y)
                                             : dots(series, frame, 4);
  }
  if (chart.tips) piece.svg += tips(shown, frame);
  return {piece.svg, chart_width, frame.floor() + bottom};
}

}  // namespace vitruvian::svg
