#pragma once

#include "vitruvian/charts/chart.hpp"

#include <string>
#include <string_view>

// What the files of charts/svg.hpp share. Internal to charts. Lengths are the SVG's own units,
// which are pixels where there is room; letters are 12 high.

namespace vitruvian::svg {

inline constexpr double title_height = 26;
inline constexpr std::size_t palette = 6;  ///< colours, and dashes, of series

/// Ready to be put beside others; empty where there is nothing to see.
struct Piece {
  std::string svg;
  double width = 0, height = 0;
};
Piece piece_of(const Chart& chart);
Piece piece_of(const ImageGrid& grid);
Piece piece_of(const Diagram& diagram);

/// A generous width of a text.
double width_of(std::string_view text);
/// <text> on the base line y; `anchor` is start, middle or end, `more` are attributes.
std::string text_at(double x, double y, const char* anchor, std::string_view text,
                    std::string_view more = "");
/// To be read from below, its middle at (x, y).
std::string text_upwards(double x, double y, std::string_view text);
/// Over a piece.
std::string title_of(std::string_view text);

}  // namespace vitruvian::svg
