#include "media/plots.hpp"

#include "core/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace vitruvian {
namespace {

constexpr double pad = 16;  // around everything
constexpr double tick_length = 8;
constexpr double near_by = 6;
constexpr double bar_gap = 28;
constexpr double bar_width = 24;
constexpr auto line = static_cast<double>(line_height);

double width_of(const std::string& text) { return static_cast<double>(text_width(text)); }

double widest(const std::vector<Tick>& ticks) {
  double widest = 0;
  for (const Tick& tick : ticks) widest = std::max(widest, width_of(tick.text));
  return widest;
}

double step_of(const std::vector<double>& numbers) {
  return numbers.size() > 1 ? numbers[1] - numbers[0] : 1;
}

// Of an axis `length` pixels long, upwards.
std::vector<Tick> number_ticks(Range range, double length, std::size_t count) {
  const std::vector<double> numbers = round_numbers(range, count);
  std::vector<Tick> ticks;
  for (const double number : numbers) {
    ticks.push_back({length - range.place(number) * length, tick_text(number, step_of(numbers))});
  }
  return ticks;
}

// The map from its end (on top) to its beginning.
Image bar_picture(ColourMap map, std::size_t height) {
  Matrix matrix{height, 1, {}};
  for (std::size_t y = 0; y < height; ++y) {
    matrix.values.push_back(1 - (static_cast<double>(y) + 0.5) / static_cast<double>(height));
  }
  return coloured(matrix, map, {0, 1});
}

}  // namespace

std::vector<double> round_numbers(Range range, std::size_t count) {
  const double width = range.high - range.low;
  if (!(width > 0) || !std::isfinite(width) || count == 0) return {range.low};
  // The least of 1, 2 and 5 times a power of ten that gives few enough.
  const double power = std::pow(10, std::floor(std::log10(width / static_cast<double>(count))));
  double step = power;
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    step = factor * power;
    if (width / step <= static_cast<double>(count)) break;
  }
  std::vector<double> numbers;
  const double slack = 1e-9 * width;
  for (double i = std::ceil((range.low - slack) / step); i * step <= range.high + slack; ++i) {
    numbers.push_back(i == 0 ? 0 : i * step);
  }
  return numbers;
}

std::string tick_text(double value, double step) {
  if (!std::isfinite(value)) return "";
  const double most = std::max(std::abs(value), std::abs(step));
  if (most >= 1e5 || (most > 0 && most < 1e-3)) {
    // The exponents of numbers on one axis may differ: two digits are enough for round ones.
    return fmt::format("{:.2g}", value);
  }
  const double digits = step > 0 ? std::ceil(-std::log10(step) - 1e-9) : 2;
  return fmt::format("{:.{}f}", value, static_cast<int>(std::clamp(digits, 0.0, 6.0)));
}

std::vector<Tick> cell_ticks(std::size_t count, double pitch, std::size_t first) {
  const double room = pitch * static_cast<double>(count) / 42;
  const auto most = static_cast<std::size_t>(std::max(room, 1.0));
  const auto last = static_cast<double>(first + count - 1);
  std::vector<Tick> ticks;
  if (count <= most) {
    for (std::size_t i = 0; i < count; ++i) {
      ticks.push_back({(static_cast<double>(i) + 0.5) * pitch, std::to_string(first + i)});
    }
    return ticks;
  }
  for (const double n : round_numbers({static_cast<double>(first), last}, most)) {
    if (n != std::floor(n)) continue;
    const double cell = n - static_cast<double>(first);
    ticks.push_back({(cell + 0.5) * pitch, fmt::format("{:.0f}", n)});
  }
  return ticks;
}

