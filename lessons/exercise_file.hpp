#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace vitruvian::lessons {

/// One exercise: lessons/exercises/NN_name.cpp, which holds everything about it but its check. Its
/// first line is `// Exercise N. TITLE (after NAME OF A LESSON)`; a comment with the task follows.
/// The lines between `// [gap]` and `// [solution]` stand in the learner's copy, without their `//|
/// `; those between `// [solution]` and `// [end]` in the solution. At the end come three hints.
struct Exercise {
  int number = 0;
  std::string name;
  std::string title;
  std::string lesson;  ///< its name
  std::filesystem::path source;

  /// "06_softmax"
  [[nodiscard]] std::string id() const;
  /// What the learner starts from.
  [[nodiscard]] std::string stub() const;
  [[nodiscard]] std::string solution() const;
  /// From the vaguest to the plainest.
  [[nodiscard]] std::vector<std::string> hints() const;
};

/// All of them, in their order, read from the folder of sources. Throws when that is gone.
std::vector<Exercise> exercises();
/// By number ("6", "06"), name or id; throws (Exit::usage), naming the nearest, when there is none.
Exercise find_exercise(const std::string& word);

}  // namespace vitruvian::lessons
