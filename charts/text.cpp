#include "vitruvian/charts/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string_view>

namespace vitruvian {
namespace {

constexpr std::array<std::string_view, 5> shades = {" ", "░", "▒", "▓", "█"};

std::string repeated(std::string_view glyph, std::size_t times) {
  std::string result;
  for (std::size_t i = 0; i < times; ++i) result += glyph;
  return result;
}

// Which of the steps from 0 to `last` a value is on; 0 for NaN, and where all are the same.
std::size_t step_of(Range range, double value, std::size_t last) {
  if (!(range.high > range.low) || !std::isfinite(value)) return 0;
  const double place = std::clamp(range.place(value), 0.0, 1.0);
  return static_cast<std::size_t>(std::lround(place * static_cast<double>(last)));
}

std::string value_text(const Chart& chart, double x) {
  if (chart.log_y) return fmt::format("{:.0e}", x);
  if (std::abs(x) < 1e-12) return "0";
  if (x == std::round(x) && std::abs(x) < 1e12) return fmt::format("{:.0f}", x);  // a count
  return std::isnan(x) ? "nan" : fmt::format("{:.6g}", x);
}

// The length of a bar is its number, or, with log_y, the number's order of magnitude.
std::vector<std::string> bars(const Chart& chart, const Series& series, std::size_t width) {
  std::size_t label_width = 0;
  for (const std::string& name : chart.names) {
    label_width = std::max(label_width, console::characters(name));
  }
  constexpr std::size_t value_width = 9;
  const std::size_t taken = label_width + 3 + value_width;
  const std::size_t room = width > taken + 4 ? std::min<std::size_t>(width - taken, 48) : 4;
  std::vector<double> heights;
  for (const double y : series.y) heights.push_back(height_of(chart, y));
  if (!chart.log_y) heights.push_back(0);
  Range range = range_of(heights);
  if (chart.log_y) {  // no bar is empty
    range.low -= (range.high - range.low) / static_cast<double>(room);
  }
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < series.y.size(); ++i) {
    const std::string name = i < chart.names.size() ? chart.names[i] : "";
    lines.push_back(fmt::format(
        "{}{} │{} {}", name, std::string(label_width - console::characters(name), ' '),
        repeated("█", step_of(range, heights[i], room)), value_text(chart, series.y[i])));
  }
  return lines;
}

Colour pixel_at(const Image& rgb, std::size_t y, std::size_t x) {
  const std::uint8_t* const p = rgb.pixels.data() + 3 * (y * rgb.width + x);
  return {p[0], p[1], p[2]};
}

// On which of so many levels: ITU-R 601's brightness, in thousandths.
std::size_t brightness_of(Colour c, std::size_t levels) {
  return ((299U * c.r + 587U * c.g + 114U * c.b) * (levels - 1) + 127'500) / 255'000;
}

int squared_distance(Colour a, Colour b) {
  return (a.r - b.r) * (a.r - b.r) + (a.g - b.g) * (a.g - b.g) + (a.b - b.b) * (a.b - b.b);
}

// xterm's 16 to 231 are a cube of six levels a channel, 232 to 255 greys 8, 18, ..., 238.
int of_256(Colour colour) {
  constexpr std::array<int, 6> levels{0, 95, 135, 175, 215, 255};
  const auto level = [&levels](int v) {  // the nearest
    const auto nearer = [v](int a, int b) { return std::abs(a - v) < std::abs(b - v); };
    return static_cast<int>(std::min_element(levels.begin(), levels.end(), nearer) -
                            levels.begin());
  };
  const auto byte = [](int v) { return static_cast<std::uint8_t>(v); };
  const auto value = [&](int i) { return byte(levels[static_cast<std::size_t>(i)]); };
  const int r = level(colour.r);
  const int g = level(colour.g);
  const int b = level(colour.b);
  const int grey = std::clamp(((colour.r + colour.g + colour.b) / 3 - 3) / 10, 0, 23);
  const std::uint8_t shade = byte(8 + 10 * grey);
  return squared_distance(colour, {shade, shade, shade}) <
                 squared_distance(colour, {value(r), value(g), value(b)})
             ? 232 + grey
             : 16 + 36 * r + 6 * g + b;
}

std::string escape(int ground, Colour colour, bool deep) {
  if (!deep) return fmt::format("\x1b[{};5;{}m", ground, of_256(colour));
  return fmt::format("\x1b[{};2;{};{};{}m", ground, colour.r, colour.g, colour.b);
}

}  // namespace

std::vector<std::string> text_of(const Chart& chart, std::size_t width) {
  constexpr std::string_view marks = "*o+x#%";
  constexpr std::size_t rows = 12;
  constexpr std::size_t label_width = 9;
  std::vector<std::string> lines;
  for (const Series& series : chart.series) {
    if (series.mark != Mark::bars) continue;
    for (std::string& line : bars(chart, series, width)) lines.push_back(std::move(line));
  }
  if (!lines.empty()) return lines;
  const auto extent = extent_of(chart);
  if (!extent) return lines;
  const Range across = extent->x;
  Range up = chart.y.value_or(extent->y);
  if (chart.from_zero && !chart.y && !chart.log_y) {
    up = {std::min(0.0, up.low), std::max(0.0, up.high)};
  }
  const std::size_t columns =
      width > label_width + 12 ? std::min<std::size_t>(width - label_width - 2, 60) : 10;
  std::vector<std::string> grid(rows, std::string(columns, ' '));
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    const Series& series = chart.series[s];
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      const double y = height_of(chart, series.y[i]);
      if (std::isnan(y) || !std::isfinite(series.x[i])) continue;
      const std::size_t row = rows - 1 - step_of(up, y, rows - 1);
      grid[row][step_of(across, series.x[i], columns - 1)] = marks[s % marks.size()];
    }
  }
  for (std::size_t row = 0; row < rows; ++row) {
    const double y = up.low + (1 - static_cast<double>(row) / (rows - 1)) * (up.high - up.low);
    const bool labelled = row == 0 || row == rows - 1;
    const bool noise = std::abs(y) < 1e-9 * (up.high - up.low);  // around 0
    const double value = chart.log_y ? std::pow(10, y) : noise ? 0 : y;
    lines.push_back(fmt::format("{:>{}} │{}", labelled ? fmt::format("{:.3g}", value) : "",
                                label_width, grid[row]));
  }
  lines.push_back(std::string(label_width, ' ') + " └" + repeated("─", columns));
  const std::string from = fmt::format("{:.3g}", across.low);
  const std::string to = fmt::format("{:.3g}", across.high);
  const std::size_t between = columns - std::min(columns, from.size() + to.size());
  const std::size_t named = console::characters(chart.x_label);
  const std::string label = named + 2 > between ? "" : chart.x_label;
  const std::string blanks(between - (label.empty() ? 0 : named), ' ');
  lines.push_back(std::string(label_width + 2, ' ') + from + blanks.substr(blanks.size() / 2) +
                  label + blanks.substr(0, blanks.size() / 2) + to);
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    lines.push_back(fmt::format("{}{} {}", std::string(label_width + 2, ' '),
                                marks[s % marks.size()], chart.series[s].name));
  }
  return lines;
}

