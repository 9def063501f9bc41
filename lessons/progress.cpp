// lesson progress [FILE]: what was read in the book and what in the terminal, made one.

#include "lessons/progress.hpp"

#include "lessons/telling/contents.hpp"
#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/safe_file.hpp"
#include "vitruvian/core/base/text.hpp"

#include <algorithm>
#include <fstream>
#include <memory>
#include <sstream>
#include <system_error>
#include <vector>

namespace vitruvian::lessons {
namespace {

namespace fs = std::filesystem;

constexpr const char* first_line = "Vitruvian progress 1";
constexpr std::size_t most_bytes = 1 << 16;  // fifteen times the whole course

// Nobody's file is longer, and a device may never end.
std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text(most_bytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  std::error_code none;
  if (!in.is_open() || in.bad() || fs::is_directory(file, none)) {
    fail(Exit::data, "{}: cannot be read", file.string());
  }
  if (text.size() > most_bytes) {
    fail(Exit::data, "{}: more than {} bytes are no progress of the course", file.string(),
         most_bytes);
  }
  return text;
}

struct Marks {
  std::vector<const Entry*> lessons;
  std::vector<const Exercise*> exercises;
  std::size_t unknown = 0;  // of a newer course, or an older one
};

bool is_name(const std::string& word) {
  return !word.empty() && word.size() <= 64 &&
         word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == word.npos;
}

Marks marks_of(const fs::path& file) {
  std::istringstream text(text_of(file));
  Marks marks;
  std::string line;
  std::size_t number = 0;
  const auto next_line = [&] {
    ++number;
    const bool there = bool(std::getline(text, line));
    if (line.ends_with('\r')) line.pop_back();  // an editor's, or a mail's
    return there;
  };
  bool good = next_line() && line == first_line;
  while (good && next_line()) {
    const std::size_t blank = std::min(line.find(' '), line.size());
    const std::string kind = line.substr(0, blank);
    const std::string name = line.substr(std::min(blank + 1, line.size()));
    good = is_name(name) && (kind == "lesson" || kind == "exercise");
    const auto lesson = std::ranges::find(contents(), name, &Entry::name);
    const auto exercise = std::ranges::find(exercises(), name, &Exercise::name);
    if (kind == "lesson" && lesson != contents().end()) {
      marks.lessons.push_back(&*lesson);
    } else if (kind == "exercise" && exercise != exercises().end()) {
      marks.exercises.push_back(&*exercise);
    } else {
      ++marks.unknown;
    }
  }
  if (!good) {
    fail(Exit::data,
         "{}, line {}: this is no progress of the course, whose first line is \"{}\" and each "
         "further one \"lesson NAME\" or \"exercise NAME\"",
         file.string(), number, first_line);
  }
  return marks;
}

// How many of them are new.
template <class T>
std::size_t mark(const std::vector<const T*>& all) {
  std::size_t count = 0;
  for (const T* one : all) {
    if (is_done(*one)) continue;
    const fs::path file = done_file(*one);
    std::error_code told_below;
    fs::create_directories(file.parent_path(), told_below);
    write_file_safely(file.string(), "");
    ++count;
  }
  return count;
}

}  // namespace

std::string progress_text() {
  std::string text = fmt::format("{}\n", first_line);
  for (const Entry& entry : contents()) {
    if (is_done(entry)) text += fmt::format("lesson {}\n", entry.name);
  }
  for (const Exercise& exercise : exercises()) {
    if (is_done(exercise)) text += fmt::format("exercise {}\n", exercise.name);
  }
  return text;
}

std::string take_over_progress(const fs::path& file) {
  const Marks marks = marks_of(file);
  if (state_file("lessons", "").empty()) {
    fail("progress is not kept: neither XDG_STATE_HOME nor HOME names a folder");
  }
  const std::size_t lessons = mark(marks.lessons), exercises = mark(marks.exercises);
  const std::string unknown =
      marks.unknown == 0 ? ""
                         : fmt::format(" ({} not of this course)", counted(marks.unknown, "name"));
  return fmt::format("New here: {}, {}{}. What was done stays done.\n", counted(lessons, "lesson"),
                     counted(exercises, "exercise"), unknown);
}

void add_progress_command(const Parser& app, std::function<int()>& chosen) {
  const auto file = std::make_shared<std::string>();
  const auto print = [file] {
    console::print("{}", console::raw(file->empty() ? progress_text() : take_over_progress(*file)));
    return 0;
  };
  app.add_command("progress", "What you have done, for the book's page: lesson progress >FILE",
                  [print, &chosen] { chosen = print; })
      .add_value("FILE", "", *file, "Saved by the book's page: what it holds is done here, too");
}

}  // namespace vitruvian::lessons
