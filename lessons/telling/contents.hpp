#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

// The course: lessons/course/contents.txt has its order, each lesson's own file the rest.

namespace vitruvian::lessons {

/// A line of the table of contents.
struct Entry {
  int number = 0;    ///< its place in contents.txt
  std::string name;  ///< "softmax": the file is lessons/course/softmax.cpp
  std::string part;  ///< "II. Layers"
  std::string title = {};
  std::string equation = {};  ///< in Unicode, on one line
  int minutes = 0;

  /// From the root.
  [[nodiscard]] std::string source() const { return "lessons/course/" + name + ".cpp"; }
};

/// All lessons in their order, with their titles, equations and minutes. Throws where the source
/// tree is no longer where the program was built.
const std::vector<Entry>& contents();
/// The lesson of this name, its number, name and part alone; throws when there is none.
Entry entry_of(std::string_view name);
/// A text in which "#softmax" is the number of that lesson.
std::string numbered(std::string_view text);

/// A file in which something about the learner is remembered: NAME in
/// $XDG_STATE_HOME/vitruvian/ROOM (~/.local/state by default). Empty when there is no home.
std::filesystem::path state_file(const std::string& room, const std::string& name);
/// Where it is remembered that a lesson was read to its end: an empty file of its name.
std::filesystem::path done_file(const Entry& entry);
bool is_done(const Entry& entry);

}  // namespace vitruvian::lessons
