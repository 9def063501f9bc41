#pragma once

#include "vitruvian/charts/chart.hpp"
#include "vitruvian/core/base/console.hpp"

#include <string>
#include <vector>

// Charts and pictures as lines of text.

namespace vitruvian {

/// A chart at most `width` columns wide, without its title: each kind of bars a line a bar, with
/// its name and number; else y against x, a letter a series.
std::vector<std::string> text_of(const Chart& chart, std::size_t width);
/// A matrix as shades from the least to the largest number; what is NaN is empty, and what is too
/// wide is cut off.
std::vector<std::string> text_of(const Matrix& matrix, std::size_t width);
/// Pictures as shades of their brightness, beside each other as the grid has them, with the names
/// of columns below and of rows above; those that are too wide are shrunk.
std::vector<std::string> text_of(const ImageGrid& grid, std::size_t width);
/// Boxes and arrows; what is too wide is cut off.
std::vector<std::string> text_of(const Diagram& diagram, std::size_t width);

/// A picture, each line with its newline: two pixels in a half block where the terminal has
/// colours, ASCII from ' ' to '@' by brightness, two a pixel, elsewhere. One that is too wide is
/// shrunk.
std::string text_of(const Image& image, const console::Terminal& terminal);

/// A series of any length as a few characters of text, one eighth to eight eighths high, from the
/// least to the greatest mean of neighbours. NaN is left out. It keeps at most 64 numbers: when
/// there are more, two neighbours become their mean.
class Sparkline {
 public:
  void add(double value);
  [[nodiscard]] bool empty() const { return means_.empty() && count_ == 0; }
  /// At most `width` characters (in UTF-8, three bytes each).
  [[nodiscard]] std::string text(std::size_t width) const;

 private:
  std::vector<double> means_;  // of `each_` values
  std::size_t each_ = 1;
  double sum_ = 0;  // of the `count_` latest values, fewer than `each_`
  std::size_t count_ = 0;
};

}  // namespace vitruvian
