#pragma once

#include "vitruvian/charts/colours.hpp"
#include "vitruvian/charts/diagram.hpp"
#include "vitruvian/media/image.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

// What a chart says, as data. charts/svg.hpp draws it for pages and files, charts/text.hpp for a
// terminal.

namespace vitruvian {

enum class Mark { line, dots, bars };

/// One line, or one kind of dots or bars. The x of a line ascend; where y is NaN it has a gap.
struct Series {
  std::string name{};  ///< in the legend; empty: not there
  std::vector<double> x{}, y{};
  Mark mark = Mark::line;
  std::optional<std::size_t> colour{};  ///< which of the palette's; without: its place in the chart
  std::vector<double> low{}, high{};    ///< a band around a line; may be empty
};

/// Lines, dots and bars over two axes.
struct Chart {
  std::string title{};
  std::string x_label{}, y_label{};
  std::vector<Series> series{};
  std::optional<Range> y{};  ///< without: what the numbers need
  bool from_zero = false;    ///< without `y`: the axis begins at 0, whatever the numbers
  bool whole_x = false;      ///< x counts: ticks at whole numbers only
  bool log_y = false;        ///< numbers that are not above 0 are left out
  bool percent = false;      ///< y are shares, shown in percent
  /// Of bars that lie, one below the other, in the place of their x.
  std::vector<std::string> names{};
  bool tips = true;  ///< in SVG: the values, where the pointer is; not for what is only looked at
};

/// The colours beside a picture and the numbers that they stand for.
struct ColourBar {
  ColourMap map = ColourMap::viridis;
  Range range;
  std::string label{};
};

/// Pictures in rows, all drawn as large as the first: a heat map, the attention of every head, a
/// photograph beside what explains it. Pixels stay sharp squares.
struct ImageGrid {
  std::string title{};
  std::string x_label{}, y_label{};
  std::vector<Image> images{};
  std::size_t columns = 1;
  double width = 100;                             ///< of one of them; letters are 12 high
  std::vector<std::string> x_names{}, y_names{};  ///< of columns and rows
  std::size_t x_count = 0, y_count = 0;  ///< so many equal parts of the whole are numbered from 0
  std::optional<ColourBar> bar{};
  std::optional<Box> marked{};  ///< a frame in each picture, in the first one's pixels
};

/// A matrix as a grid of one picture, at most about `side` wide and high; rows and columns are
/// numbered: those of its numbers, or of the pictures that are laid out in it, if those fill
/// several rows. Without a range: the least to the largest number.
ImageGrid heat_map(const Matrix& matrix, std::string title, ColourBar bar, double side = 400);

/// A figure: charts, grids and diagrams beside and below each other.
struct Drawing {
  using Panel = std::variant<Chart, ImageGrid, Diagram>;
  std::vector<std::vector<Panel>> rows{};
};

/// At most about `count` round numbers (1, 2 or 5 times a power of ten apart) in a range; none
/// where it is empty.
std::vector<double> round_numbers(Range range, std::size_t count);
/// As few digits as tell numbers `step` apart.
std::string tick_text(double value, double step);

/// A drawn line has at most so many points.
inline constexpr std::size_t most_points = 200;
/// The series with at most `points` points: the mean of each run of neighbours, with their least
/// and greatest value as its band, or the mean of the band that it has. One that is short enough is
/// left as it is.
Series thinned(const Series& series, std::size_t points = most_points);

/// Where a chart's axes begin and end; y as the logarithm to 10 where the chart has that. Throws
/// where a series has not as many y as x, or a band of another length. Without any number there is
/// none.
struct Extent {
  Range x, y;
};
std::optional<Extent> extent_of(const Chart& chart);
/// y, or its logarithm; NaN where that does not exist.
double height_of(const Chart& chart, double y);

}  // namespace vitruvian
