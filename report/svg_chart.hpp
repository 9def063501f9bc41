#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace vitruvian {

/// One line of a chart. The x ascend; where y is no number the line has a gap.
struct ChartLine {
  std::string name;
  std::size_t colour = 0;  ///< which of the page's colours and dashes; they repeat after six
  std::vector<double> x{}, y{};
  std::vector<double> low{}, high{};  ///< a band around the line; may be empty
};

struct SvgChart {
  std::string title;
  std::string x_name = "epoch";
  std::vector<ChartLine> lines{};
  bool percent = false;    ///< y are shares
  bool from_zero = false;  ///< the axis begins at 0, whatever the values
};

/// A drawn line has at most so many points.
inline constexpr std::size_t most_chart_points = 200;

/// The line with at most `points` points: the mean of each run of neighbours, with their least and
/// greatest value as its band. A line that is short enough is left as it is.
ChartLine thinned(const ChartLine& line, std::size_t points);

/// The chart as an SVG element for a page of report/page.hpp, whose styles it takes: axes, a
/// legend, and under the pointer the values at that place. A chart without any number is empty.
std::string svg_of(const SvgChart& chart);

/// At most about `count` round numbers (1, 2 or 5 times a power of ten apart) in [low, high].
std::vector<double> round_ticks(double low, double high, std::size_t count);

}  // namespace vitruvian