std::vector<std::string> text_of(const Matrix& matrix, std::size_t width) {
  const Range range = range_of(matrix.values);
  const std::size_t across = 2 * matrix.columns <= width ? 2 : 1;  // a glyph is tall
  std::vector<std::string> lines;
  for (std::size_t r = 0; r < matrix.rows; ++r) {
    std::string line;
    for (std::size_t c = 0; c < std::min(matrix.columns, width / across); ++c) {
      const double value = matrix.values.at(r * matrix.columns + c);
      line += repeated(shades[step_of(range, value, shades.size() - 1)], across);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> text_of(const ImageGrid& grid, std::size_t width) {
  if (grid.images.empty() || grid.columns == 0) return {};
  const std::size_t columns = std::min(grid.columns, grid.images.size());
  const std::size_t room = std::max<std::size_t>((width + 2) / columns, 4) - 2;
  std::size_t apart = 0;  // from one picture to the next
  for (const Image& image : grid.images) {
    apart = std::max(apart, 2 * std::min(image.width, room / 2) + 2);
  }
  for (const std::string& name : grid.x_names) {
    if (grid.x_names.size() == columns) apart = std::max(apart, console::characters(name) + 1);
  }
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < grid.images.size(); begin += columns) {
    if (begin > 0) lines.emplace_back();
    if (begin / columns < grid.y_names.size()) lines.push_back(grid.y_names[begin / columns] + ":");
    const std::size_t first = lines.size();
    const std::size_t end = std::min(begin + columns, grid.images.size());
    for (std::size_t i = begin; i < end; ++i) {
      const Image rgb = in_rgb(shrunk(grid.images[i], room / 2, grid.images[i].height));
      lines.resize(std::max(lines.size(), first + rgb.height));
      for (std::size_t y = first; y < lines.size(); ++y) {  // to where this picture begins
        const std::size_t at = (i - begin) * apart;
        lines[y] += std::string(at - std::min(at, console::characters(lines[y])), ' ');
      }
      for (std::size_t y = 0; y < rgb.height; ++y) {
        for (std::size_t x = 0; x < rgb.width; ++x) {
          lines[first + y] +=
              repeated(shades[brightness_of(pixel_at(rgb, y, x), shades.size())], 2);
        }
      }
    }
  }
  if (grid.x_names.size() == columns) {
    std::string names;
    for (std::size_t i = 0; i < columns; ++i) {
      const std::size_t at = i * apart;
      names += std::string(at - std::min(at, console::characters(names)), ' ') + grid.x_names[i];
    }
    lines.push_back(names);
  }
  return lines;
}

std::string text_of(const Image& image, const console::Terminal& terminal) {
  const bool blocks = terminal.colour && terminal.utf8;
  const std::size_t across = blocks ? 1 : 2;  // columns of a pixel
  const std::size_t room = std::max<std::size_t>(terminal.columns / across, 1);
  const Image rgb = in_rgb(shrunk(image, room, image.height));
  std::string text;
  if (!blocks) {
    constexpr std::string_view ramp = " .:-=+*#%@";
    for (std::size_t y = 0; y < rgb.height; ++y) {
      for (std::size_t x = 0; x < rgb.width; ++x) {
        text.append(2, ramp[brightness_of(pixel_at(rgb, y, x), ramp.size())]);
      }
      text.erase(text.find_last_not_of(' ') + 1);
      text += '\n';
    }
    return text;
  }
  for (std::size_t y = 0; y < rgb.height; y += 2) {
    for (std::size_t x = 0; x < rgb.width; ++x) {
      text += escape(38, pixel_at(rgb, y, x), terminal.deep_colour);
      if (y + 1 < rgb.height) text += escape(48, pixel_at(rgb, y + 1, x), terminal.deep_colour);
      text += "▀";
    }
    text += "\x1b[0m\n";
  }
  return text;
}

void Sparkline::add(double value) {
  if (!std::isfinite(value)) return;
  sum_ += value;
  if (++count_ < each_) return;
  means_.push_back(sum_ / static_cast<double>(count_));
  sum_ = 0;
  count_ = 0;
  if (means_.size() < 64) return;
  for (std::size_t i = 0; i < 32; ++i) means_[i] = (means_[2 * i] + means_[2 * i + 1]) / 2;
  means_.resize(32);
  each_ *= 2;
}

std::string Sparkline::text(std::size_t width) const {
  std::vector<double> values = means_;
  if (count_ > 0) values.push_back(sum_ / static_cast<double>(count_));
  if (values.empty() || width == 0) return "";
  std::vector<double> bars = thinned({"", values, values}, width).y;
  // By its logarithm: a loss that falls from 2.3 to 0.2 would hide a later fall to 0.05.
  const double least = *std::max_element(bars.begin(), bars.end()) * 1e-4;
  for (double& value : bars) value = least > 0 ? std::log(std::max(value, least)) : value;
  const auto [low, high] = std::minmax_element(bars.begin(), bars.end());
  std::string text;
  for (const double value : bars) {
    const double share = *high > *low ? (value - *low) / (*high - *low) : 0;
    text += "\xE2\x96";  // U+2581 to U+2588
    text += static_cast<char>(0x81 + std::min(7, static_cast<int>(8 * share)));
  }
  return text;
}

}  // namespace vitruvian
