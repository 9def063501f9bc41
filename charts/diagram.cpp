#include "vitruvian/charts/diagram.hpp"

#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/error.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

// Where a diagram's boxes stand, and how its arrows go around them.

namespace vitruvian {
namespace {

using Box = Diagram::Box;
using Point = DiagramLayout::Point;
using Rectangle = DiagramLayout::Rectangle;

double letters_of(const std::string& text) {
  return static_cast<double>(console::characters(text));
}

double halved(double length) { return std::floor(length / 2); }  // whole where units are letters

class Layouter {
 public:
  Layouter(const Diagram& diagram, const DiagramMeasure& measure)
      : diagram_(diagram), measure_(measure) {
    for (const Box& box : diagram.boxes) {
      columns_ = std::max(columns_, box.column + 1);
      rows_ = std::max(rows_, box.row + 1);
      if (const Box* const first = at(box.column, box.row); first != &box) {
        fail("a diagram's boxes '{}' and '{}' stand in one place", first->name, box.name);
      }
    }
  }

  DiagramLayout layout() {
    place_boxes();
    for (const Diagram::Arrow& arrow : diagram_.arrows) draw(arrow);
    return std::move(result_);
  }

 private:
  // Null where there is none.
  [[nodiscard]] const Box* at(std::size_t column, std::size_t row) const {
    for (const Box& box : diagram_.boxes) {
      if (box.column == column && box.row == row) return &box;
    }
    return nullptr;
  }
  [[nodiscard]] std::size_t named(const std::string& name) const {
    for (std::size_t i = 0; i < diagram_.boxes.size(); ++i) {
      if (diagram_.boxes[i].name == name) return i;
    }
    fail("a diagram has no box '{}'", name);
  }

  // Room between the columns c and c + 1: for the labels of what goes from one to the other.
  [[nodiscard]] double gap_after(std::size_t c) const {
    double gap = measure_.gap_x;
    for (const Diagram::Arrow& arrow : diagram_.arrows) {
      const std::size_t a = diagram_.boxes[named(arrow.from)].column;
      const std::size_t b = diagram_.boxes[named(arrow.to)].column;
      if (std::min(a, b) != c || std::max(a, b) != c + 1) continue;
      gap = std::max(
          gap, measure_.letter * (std::max(letters_of(arrow.label), letters_of(arrow.back)) + 4));
    }
    return gap;
  }

  void place_boxes() {
    const bool back = std::any_of(diagram_.arrows.begin(), diagram_.arrows.end(),
                                  [](const Diagram::Arrow& arrow) { return !arrow.back.empty(); });
    std::vector<double> widths(columns_), heights(rows_);
    for (const Box& box : diagram_.boxes) {
      double letters = letters_of(box.name);
      for (const std::string& line : box.lines) letters = std::max(letters, letters_of(line));
      const double lines = static_cast<double>(box.lines.size()) + 1;
      const double height = measure_.line * std::max(lines, back ? 2.0 : 1.0);
      result_.boxes.push_back(
          {0, 0, measure_.letter * letters + 2 * measure_.pad_x, height + 2 * measure_.pad_y});
      widths[box.column] = std::max(widths[box.column], result_.boxes.back().width);
      heights[box.row] = std::max(heights[box.row], result_.boxes.back().height);
    }
    std::vector<double> lefts, tops;
    for (std::size_t c = 0; c < columns_; ++c) {
      lefts.push_back(result_.width);
      result_.width += widths[c] + (c + 1 < columns_ ? gap_after(c) : 0);
    }
    // Above a row over which an arrow arches is room for its label, and above the first for the
    // arch.
    for (std::size_t r = 0; r < rows_; ++r) {
      const bool arched = std::any_of(diagram_.arrows.begin(), diagram_.arrows.end(),
                                      [&](const Diagram::Arrow& arrow) {
                                        const Box& a = diagram_.boxes[named(arrow.from)];
                                        const Box& b = diagram_.boxes[named(arrow.to)];
                                        return a.row == r && b.row == r && !free_row(a, b);
                                      });
      result_.height += arched ? measure_.line + (r == 0 ? measure_.arch : 0) : 0;
      tops.push_back(result_.height);
      result_.height += heights[r] + (r + 1 < rows_ ? measure_.gap_y : 0);
    }
    for (std::size_t i = 0; i < diagram_.boxes.size(); ++i) {
      Rectangle& r = result_.boxes[i];
      r.x = lefts[diagram_.boxes[i].column] + halved(widths[diagram_.boxes[i].column] - r.width);
      r.y = tops[diagram_.boxes[i].row] + halved(heights[diagram_.boxes[i].row] - r.height);
    }
  }

  [[nodiscard]] bool free_row(const Box& a, const Box& b) const {
    for (std::size_t c = std::min(a.column, b.column) + 1; c < std::max(a.column, b.column); ++c) {
      if (at(c, a.row) != nullptr) return false;
    }
    return true;
  }
  [[nodiscard]] bool free_column(const Box& a, const Box& b) const {
    for (std::size_t r = std::min(a.row, b.row) + 1; r < std::max(a.row, b.row); ++r) {
      if (at(a.column, r) != nullptr) return false;
    }
    return true;
  }

