#pragma once

#include "media/colours.hpp"

#include <optional>
#include <string>
#include <vector>

// Figures: a picture, and around it what tells how to read it.

namespace vitruvian {

/// A mark on an axis: `at` is in pixels from the picture's left or upper edge.
struct Tick {
  double at = 0;
  std::string text;
};

struct ColourBar {
  ColourMap map = ColourMap::viridis;
  Range range;
  std::string label;
};

/// What stands around a picture. Whatever is empty takes no room.
struct Frame {
  std::string title, x_label, y_label;
  std::vector<Tick> x_ticks = {}, y_ticks = {};
  std::optional<ColourBar> bar = {};
};
Image framed(const Image& picture, const Frame& frame);

/// Round numbers in a range, at most about `count`.
std::vector<double> round_numbers(Range range, std::size_t count);
/// As few digits as tell numbers `step` apart.
std::string tick_text(double value, double step);
/// A tick in the middle of some of `count` cells, each `pitch` pixels wide, numbered from `first`:
/// as many as there is room for.
std::vector<Tick> cell_ticks(std::size_t count, double pitch, std::size_t first = 0);

/// A matrix whose cells are whole squares, so that it is sharp: axes are numbered by row and
/// column.
struct HeatMap {
  Matrix matrix;
  std::string title, x_label, y_label, bar_label;
  ColourMap map = ColourMap::viridis;
  std::optional<Range> range = {};  ///< without: the least to the largest
};
/// The longer side takes at most `side` pixels, but a cell at least one.
Image drawn(const HeatMap& heat_map, std::size_t side = 640);

/// Lines and dots over two axes.
struct Chart {
  struct Series {
    std::string name;  ///< in the legend; empty: not there
    std::vector<double> x, y;
    bool line = true;  ///< otherwise dots
  };
  std::string title, x_label, y_label;
  std::vector<Series> series;
  std::optional<Range> x = {}, y = {};  ///< without: what the numbers need, zero included
  bool whole_x = false;                 ///< x counts: ticks at whole numbers only
  bool log_y = false;                   ///< numbers that are not above 0 are left out
};
Image drawn(const Chart& chart, std::size_t width = 760, std::size_t height = 480);

/// Pictures of any sizes in rows of `columns`, `gap` pixels between them.
Image tiled(const std::vector<Image>& pictures, std::size_t columns, std::size_t gap,
            Colour background = white);

}  // namespace vitruvian
