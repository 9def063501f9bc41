#include "report/svg_chart.hpp"

#include "report/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace vitruvian {
namespace {

// In the SVG's own units; the page scales it.
constexpr double chart_width = 640, plot = 210, left = 56, right = 14, title = 26, bottom = 38;
constexpr double letter = 6.6;  // a generous width of a letter of 12 units
constexpr double legend_row = 18;
constexpr std::size_t longest_label = 40;  // in a legend
constexpr std::size_t most_in_tip = 12;

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void add(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  [[nodiscard]] bool empty() const { return low > high; }
  // A single value has room around it.
  void widen() {
    if (low < high) return;
    const double room = low == 0 ? 1 : std::abs(low) / 2;
    low -= room;
    high += room;
  }
};

struct Frame {
  Range x, y;
  double top = 0;  // of the plot, below the legend
  [[nodiscard]] double floor() const { return top + plot; }
  [[nodiscard]] double at_x(double value) const {
    return left + (value - x.low) / (x.high - x.low) * (chart_width - left - right);
  }
  [[nodiscard]] double at_y(double value) const {
    return floor() - (value - y.low) / (y.high - y.low) * plot;
  }
};

Frame frame_of(const SvgChart& chart) {
  Frame frame;
  for (const ChartLine& line : chart.lines) {
    for (std::size_t i = 0; i < line.x.size(); ++i) {
      if (!std::isfinite(line.y[i])) continue;
      frame.x.add(line.x[i]);
      frame.y.add(line.y[i]);
      if (!line.low.empty()) frame.y.add(line.low[i]);
      if (!line.high.empty()) frame.y.add(line.high[i]);
    }
  }
  if (frame.x.empty()) return frame;
  if (chart.from_zero) frame.y.add(0);
  // What begins a step or two after 0 began at 0.
  if (frame.x.low > 0 && frame.x.low < frame.x.high / 20) frame.x.low = 0;
  frame.x.widen();
  frame.y.widen();
  if (chart.percent) {
    frame.y.low = std::max(0.0, frame.y.low);
    frame.y.high = std::min(1.0, frame.y.high);
  }
  // To the next round numbers, so that no line touches the frame.
  const std::vector<double> ticks = round_ticks(frame.y.low, frame.y.high, 5);
  if (ticks.size() > 1) {
    const double step = ticks[1] - ticks[0];
    frame.y.low = std::floor(frame.y.low / step + 1e-9) * step;
    frame.y.high = std::ceil(frame.y.high / step - 1e-9) * step;
  }
  return frame;
}

std::string tick_text(const SvgChart& chart, double value) {
  if (chart.percent) return fmt::format("{:.4g} %", 100 * value);
  return fmt::format("{:.4g}", value);
}

std::string value_text(const SvgChart& chart, double value) {
  if (chart.percent) return fmt::format("{:.2f} %", 100 * value);
  return std::abs(value) >= 0.1 ? fmt::format("{:.4f}", value) : fmt::format("{:.3g}", value);
}

std::string axes(const SvgChart& chart, const Frame& frame) {
  std::string svg;
  for (const double y : round_ticks(frame.y.low, frame.y.high, 5)) {
    svg += fmt::format(
        "<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>"
        "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
        left, chart_width - right, frame.at_y(y), frame.at_y(y), left - 8, frame.at_y(y) + 4,
        tick_text(chart, y));
  }
  for (const double x : round_ticks(frame.x.low, frame.x.high, 8)) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{:.6g}</text>\n",
                       frame.at_x(x), frame.floor() + 17, x);
  }
  return svg + fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n",
                           chart_width - right, frame.floor() + 34, html_escaped(chart.x_name));
}

struct Legend {
  std::string svg;
  double height = 0;
};

// As many rows as the names need.
Legend legend(const SvgChart& chart) {
  std::string svg =
      fmt::format("<text class=\"title\" x=\"0\" y=\"16\">{}</text>\n", html_escaped(chart.title));
  double x = 0;
  double y = title + 8;
  for (const ChartLine& line : chart.lines) {
    const double wide = 46 + letter * static_cast<double>(line.name.size());
    if (x > 0 && x + wide > chart_width) {
      x = 0;
      y += legend_row;
    }
    svg += fmt::format(
        "<line class=\"line k{}\" x1=\"{:.0f}\" x2=\"{:.0f}\" y1=\"{}\" y2=\"{}\"/>"
        "<text x=\"{:.0f}\" y=\"{}\">{}</text>\n",
        line.colour % 6, x, x + 24, y, y, x + 30, y + 4, html_escaped(line.name));
    x += wide;
  }
  return {svg, y + legend_row};
}

// The points of the line, lifted off the paper where y is no number. One alone is a dot.
std::string drawn(const ChartLine& line, const Frame& frame) {
  std::string svg;
  std::string band;
  if (!line.low.empty()) {
    for (std::size_t i = 0; i < line.x.size(); ++i) {
      if (std::isfinite(line.y[i]))
        band += fmt::format("{:.1f},{:.1f} ", frame.at_x(line.x[i]), frame.at_y(line.high[i]));
    }
    for (std::size_t i = line.x.size(); i-- > 0;) {
      if (std::isfinite(line.y[i]))
        band += fmt::format("{:.1f},{:.1f} ", frame.at_x(line.x[i]), frame.at_y(line.low[i]));
    }
    svg += fmt::format("<polygon class=\"band f{}\" points=\"{}\"/>\n", line.colour % 6, band);
  }
  std::string path;
  bool down = false;
  for (std::size_t i = 0; i < line.x.size(); ++i) {
    const bool here = std::isfinite(line.y[i]);
    if (here) {
      path += fmt::format("{}{:.1f},{:.1f}", down ? "L" : "M", frame.at_x(line.x[i]),
                          frame.at_y(line.y[i]));
    }
    down = here;
  }
  svg += fmt::format("<path class=\"line k{}\" d=\"{}\"/>\n", line.colour % 6, path);
  if (line.x.size() <= 30) {
    for (std::size_t i = 0; i < line.x.size(); ++i) {
      if (!std::isfinite(line.y[i])) continue;
      svg += fmt::format("<circle class=\"f{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"/>",
                         line.colour % 6, frame.at_x(line.x[i]), frame.at_y(line.y[i]));
    }
    svg += "\n";
  }
  return svg;
}