Image framed(const Image& picture, const Frame& frame) {
  const auto width = static_cast<double>(picture.width);
  const auto height = static_cast<double>(picture.height);
  const double x_ticks = frame.x_ticks.empty() ? 0 : tick_length + near_by;
  const double y_ticks = frame.y_ticks.empty() ? 0 : tick_length + near_by;
  const double y_text = frame.y_ticks.empty() ? 0 : widest(frame.y_ticks);
  const double left = pad + (frame.y_label.empty() ? 0 : line + near_by) + y_text + y_ticks;
  const double top = pad + (frame.title.empty() ? 0 : line + 10);
  const double bottom = (frame.x_ticks.empty() ? 0 : x_ticks + line) +
                        (frame.x_label.empty() ? 0 : line + near_by) + pad;
  double right = pad;
  std::vector<Tick> bar_ticks;
  double bar_height = 0;
  double bar_top = 0;
  if (frame.bar) {
    bar_height = std::clamp(height, 160.0, 640.0);
    bar_top = top + std::max(0.0, (height - bar_height) / 2);
    bar_ticks =
        number_ticks(frame.bar->range, bar_height, static_cast<std::size_t>(bar_height / 60));
    right += bar_gap + bar_width + tick_length + near_by + widest(bar_ticks) +
             (frame.bar->label.empty() ? 0 : line + 2 * near_by);
  }
  // A title, or the last tick, may need more than the picture does.
  const double plot = left + width + right;
  double total = std::max(plot, width_of(frame.title) + 2 * pad);
  total = std::max(total, width_of(frame.x_label) + 2 * pad);
  if (!frame.x_ticks.empty() && !frame.bar) {
    const Tick& tick = frame.x_ticks.back();
    total = std::max(total, left + tick.at + width_of(tick.text) / 2 + near_by);
  }
  const double inner = std::max(height, bar_height);
  Canvas canvas(static_cast<std::size_t>(std::ceil(total)),
                static_cast<std::size_t>(std::ceil(top + inner + bottom)));
  canvas.picture(left, top, picture);
  canvas.frame(left, top, width, height, ink, 1);

  const double middle = left + width / 2;
  const double label_middle = std::max(middle, width_of(frame.x_label) / 2 + pad);
  canvas.text(left + width_of(frame.title) + pad <= total ? left : pad, pad - 2, frame.title,
              Align::left, black);
  for (const Tick& tick : frame.x_ticks) {
    canvas.rectangle(left + tick.at - 1, top + height + 1, 2, tick_length, ink);
    canvas.text(left + tick.at, top + height + x_ticks, tick.text, Align::centre);
  }
  for (const Tick& tick : frame.y_ticks) {
    canvas.rectangle(left - 1 - tick_length, top + tick.at - 1, tick_length, 2, ink);
    canvas.text(left - y_ticks, top + tick.at - line / 2, tick.text, Align::right);
  }
  canvas.text(label_middle, top + height + x_ticks + (frame.x_ticks.empty() ? 0 : line) + near_by,
              frame.x_label, Align::centre, black);
  canvas.text_upwards(pad, std::max(top + height / 2, width_of(frame.y_label) / 2), frame.y_label,
                      black);
  if (frame.bar) {
    const double x = left + width + bar_gap;
    const auto rows = static_cast<std::size_t>(bar_height);
    const Image bar = bar_picture(frame.bar->map, rows);
    for (double column = 0; column < bar_width; ++column) canvas.picture(x + column, bar_top, bar);
    canvas.frame(x, bar_top, bar_width, static_cast<double>(rows), ink, 1);
    for (const Tick& tick : bar_ticks) {
      canvas.rectangle(x + bar_width + 1, bar_top + tick.at - 1, tick_length, 2, ink);
      canvas.text(x + bar_width + tick_length + near_by, bar_top + tick.at - line / 2, tick.text);
    }
    canvas.text_upwards(x + bar_width + tick_length + 2 * near_by + widest(bar_ticks),
                        bar_top + bar_height / 2, frame.bar->label, black);
  }
  return std::move(canvas).image();
}

Image drawn(const HeatMap& heat_map, std::size_t side) {
  const Matrix& matrix = heat_map.matrix;
  const Range range = heat_map.range ? *heat_map.range : range_of(matrix.values);
  const std::size_t longest = std::max(matrix.rows, matrix.columns);
  const std::size_t cell = std::max<std::size_t>(longest == 0 ? 1 : side / longest, 1);
  const auto pitch = static_cast<double>(cell);
  return framed(
      enlarged(coloured(matrix, heat_map.map, range), cell),
      {heat_map.title, heat_map.x_label, heat_map.y_label, cell_ticks(matrix.columns, pitch),
       cell_ticks(matrix.rows, pitch), ColourBar{heat_map.map, range, heat_map.bar_label}});
}

