#pragma once

#include <string>
#include <vector>

namespace vitruvian::lessons {

/// A line of the table of contents.
struct Entry {
  int number;
  std::string name;  ///< "softmax": the file is lessons/09_softmax.cpp
  std::string title;
  std::string equation;  ///< in Unicode, on one line
  int minutes;
  /// Rows of docs/requirements.md, section A, that stand in the lesson: "2-3 4-1". Those of B come
  /// with `sources_disagree`. The page says them, and a test lays the two side by side.
  std::string rows = {};

  /// "09_softmax"
  [[nodiscard]] std::string id() const;
  /// "lessons/09_softmax.cpp", from the root
  [[nodiscard]] std::string source() const;
};

struct Part {
  std::string title;
  int first;  ///< its first lesson
};

/// The course in its order; a lesson is there when its source file is.
const std::vector<Entry>& contents();
const std::vector<Part>& parts();
/// The lesson of this number; throws (Exit::usage) when there is none.
const Entry& entry_of(int number);

}  // namespace vitruvian::lessons