  // The corners of the way from a to b.
  [[nodiscard]] std::vector<Point> way(const Box& a, const Box& b, const Rectangle& from,
                                       const Rectangle& to) const {
    const Point m{from.x + halved(from.width), from.y + halved(from.height)};
    const Point n{to.x + halved(to.width), to.y + halved(to.height)};
    const bool right = n.x > m.x, down = n.y > m.y;
    const double leave_x = right ? from.x + from.width : from.x;
    const double enter_x = right ? to.x : to.x + to.width;
    const double leave_y = down ? from.y + from.height : from.y;
    const double enter_y = down ? to.y : to.y + to.height;
    if (a.row == b.row && free_row(a, b)) return {{leave_x, m.y}, {enter_x, m.y}};
    if (a.row == b.row) {  // over what stands between
      const double above = std::min(from.y, to.y) - measure_.arch;
      return {{m.x, from.y}, {m.x, above}, {n.x, above}, {n.x, to.y}};
    }
    if (a.column == b.column && free_column(a, b)) return {{m.x, leave_y}, {m.x, enter_y}};
    if (a.column == b.column) {  // along the right side
      const double side = std::max(from.x + from.width, to.x + to.width) + halved(measure_.gap_x);
      return {{from.x + from.width, m.y}, {side, m.y}, {side, n.y}, {to.x + to.width, n.y}};
    }
    Box corner = a;
    corner.column = b.column;
    if (at(b.column, a.row) == nullptr && free_row(a, corner) && free_column(corner, b)) {
      return {{leave_x, m.y}, {n.x, m.y}, {n.x, enter_y}};
    }
    corner = b;
    corner.column = a.column;
    if (at(a.column, b.row) == nullptr && free_column(a, corner) && free_row(corner, b)) {
      return {{m.x, leave_y}, {m.x, n.y}, {enter_x, n.y}};
    }
    const double middle = enter_x + (right ? -1 : 1) * halved(measure_.gap_x);
    return {{leave_x, m.y}, {middle, m.y}, {middle, n.y}, {enter_x, n.y}};
  }

  void draw(const Diagram::Arrow& arrow) {
    const std::size_t from = named(arrow.from);
    const std::size_t to = named(arrow.to);
    std::vector<Point> points =
        way(diagram_.boxes[from], diagram_.boxes[to], result_.boxes[from], result_.boxes[to]);
    add(points, arrow.label, arrow.back.empty() ? Side::right : Side::left, false);
    if (arrow.back.empty()) return;
    // Beside the way there: below what is level, to the right of what is upright.
    bool level = false, upright = false;
    for (std::size_t i = 1; i < points.size(); ++i) {
      (points[i].y == points[i - 1].y ? level : upright) = true;
    }
    const double x = upright ? measure_.apart_x : 0;
    const double y = level ? measure_.apart_y : 0;
    for (Point& p : points) p = {p.x + x, p.y + y};
    // Its ends touch the boxes as those of the way there did.
    if (points[0].y == points[1].y) points[0].x -= x;
    if (points[0].x == points[1].x) points[0].y -= y;
    Point& last = points.back();
    const Point& before = points[points.size() - 2];
    if (last.y == before.y) last.x -= x;
    if (last.x == before.x) last.y -= y;
    std::reverse(points.begin(), points.end());
    add(points, arrow.back, Side::right, true);
  }

  // The label stands over the middle of the longest part (of one that goes back, below it), or on
  // this side of it.
  enum class Side { left, right };
  void add(const std::vector<Point>& points, const std::string& label, Side side, bool back) {
    std::size_t longest = 1;
    const auto length = [&](std::size_t i) {
      return std::abs(points[i].x - points[i - 1].x) + std::abs(points[i].y - points[i - 1].y);
    };
    for (std::size_t i = 2; i < points.size(); ++i) {
      if (length(i) > length(longest)) longest = i;
    }
    const Point a = points[longest - 1];
    const Point b = points[longest];
    const bool level = a.y == b.y;
    DiagramLayout::Path path{points, label, {(a.x + b.x) / 2, (a.y + b.y) / 2}, !level, back};
    if (level) path.label_at.y += back ? measure_.line : -measure_.line;
    if (!level) {
      path.label_at.x +=
          side == Side::right ? 2 * measure_.letter : -measure_.letter * (letters_of(label) + 1);
    }
    for (const Point& p : points) {
      result_.width = std::max(result_.width, p.x + measure_.letter);
      result_.height = std::max(result_.height, p.y + measure_.line);
    }
    if (!level) {
      result_.width =
          std::max(result_.width, path.label_at.x + measure_.letter * letters_of(label));
    }
    result_.height = std::max(result_.height, path.label_at.y + measure_.line);
    result_.paths.push_back(std::move(path));
  }

  const Diagram& diagram_;
  const DiagramMeasure& measure_;
  std::size_t columns_ = 0, rows_ = 0;
  DiagramLayout result_;
};

}  // namespace

DiagramLayout layout_of(const Diagram& diagram, const DiagramMeasure& measure) {
  return Layouter(diagram, measure).layout();
}

}  // namespace vitruvian