// Which point of the line is nearest to x; its size where x lies beyond both ends of the line by
// more than a strip, or the point there is none.
std::size_t nearest_to(const ChartLine& line, double x, double strip) {
  const std::size_t none = line.x.size();
  if (none == 0 || x < line.x.front() - strip || x > line.x.back() + strip) return none;
  auto above = std::lower_bound(line.x.begin(), line.x.end(), x);
  if (above == line.x.end() || (above != line.x.begin() && x - above[-1] < *above - x)) --above;
  const auto i = static_cast<std::size_t>(above - line.x.begin());
  return std::isfinite(line.y[i]) ? i : none;
}

// What appears while the pointer is in one strip of the chart: plain CSS, no script.
std::string tip(const SvgChart& chart, const Frame& frame, double x, double begin, double end) {
  std::vector<std::string> words{fmt::format("{} {:.6g}", chart.x_name, std::round(x * 100) / 100)};
  std::string dots;
  for (const ChartLine& line : chart.lines) {
    const std::size_t i = nearest_to(line, x, end - begin);
    if (i == line.x.size()) continue;
    if (words.size() > most_in_tip) break;
    words.push_back(fmt::format("{}  {}", line.name, value_text(chart, line.y[i])));
    dots += fmt::format("<circle class=\"f{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"/>",
                        line.colour % 6, frame.at_x(line.x[i]), frame.at_y(line.y[i]));
  }
  if (words.size() == 1) return "";
  std::size_t longest = 0;
  for (const std::string& w : words) longest = std::max(longest, w.size());
  const double box = 18 + letter * static_cast<double>(longest);
  const double at = frame.at_x(x);
  const double box_left = at + 12 + box > chart_width ? std::max(0.0, at - 12 - box) : at + 12;
  std::string svg = fmt::format(
      "<g class=\"at\"><rect class=\"strip\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" "
      "height=\"{}\"/><g class=\"tip\"><line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\"/>{}"
      "<rect x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" rx=\"5\"/>",
      frame.at_x(begin), frame.top, frame.at_x(end) - frame.at_x(begin), plot, at, at, frame.top,
      frame.floor(), dots, box_left, frame.top + 4, box, 10 + 16 * words.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\">{}</text>", box_left + 9,
                       frame.top + 20 + 16 * static_cast<double>(i), html_escaped(words[i]));
  }
  return svg + "</g></g>\n";
}

std::string tips(const SvgChart& chart, const Frame& frame) {
  std::vector<double> places;
  for (const ChartLine& line : chart.lines) {
    places.insert(places.end(), line.x.begin(), line.x.end());
  }
  std::sort(places.begin(), places.end());
  // Points of several lines that are closer than a pointer can tell are one place.
  const double apart = (frame.x.high - frame.x.low) / (1.5 * most_chart_points);
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

}  // namespace

std::vector<double> round_ticks(double low, double high, std::size_t count) {
  const double rough = (high - low) / static_cast<double>(count);
  if (!(rough > 0) || !std::isfinite(rough)) return {};
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= rough * (1 - 1e-9)) step = factor * power;
  }
  std::vector<double> ticks;
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i) {
    if (ticks.size() > 2 * count) break;  // where doubles are too coarse for such a step
    ticks.push_back(i * step + 0.0);      // 0, not -0
  }
  return ticks;
}

ChartLine thinned(const ChartLine& line, std::size_t points) {
  const std::size_t n = line.x.size();
  if (n <= points) return line;
  ChartLine result{line.name, line.colour};
  for (std::size_t part = 0; part < points; ++part) {
    const std::size_t begin = part * n / points;
    const std::size_t end = (part + 1) * n / points;
    Range range;
    double x = 0;
    double y = 0;
    double numbers = 0;
    for (std::size_t i = begin; i < end; ++i) {
      x += line.x[i];
      if (!std::isfinite(line.y[i])) continue;
      range.add(line.y[i]);
      y += line.y[i];
      ++numbers;
    }
    result.x.push_back(x / static_cast<double>(end - begin));
    result.y.push_back(y / numbers);  // NaN, a gap, where there is no number
    result.low.push_back(range.low);
    result.high.push_back(range.high);
  }
  return result;
}

std::string svg_of(const SvgChart& chart) {
  SvgChart shown = chart;
  for (ChartLine& line : shown.lines) line = thinned(line, most_chart_points);
  std::erase_if(shown.lines, [](const ChartLine& line) {
    return std::none_of(line.y.begin(), line.y.end(), [](double y) { return std::isfinite(y); });
  });
  if (shown.lines.empty()) return "";
  for (ChartLine& line : shown.lines) {
    if (line.name.size() > longest_label) line.name.resize(longest_label);
  }
  const Legend names = legend(shown);
  Frame frame = frame_of(shown);
  frame.top = names.height;
  std::string svg = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n",
                                chart_width, frame.floor() + bottom, html_escaped(chart.title));
  svg += names.svg + axes(shown, frame);
  for (const ChartLine& line : shown.lines) svg += drawn(line, frame);
  return svg + tips(shown, frame) + "</svg>\n";
}

}  // namespace vitruvian
