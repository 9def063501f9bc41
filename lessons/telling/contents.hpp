#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

// The course: lessons/course/contents.txt has the order of its lessons, and
// lessons/exercises/contents.txt that of its exercises; the file of each has the rest. The words
// that a reader should keep stand in lessons/course/glossary.txt.

namespace vitruvian::lessons {

/// A line of the table of contents.
struct Entry {
  int number = 0;    ///< its place in contents.txt, from 0 on
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

/// An exercise: lessons/exercises/NAME.cpp, which holds everything about it but its check. Its
/// first line is `// Exercise. TITLE (after LESSON, easy)`, or middle, or hard.
struct Exercise {
  int number = 0;    ///< its place in contents.txt, which changes when others come before it
  std::string name;  ///< "softmax", by which a learner's file and marks are found
  std::string title;
  Entry lesson;       ///< the one that it comes after: number, name and part
  std::string level;  ///< "easy", "middle", "hard"

  /// From the root.
  [[nodiscard]] std::string source() const { return "lessons/exercises/" + name + ".cpp"; }
};

/// All exercises in their order. Throws as `contents` does.
const std::vector<Exercise>& exercises();
/// Those that follow the lesson of this name.
std::vector<Exercise> exercises_after(std::string_view lesson);

/// A word of the field: its usual name and the others, the lesson that explains it, what it means.
struct Word {
  std::vector<std::string> names;
  Entry lesson;  ///< number, name and part
  std::string meaning;
};

/// The words of lessons/course/glossary.txt, in the order of the lessons.
const std::vector<Word>& glossary();

/// The lesson of this name, its number, name and part alone; throws when there is none.
Entry entry_of(std::string_view name);
/// A text in which "#softmax" is the number of that lesson.
std::string numbered(std::string_view text);

/// A file in which something about the learner is remembered: NAME in
/// $XDG_STATE_HOME/vitruvian/ROOM (~/.local/state by default). Empty when there is no home.
std::filesystem::path state_file(const std::string& room, const std::string& name);
/// The file, or, where that is not there, the one beside it which an earlier version gave a number:
/// for "softmax", "09_softmax".
std::filesystem::path with_or_without_number(const std::filesystem::path& file);
/// Where it is remembered that a lesson was read to its end: an empty file of its name.
std::filesystem::path done_file(const Entry& entry);
bool is_done(const Entry& entry);
/// Where it is remembered that the check of an exercise agreed.
std::filesystem::path done_file(const Exercise& exercise);
bool is_done(const Exercise& exercise);

}  // namespace vitruvian::lessons
