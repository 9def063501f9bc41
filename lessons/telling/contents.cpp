#include "lessons/telling/contents.hpp"

#include "lessons/telling/source.hpp"
#include "vitruvian/core/base/error.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <system_error>

namespace vitruvian::lessons {
namespace {

namespace fs = std::filesystem;

// contents.txt: a line of its own for a part, and below it, indented, its lessons.
const std::vector<Entry>& order() {
  static const std::vector<Entry> list = [] {
    std::vector<Entry> entries;
    std::string part;
    for (const std::string& line : source_lines("lessons/course/contents.txt")) {
      if (line.starts_with("  ")) {
        const std::string name = line.substr(2, line.find(' ', 2) - 2);
        entries.push_back({static_cast<int>(entries.size()), name, part});
      } else if (!line.starts_with('#')) {
        part = line;
      }
    }
    return entries;
  }();
  return list;
}

// `    .title = "The linear layer",` at the head of a lesson: what stands behind the equals sign.
std::string field(const std::vector<std::string>& lines, const std::string& name) {
  const std::string begin = fmt::format("    .{} = ", name);
  for (const std::string& line : lines) {
    if (!line.starts_with(begin) || !line.ends_with(',')) continue;
    const std::string value = line.substr(begin.size(), line.size() - begin.size() - 1);
    return value.starts_with('"') ? value.substr(1, value.size() - 2) : value;
  }
  fail(Exit::data, "the head of a lesson has no line {}..., that ends in a comma", begin);
}

// From contents.txt and the first line of each file: "// Exercise. TITLE (after LESSON, LEVEL)".
std::vector<Exercise> read_exercises() {
  constexpr std::string_view begin = "// Exercise. ", after = " (after ";
  std::vector<Exercise> all;
  for (const std::string& name : source_lines("lessons/exercises/contents.txt")) {
    if (name.starts_with('#')) continue;
    Exercise exercise;
    exercise.number = static_cast<int>(all.size()) + 1;
    exercise.name = name;
    const std::string line = source_lines(exercise.source()).at(0);
    const std::size_t open = line.rfind(after), comma = line.rfind(", ");
    const std::size_t lesson = open + after.size();
    if (open != std::string::npos && comma != std::string::npos && lesson < comma) {
      exercise.level = line.substr(comma + 2, line.size() - comma - 3);
    }
    if (!line.starts_with(begin) || !line.ends_with(')') ||
        (exercise.level != "easy" && exercise.level != "middle" && exercise.level != "hard")) {
      fail(Exit::data,
           "{} does not begin with \"// Exercise. TITLE (after LESSON, easy)\", or middle, or hard",
           exercise.source());
    }
    exercise.title = line.substr(begin.size(), open - begin.size());
    exercise.lesson = entry_of(line.substr(lesson, comma - lesson));
    all.push_back(exercise);
  }
  return all;
}

}  // namespace

const std::vector<Exercise>& exercises() {
  static const std::vector<Exercise> all = read_exercises();
  return all;
}

std::vector<Exercise> exercises_after(std::string_view lesson) {
  std::vector<Exercise> result;
  std::copy_if(exercises().begin(), exercises().end(), std::back_inserter(result),
               [&](const Exercise& exercise) { return exercise.lesson.name == lesson; });
  return result;
}

const std::vector<Entry>& contents() {
  static const std::vector<Entry> list = [] {
    std::vector<Entry> entries = order();
    for (Entry& entry : entries) {
      const std::vector<std::string> lines = source_lines(entry.source());
      entry.title = field(lines, "title");
      entry.equation = field(lines, "equation");
      entry.minutes = std::stoi(field(lines, "minutes"));
    }
    return entries;
  }();
  return list;
}

const std::vector<Word>& glossary() {
  static const std::vector<Word> words = [] {
    std::vector<Word> all;
    for (const std::string& line : source_lines("lessons/course/glossary.txt")) {
      const std::size_t colon = line.rfind(": ");
      if (line.starts_with("  ") && !all.empty()) {
        all.back().meaning = numbered(line.substr(2));
      } else if (colon != std::string::npos && !line.starts_with('#')) {
        std::vector<std::string> names;
        for (std::string rest = line.substr(0, colon) + ", "; !rest.empty();) {
          names.push_back(rest.substr(0, rest.find(", ")));
          rest.erase(0, names.back().size() + 2);
        }
        all.push_back({names, entry_of(line.substr(colon + 2)), {}});
      }
    }
    return all;
  }();
  return words;
}

Entry entry_of(std::string_view name) {
  for (const Entry& entry : order()) {
    if (entry.name == name) return entry;
  }
  fail("lessons/course/contents.txt has no lesson '{}'", name);
}

std::string numbered(std::string_view text) {
  constexpr std::string_view of_names = "abcdefghijklmnopqrstuvwxyz_";
  std::string result;
  while (!text.empty()) {
    const std::string_view plain = text.substr(0, text.find('#'));
    result.append(plain);
    text.remove_prefix(plain.size());
    if (text.empty()) break;
    const std::size_t end = text.find_first_not_of(of_names, 1);
    const std::string_view name = text.substr(1, end == text.npos ? end : end - 1);
    result.append(name.empty() ? "#" : std::to_string(entry_of(name).number));
    text.remove_prefix(1 + name.size());
  }
  return result;
}

// The XDG specification: an empty or relative path counts as unset.
fs::path state_file(const std::string& room, const std::string& name) {
  const char* const state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return fs::path(state) / "vitruvian" / room / name;
  const char* const home = std::getenv("HOME");
  if (home == nullptr || *home != '/') return {};
  return fs::path(home) / ".local/state/vitruvian" / room / name;
}

fs::path with_or_without_number(const fs::path& file) {
  std::error_code none;
  if (fs::exists(file, none)) return file;
  const std::string name = file.filename().string();
  for (const fs::directory_entry& entry : fs::directory_iterator(file.parent_path(), none)) {
    const std::string other = entry.path().filename().string();
    if (other.size() == name.size() + 3 && other.ends_with("_" + name) &&
        other.find_first_not_of("0123456789") == 2) {
      return entry.path();
    }
  }
  return file;
}

fs::path done_file(const Entry& entry) { return state_file("lessons", entry.name); }
fs::path done_file(const Exercise& exercise) { return state_file("exercises", exercise.name); }

namespace {

bool marked(const fs::path& file) {
  std::error_code none;
  return fs::exists(with_or_without_number(file), none);
}

}  // namespace

bool is_done(const Entry& entry) { return marked(done_file(entry)); }
bool is_done(const Exercise& exercise) { return marked(done_file(exercise)); }

}  // namespace vitruvian::lessons
