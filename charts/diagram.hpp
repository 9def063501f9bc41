#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace vitruvian {

/// Boxes on a grid and arrows between them: a tape, a block, what flows through a model. Whoever
/// draws one says where boxes stand; arrows find their way around them.
struct Diagram {
  struct Box {
    std::string name;  ///< its first line, and what arrows call it
    std::vector<std::string> lines{};
    std::size_t column = 0, row = 0;
    std::optional<std::size_t> colour{};  ///< which of the palette's; without: none
  };
  struct Arrow {
    std::string from, to;
    std::string label{};
    /// What goes the other way, beside a dashed arrow of its own: a cotangent; empty: nothing does.
    std::string back{};
  };
  std::string title{};
  std::vector<Box> boxes{};
  std::vector<Arrow> arrows{};
};

/// How large a diagram's parts are, in the units of who draws it.
struct DiagramMeasure {
  double letter = 1, line = 1;      ///< of text
  double pad_x = 2, pad_y = 1;      ///< between a box' text and its frame
  double gap_x = 6, gap_y = 2;      ///< between boxes, at least
  double apart_x = 3, apart_y = 1;  ///< an arrow and the one that goes back
  double arch = 2;                  ///< how high above its boxes an arrow goes over others
};

/// Where everything of a diagram stands; x grows to the right, y down.
struct DiagramLayout {
  struct Point {
    double x = 0, y = 0;
  };
  struct Rectangle {
    double x = 0, y = 0, width = 0, height = 0;
    [[nodiscard]] Point middle() const { return {x + width / 2, y + height / 2}; }
  };
  /// Corners from beginning to end, each beside or above the next; the label's middle, or, beside a
  /// vertical line, its beginning.
  struct Path {
    std::vector<Point> points;
    std::string label;
    Point label_at;
    bool label_begins = false;
    bool back = false;
  };
  std::vector<Rectangle> boxes;  ///< in the order of the diagram's
  std::vector<Path> paths;
  double width = 0, height = 0;
};

/// Throws where an arrow names a box that is not there, or two boxes stand in one place.
DiagramLayout layout_of(const Diagram& diagram, const DiagramMeasure& measure);

}  // namespace vitruvian
