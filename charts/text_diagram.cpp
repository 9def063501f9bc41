#include "vitruvian/charts/diagram.hpp"
#include "vitruvian/charts/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

// Boxes and arrows of letters.

namespace vitruvian {
namespace {

using Point = DiagramLayout::Point;

// A page of letters. A line is kept as the sides to which each of its places is open, so that lines
// that meet join.
class Paper {
 public:
  Paper(std::size_t columns, std::size_t rows)
      : columns_(columns), glyphs_(columns * rows), sides_(columns * rows) {}

  void line(Point from, Point to, bool dashed) {
    if (from.x > to.x || from.y > to.y) std::swap(from, to);
    const bool level = from.y == to.y;
    for (Point p = from; level ? p.x < to.x : p.y < to.y; (level ? p.x : p.y) += 1) {
      open(p, level ? right : down, dashed);
      open({p.x + (level ? 1 : 0), p.y + (level ? 0 : 1)}, level ? left : up, dashed);
    }
  }
  void write(Point at, std::string_view text) {
    while (!text.empty()) {
      const std::size_t bytes = std::max<std::size_t>(console::first_of(text).bytes, 1);
      if (std::string* const glyph = glyph_at(at)) *glyph = std::string(text.substr(0, bytes));
      text.remove_prefix(bytes);
      at.x += 1;
    }
  }
  // Within it nothing else is left.
  void clear(const DiagramLayout::Rectangle& r) {
    for (double y = r.y; y < r.y + r.height; ++y) {
      for (double x = r.x; x < r.x + r.width; ++x) {
        if (std::string* const glyph = glyph_at({x, y})) *glyph = " ";
      }
    }
  }

  [[nodiscard]] std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < glyphs_.size(); ++i) {
      if (i % columns_ == 0) lines.emplace_back();
      lines.back() += !glyphs_[i].empty() ? glyphs_[i] : std::string(glyph_of(sides_[i]));
    }
    for (std::string& line : lines) line.erase(line.find_last_not_of(' ') + 1);
    while (!lines.empty() && lines.back().empty()) lines.pop_back();
    return lines;
  }

 private:
  static constexpr unsigned up = 1, right = 2, down = 4, left = 8, dashes = 16;

  static std::string_view glyph_of(unsigned sides) {
    constexpr std::array<std::string_view, 16> joined = {" ", "│", "─", "└", "│", "│", "┌", "├",
                                                         "─", "┘", "─", "┴", "┐", "┤", "┬", "┼"};
    if (sides == (dashes | left | right)) return "╌";
    if (sides == (dashes | up | down)) return "╎";
    return joined.at(sides & 15U);
  }
  std::string* glyph_at(Point p) {
    const auto x = static_cast<std::size_t>(p.x), y = static_cast<std::size_t>(p.y);
    return p.x < 0 || p.y < 0 || x >= columns_ || y * columns_ + x >= glyphs_.size()
               ? nullptr
               : &glyphs_[y * columns_ + x];
  }
  void open(Point p, unsigned side, bool dashed) {
    if (glyph_at(p) == nullptr) return;
    unsigned& sides =
        sides_[static_cast<std::size_t>(p.y) * columns_ + static_cast<std::size_t>(p.x)];
    sides |= side | (dashed ? dashes : 0U);
  }

  std::size_t columns_;
  std::vector<std::string> glyphs_;  // what is written over the lines
  std::vector<unsigned> sides_;
};

}  // namespace

std::vector<std::string> text_of(const Diagram& diagram, std::size_t width) {
  DiagramMeasure measure;
  DiagramLayout layout = layout_of(diagram, measure);
  if (layout.width > static_cast<double>(width)) {  // as tight as it goes
    measure.pad_x = 1, measure.gap_x = 3;
    layout = layout_of(diagram, measure);
  }
  Paper paper(static_cast<std::size_t>(layout.width) + 1,
              static_cast<std::size_t>(layout.height) + 1);
  for (const DiagramLayout::Path& path : layout.paths) {
    for (std::size_t i = 1; i < path.points.size(); ++i) {
      paper.line(path.points[i - 1], path.points[i], path.back);
    }
  }
  for (std::size_t i = 0; i < diagram.boxes.size(); ++i) {
    const DiagramLayout::Rectangle& r = layout.boxes[i];
    paper.clear(r);
    std::string bar;
    for (double x = 2; x < r.width; ++x) bar += "─";
    paper.write({r.x, r.y}, "┌" + bar + "┐");
    paper.write({r.x, r.y + r.height - 1}, "└" + bar + "┘");
    for (double y = r.y + 1; y < r.y + r.height - 1; ++y) {
      paper.write({r.x, y}, "│");
      paper.write({r.x + r.width - 1, y}, "│");
    }
    double y = r.y + 1;
    const auto centred = [&](const std::string& text) {
      const double room = r.width - static_cast<double>(console::characters(text));
      paper.write({r.x + std::floor(room / 2), y++}, text);
    };
    centred(diagram.boxes[i].name);
    for (const std::string& line : diagram.boxes[i].lines) centred(line);
  }
  for (const DiagramLayout::Path& path : layout.paths) {
    const Point end = path.points.back();
    const Point before = path.points[path.points.size() - 2];
    // In the last place before the box' frame; a frame's right and lower edge end before it.
    if (end.y == before.y) {
      const bool to_right = end.x > before.x;
      paper.write({to_right ? end.x - 1 : end.x, end.y}, to_right ? "▶" : "◀");
    } else {
      const bool to_below = end.y > before.y;
      paper.write({end.x, to_below ? end.y - 1 : end.y}, to_below ? "▼" : "▲");
    }
    const double half = path.label_begins
                            ? 0
                            : std::floor(static_cast<double>(console::characters(path.label)) / 2);
    paper.write({std::floor(path.label_at.x) - half, std::floor(path.label_at.y)}, path.label);
  }
  std::vector<std::string> lines = paper.lines();
  for (std::string& line : lines) line = console::first_characters(line, width);
  return lines;
}

}  // namespace vitruvian
