#include "vitruvian/charts/svg.hpp"
#include "vitruvian/charts/svg_parts.hpp"
#include "vitruvian/media/image.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

// Pictures in rows, with what stands around them.

namespace vitruvian::svg {
namespace {

std::string picture(const Image& image, double x, double y, double width, double height,
                    std::string_view more = "") {
  return fmt::format(
      "<image x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
      "preserveAspectRatio=\"none\"{} href=\"{}\"/>\n",
      x, y, width, height, more, data_uri("image/png", encode_png(image)));
}

std::string frame_around(const char* kind, double x, double y, double width, double height) {
  return fmt::format(
      "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n", kind,
      x, y, width, height);
}

// The map from its end (on top) to its beginning, with its numbers; its left upper corner is (x,
// y).
Piece piece_of(const ColourBar& bar, double x, double y, double height) {
  constexpr std::size_t steps = 64;
  Matrix matrix{steps, 1, {}};
  for (std::size_t i = 0; i < steps; ++i) {
    matrix.values.push_back(1 - (static_cast<double>(i) + 0.5) / steps);
  }
  Piece piece{picture(coloured(matrix, bar.map, {0, 1}), x, y, 14, height, " class=\"smooth\"") +
              frame_around("frame", x, y, 14, height)};
  double widest = 0;
  const auto numbers = round_numbers(bar.range, static_cast<std::size_t>(height / 30));
  const double step = numbers.size() > 1 ? numbers[1] - numbers[0] : 0;
  for (const double number : numbers) {
    const std::string text = tick_text(number, step);
    piece.svg += text_at(x + 20, y + height * (1 - bar.range.place(number)) + 4, "start", text);
    widest = std::max(widest, width_of(text));
  }
  piece.width = 20 + widest + (bar.label.empty() ? 0 : 22);
  piece.svg += text_upwards(x + piece.width - 4, y + height / 2, bar.label);
  return piece;
}

// The names of `count` equal parts of a length with their middles; as many numbers as there is room
// for where there are no names.
std::vector<std::pair<double, std::string>> part_names(const std::vector<std::string>& names,
                                                       std::size_t count, double length,
                                                       double room) {
  std::vector<std::pair<double, std::string>> parts;
  if (!names.empty()) count = names.size();
  const double each = length / static_cast<double>(std::max<std::size_t>(count, 1));
  for (std::size_t i = 0; i < names.size(); ++i) {
    parts.emplace_back((static_cast<double>(i) + 0.5) * each, names[i]);
  }
  const double last = static_cast<double>(count) - 1;
  if (!names.empty() || count == 0) return parts;
  if (count == 1) return {{length / 2, "0"}};
  const auto most = static_cast<std::size_t>(std::clamp(length / room, 1.0, last));
  for (const double i : round_numbers({0, last}, most)) {
    if (i == std::floor(i)) parts.emplace_back((i + 0.5) * each, fmt::format("{:.0f}", i));
  }
  if (parts.size() > 1 && parts[1].first - parts[0].first < room * 0.75)
    parts.resize(1);  // lines touch
  return parts;
}

}  // namespace

Piece piece_of(const ImageGrid& grid) {
  if (grid.images.empty() || grid.columns == 0) return {};
  const Image& first = grid.images[0];
  const std::size_t columns = std::min(grid.columns, grid.images.size());
  const std::size_t rows = (grid.images.size() + columns - 1) / columns;
  const double gap = grid.images.size() == 1 ? 0 : std::clamp(grid.width / 12, 2.0, 10.0);
  const double width = grid.width;
  const double height =
      width * static_cast<double>(first.height) / static_cast<double>(first.width);
  const double across = static_cast<double>(columns) * (width + gap) - gap;
  const double down = static_cast<double>(rows) * (height + gap) - gap;
  const auto x_names = part_names(grid.x_names, grid.x_count, across + gap, 28);
  const auto y_names = part_names(grid.y_names, grid.y_count, down + gap, 18);
  double label = 0;
  for (const auto& [at, name] : y_names) label = std::max(label, width_of(name) + 8);
  const double x0 = label + (grid.y_label.empty() ? 0 : 20);
  const double y0 = grid.title.empty() ? 0 : title_height;

  Piece piece{title_of(grid.title)};
  for (std::size_t i = 0; i < grid.images.size(); ++i) {
    const std::size_t row = i / columns;
    const double x = x0 + static_cast<double>(i % columns) * (width + gap);
    const double y = y0 + static_cast<double>(row) * (height + gap);
    piece.svg += picture(grid.images[i], x, y, width, height);
    if (!grid.marked) continue;
    const double pixel = width / static_cast<double>(first.width);
    piece.svg += frame_around("mark", x + pixel * static_cast<double>(grid.marked->left) + 1,
                              y + pixel * static_cast<double>(grid.marked->top) + 1,
                              std::max(pixel * static_cast<double>(grid.marked->width) - 2, 1.0),
                              std::max(pixel * static_cast<double>(grid.marked->height) - 2, 1.0));
  }
  for (const auto& [at, name] : x_names) {
    piece.svg += text_at(x0 + at - gap / 2, y0 + down + 15, "middle", name);
  }
  for (const auto& [at, name] : y_names) {
    piece.svg += text_at(x0 - 6, y0 + at - gap / 2 + 4, "end", name);
  }
  piece.svg += text_upwards(12, y0 + down / 2, grid.y_label);
  piece.height = y0 + down + (x_names.empty() ? 0 : 18) + (grid.x_label.empty() ? 0 : 18);
  if (!grid.x_label.empty()) {
    piece.svg += text_at(x0 + across / 2, piece.height - 4, "middle", grid.x_label);
  }
  piece.width = x0 + across;
  if (grid.bar) {
    const double long_side = std::clamp(down, 100.0, 320.0);
    const Piece bar = piece_of(*grid.bar, piece.width + 14, y0 + 4, long_side - 4);
    piece.svg += bar.svg;
    piece.width += 14 + bar.width;
    piece.height = std::max(piece.height, y0 + long_side + 6);
  }
  piece.width = std::max(piece.width, 1.2 * width_of(grid.title));  // of larger letters
  return piece;
}

}  // namespace vitruvian::svg
