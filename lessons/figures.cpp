// Figures as lines of text, for a terminal and for pages alike.

#include "lessons/render.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace vitruvian::lessons {
namespace {

std::string repeated(std::string_view glyph, std::size_t times) {
  std::string result;
  for (std::size_t i = 0; i < times; ++i) result += glyph;
  return result;
}

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void see(double x) {
    if (!std::isfinite(x)) return;
    low = std::min(low, x);
    high = std::max(high, x);
  }
  // Where x lies between them, in [0, 1].
  [[nodiscard]] double place(double x) const {
    return high > low && std::isfinite(x) ? std::clamp((x - low) / (high - low), 0.0, 1.0) : 0;
  }
};

std::size_t step_of(double place, std::size_t last) {
  return static_cast<std::size_t>(std::lround(place * static_cast<double>(last)));
}

}  // namespace

std::vector<std::string> draw(const Picture& picture, std::size_t width) {
  constexpr std::array<std::string_view, 5> shades = {" ", "░", "▒", "▓", "█"};
  Range range;
  for (const double value : picture.values) range.see(value);
  const std::size_t across = 2 * picture.columns <= width ? 2 : 1;  // a glyph is tall
  std::vector<std::string> lines;
  for (std::size_t r = 0; r < picture.rows; ++r) {
    std::string line;
    for (std::size_t c = 0; c < std::min(picture.columns, width / across); ++c) {
      const double value = picture.values.at(r * picture.columns + c);
      line += repeated(shades[step_of(range.place(value), shades.size() - 1)], across);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> draw(const Bars& bars, std::size_t width) {
  const auto height = [&](double x) { return bars.log ? std::log10(x) : x; };
  std::size_t label_width = 0;
  Range range;
  if (!bars.log) range.see(0);
  for (const auto& [label, value] : bars.rows) {
    label_width = std::max(label_width, columns_of(label));
    if (!bars.log || value > 0) range.see(height(value));
  }
  constexpr std::size_t value_width = 9;
  const std::size_t taken = label_width + 3 + value_width;
  const std::size_t room = width > taken + 4 ? std::min<std::size_t>(width - taken, 48) : 4;
  if (bars.log) range.low -= (range.high - range.low) / static_cast<double>(room);  // never empty
  std::vector<std::string> lines;
  for (const auto& [label, value] : bars.rows) {
    const std::size_t length = step_of(range.place(height(value)), room);
    lines.push_back(fmt::format("{} │{} {}", padded(label, label_width), repeated("█", length),
                                bars.log ? fmt::format("{:.0e}", value) : number_text(value)));
  }
  return lines;
}

std::vector<std::string> draw(const Curves& curves, std::size_t width) {
  constexpr std::string_view marks = "*o+x#%";
  constexpr std::size_t rows = 12;
  constexpr std::size_t label_width = 9;
  const auto height = [&](double y) { return curves.log_y ? std::log10(y) : y; };
  Range across;
  Range up;
  for (const Curves::Series& s : curves.series) {
    for (const double x : s.x) across.see(x);
    for (const double y : s.y) up.see(height(y));
  }
  const std::size_t columns =
      width > label_width + 12 ? std::min<std::size_t>(width - label_width - 2, 60) : 10;
  std::vector<std::string> grid(rows, std::string(columns, ' '));
  for (std::size_t s = 0; s < curves.series.size(); ++s) {
    const Curves::Series& series = curves.series[s];
    for (std::size_t i = 0; i < series.x.size() && i < series.y.size(); ++i) {
      const std::size_t row = rows - 1 - step_of(up.place(height(series.y[i])), rows - 1);
      grid[row][step_of(across.place(series.x[i]), columns - 1)] = marks[s % marks.size()];
    }
  }
  std::vector<std::string> lines;
  for (std::size_t row = 0; row < rows; ++row) {
    const double place = 1 - static_cast<double>(row) / (rows - 1);
    const double y = up.low + place * (up.high - up.low);
    const bool labelled = row == 0 || row == rows - 1;
    lines.push_back(fmt::format(
        "{:>{}} │{}", labelled ? fmt::format("{:.3g}", curves.log_y ? std::pow(10, y) : y) : "",
        label_width, grid[row]));
  }
  lines.push_back(repeated(" ", label_width) + " └" + repeated("─", columns));
  const std::string left = fmt::format("{:.3g}", across.low);
  lines.push_back(fmt::format("{}{}{:>{}.3g}", repeated(" ", label_width + 2), left, across.high,
                              columns - left.size()));
  for (std::size_t s = 0; s < curves.series.size(); ++s) {
    lines.push_back(fmt::format("{}{} {}", repeated(" ", label_width + 2), marks[s % marks.size()],
                                curves.series[s].name));
  }
  return lines;
}

}  // namespace vitruvian::lessons