Image drawn(const Chart& chart, std::size_t width, std::size_t height) {
  const auto up = [&chart](double y) {
    return !chart.log_y ? y : y > 0 ? std::log10(y) : std::nan("");
  };
  std::vector<double> xs;
  std::vector<double> ys;
  for (const Chart::Series& series : chart.series) {
    if (series.x.size() != series.y.size()) {
      fail("chart: {} has {} numbers across and {} up", series.name, series.x.size(),
           series.y.size());
    }
    xs.insert(xs.end(), series.x.begin(), series.x.end());
    for (const double y : series.y) ys.push_back(up(y));
  }
  if (!chart.y && !chart.log_y) ys.push_back(0);
  // A little more than the numbers need, but axes that begin at 0 do.
  const auto with_room = [](Range range, bool zero) {
    const double more = range.high > range.low ? 0.05 * (range.high - range.low) : 0.5;
    return Range{zero && range.low == 0 ? 0 : range.low - more, range.high + more};
  };
  const Range x = chart.x ? *chart.x : with_room(range_of(xs), false);
  const Range y = chart.y ? *chart.y : with_room(range_of(ys), !chart.log_y);

  const auto w = static_cast<double>(width);
  const auto h = static_cast<double>(height);
  Frame frame{chart.title, chart.x_label, chart.y_label, {}, {}, {}};
  const std::vector<double> across = round_numbers(x, width / 70);
  for (const double n : across) {
    const double step = chart.whole_x ? std::max(step_of(across), 1.0) : step_of(across);
    if (chart.whole_x && n != std::floor(n)) continue;
    frame.x_ticks.push_back({x.place(n) * w, tick_text(n, step)});
  }
  if (chart.log_y) {
    // Powers of ten; within one power, 2 and 5 times it as well.
    const bool few = y.high - y.low < 2;
    for (double power = std::floor(y.low); power <= y.high; ++power) {
      for (const double factor : {1.0, 2.0, 5.0}) {
        const double at = power + std::log10(factor);
        if ((factor > 1 && !few) || at < y.low || at > y.high) continue;
        frame.y_ticks.push_back(
            {h - y.place(at) * h, fmt::format("{:.6g}", factor * std::pow(10, power))});
      }
    }
  } else {
    frame.y_ticks = number_ticks(y, h, height / 60);
  }

  Canvas canvas(width, height);
  for (const Tick& tick : frame.y_ticks) canvas.rectangle(0, tick.at, w, 1, pale);
  for (const Tick& tick : frame.x_ticks) canvas.rectangle(tick.at, 0, 1, h, pale);
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    const Chart::Series& series = chart.series[s];
    const Colour colour = colour_of_series(s);
    double px = std::nan("");
    double py = std::nan("");
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      const double qx = x.place(series.x[i]) * w;
      const double qy = h - y.place(up(series.y[i])) * h;
      const bool seen = std::isfinite(qx) && std::isfinite(qy);
      if (seen && !series.line) canvas.stroke(qx, qy, qx, qy, 11, colour);
      if (seen && series.line) {
        const bool begins = std::isnan(px);
        canvas.stroke(begins ? qx : px, begins ? qy : py, qx, qy, 3.5, colour);
      }
      px = seen ? qx : std::nan("");
      py = seen ? qy : std::nan("");
    }
  }
  const Image plot = std::move(canvas).image();

  // The legend is a column to the right: it never hides a number.
  Image figure = framed(plot, frame);
  double legend = 0;
  std::size_t named = 0;
  for (const Chart::Series& series : chart.series) {
    legend = std::max(legend, width_of(series.name));
    named += series.name.empty() ? 0 : 1;
  }
  if (named < 1) return figure;
  Canvas whole(figure.width + static_cast<std::size_t>(legend) + 60, figure.height);
  whole.picture(0, 0, figure);
  double row = pad + line + 10;
  const auto x0 = static_cast<double>(figure.width);
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    const Chart::Series& series = chart.series[s];
    if (series.name.empty()) continue;
    const double mid = row + line / 2;
    if (series.line) {
      whole.stroke(x0 + 4, mid, x0 + 30, mid, 3.5, colour_of_series(s));
    } else {
      whole.stroke(x0 + 17, mid, x0 + 17, mid, 11, colour_of_series(s));
    }
    whole.text(x0 + 40, row, series.name);
    row += line + 4;
  }
  return std::move(whole).image();
}

Image tiled(const std::vector<Image>& pictures, std::size_t columns, std::size_t gap,
            Colour background) {
  if (pictures.empty() || columns == 0) fail("tiled: no pictures, or no columns");
  columns = std::min(columns, pictures.size());
  const std::size_t rows = (pictures.size() + columns - 1) / columns;
  std::vector<std::size_t> widths(columns, 0);
  std::vector<std::size_t> heights(rows, 0);
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    widths[i % columns] = std::max(widths[i % columns], pictures[i].width);
    heights[i / columns] = std::max(heights[i / columns], pictures[i].height);
  }
  std::size_t width = gap * (columns - 1);
  std::size_t height = gap * (rows - 1);
  for (const std::size_t w : widths) width += w;
  for (const std::size_t h : heights) height += h;
  Canvas canvas(width, height, background);
  std::size_t y = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    std::size_t x = 0;
    for (std::size_t c = 0; c < columns && r * columns + c < pictures.size(); ++c) {
      canvas.picture(static_cast<double>(x), static_cast<double>(y), pictures[r * columns + c]);
      x += widths[c] + gap;
    }
    y += heights[r] + gap;
  }
  return std::move(canvas).image();
}

}  // namespace vitruvian
