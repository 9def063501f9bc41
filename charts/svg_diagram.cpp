#include "vitruvian/charts/diagram.hpp"
#include "vitruvian/charts/svg_parts.hpp"

#include <fmt/format.h>

// Boxes and arrows.

namespace vitruvian::svg {
namespace {

using Point = DiagramLayout::Point;

std::string arrow(const DiagramLayout::Path& path) {
  const std::vector<Point>& points = path.points;
  std::string d;
  for (const Point& p : points)
    d += fmt::format("{}{:.1f},{:.1f}", d.empty() ? "M" : "L", p.x, p.y);
  const Point end = points.back();
  const Point before = points[points.size() - 2];
  const double angle = end.x > before.x ? 0 : end.x < before.x ? 180 : end.y > before.y ? 90 : 270;
  const char* const kind = path.back ? " back" : "";
  std::string svg = fmt::format(
      "<path class=\"flow{0}\" d=\"{1}\"/>\n<path class=\"head{0}\" d=\"M0,0L-8,-4L-8,4Z\" "
      "transform=\"translate({2:.1f} {3:.1f}) rotate({4:.0f})\"/>\n",
      kind, d, end.x, end.y, angle);
  if (path.label.empty()) return svg;
  const double y = path.label_at.y + (path.label_begins ? 4 : path.back ? 0 : 10);
  return svg + text_at(path.label_at.x, y, path.label_begins ? "start" : "middle", path.label,
                       path.back ? " class=\"back\"" : "");
}

}  // namespace

Piece piece_of(const Diagram& diagram) {
  if (diagram.boxes.empty()) return {};
  constexpr double letter = 6.6, line = 16, pad = 8;
  const DiagramLayout layout = layout_of(diagram, {.letter = letter,
                                                   .line = line,
                                                   .pad_x = 10,
                                                   .pad_y = pad,
                                                   .gap_x = 36,
                                                   .gap_y = 34,
                                                   .apart_x = 12,
                                                   .apart_y = 10,
                                                   .arch = 18});
  const double top = diagram.title.empty() ? 0 : title_height;
  std::string svg;
  for (const DiagramLayout::Path& path : layout.paths) svg += arrow(path);
  for (std::size_t i = 0; i < diagram.boxes.size(); ++i) {
    const DiagramLayout::Rectangle& r = layout.boxes[i];
    const Diagram::Box& box = diagram.boxes[i];
    const std::string tint =
        box.colour ? fmt::format(" t{}", *box.colour % palette) : std::string();
    svg += fmt::format(
        "<rect class=\"box{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
        "rx=\"5\"/>\n",
        tint, r.x, r.y, r.width, r.height);
    const double lines = static_cast<double>(box.lines.size()) + 1;
    double y = r.middle().y - line * lines / 2 + 12;
    svg += text_at(r.middle().x, y, "middle", box.name, " class=\"name\"");
    for (const std::string& text : box.lines) {
      y += line;
      svg += text_at(r.middle().x, y, "middle", text);
    }
  }
  return {fmt::format("{}<g transform=\"translate(0 {})\">\n{}</g>\n", title_of(diagram.title), top,
                      svg),
          layout.width, layout.height + top};
}

}  // namespace vitruvian::svg
