#include "lessons/exercise_file.hpp"

#include "lessons/telling/contents.hpp"
#include "lessons/telling/source.hpp"
#include "vitruvian/core/base/error.hpp"

#include <algorithm>
#include <cctype>
#include <regex>
#include <system_error>

namespace vitruvian::lessons {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view home = "lessons/exercises";

bool is_marker(const std::string& line, std::string_view name) {
  const std::size_t begin = line.find_first_not_of(' ');
  return begin != std::string::npos &&
         std::string_view(line).substr(begin) == fmt::format("// [{}]", name);
}

enum class Version { stub, solution };

// The source without the other version's lines, the markers and the hints.
std::vector<std::string> lines_of(const Exercise& exercise, Version version) {
  enum { shared, gap, solution } part = shared;
  std::vector<std::string> result;
  for (std::string line : source_lines(fmt::format("{}/{}.cpp", home, exercise.id()))) {
    if (is_marker(line, "hint 1")) break;
    if (is_marker(line, "gap")) {
      part = gap;
    } else if (is_marker(line, "solution")) {
      part = solution;
    } else if (is_marker(line, "end")) {
      part = shared;
    } else if (part == shared || (part == solution && version == Version::solution)) {
      result.push_back(std::move(line));
    } else if (part == gap && version == Version::stub) {
      const std::size_t at = line.find("//| ");
      if (at == std::string::npos) fail("{}: a line of the gap has no '//| '", exercise.id());
      line.erase(at, 4);
      result.push_back(std::move(line));
    }
  }
  while (!result.empty() && result.back().empty()) result.pop_back();
  return result;
}

std::string joined(const std::vector<std::string>& lines) {
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

Exercise read(const fs::path& path) {
  static const std::regex file_name(R"((\d\d)_(\w+))");
  static const std::regex first_line(R"(// Exercise (\d+)\. (.+) \(after (\w+)\))");
  Exercise exercise;
  exercise.source = path;
  const std::string stem = path.stem().string();
  const std::vector<std::string> lines = source_lines(fmt::format("{}/{}.cpp", home, stem));
  std::smatch name;
  std::smatch title;
  if (!std::regex_match(stem, name, file_name) || lines.empty() ||
      !std::regex_match(lines.front(), title, first_line)) {
    fail(Exit::data, "{} does not begin as an exercise does", path.string());
  }
  exercise.number = std::stoi(name[1]);
  exercise.name = name[2];
  exercise.title = title[2];
  exercise.lesson = title[3];
  return exercise;
}

bool is_number(const std::string& word) {
  return !word.empty() && word.size() < 6 &&
         std::all_of(word.begin(), word.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

}  // namespace

std::string Exercise::id() const { return fmt::format("{:02}_{}", number, name); }

std::string Exercise::stub() const {
  std::vector<std::string> lines = lines_of(*this, Version::stub);
  lines.front() =
      fmt::format("// Exercise {}. {} (after lesson {})", number, title, entry_of(lesson).number);
  lines.insert(lines.begin() + 1,
               fmt::format("// Filled in: lesson check {0}.  Stuck: lesson hint {0}.", number));
  return joined(lines);
}

std::string Exercise::solution() const { return joined(lines_of(*this, Version::solution)); }

std::vector<std::string> Exercise::hints() const {
  std::vector<std::string> result;
  for (const std::string& line : source_lines(fmt::format("{}/{}.cpp", home, id()))) {
    if (is_marker(line, fmt::format("hint {}", result.size() + 1))) {
      result.emplace_back();
    } else if (!result.empty() && line.starts_with("// ")) {
      result.back() += (result.back().empty() ? "" : " ") + line.substr(3);
    }
  }
  return result;
}

std::vector<Exercise> exercises() {
  const fs::path where = fs::path(VITRUVIAN_SOURCE_DIR) / home;
  std::vector<Exercise> result;
  std::error_code gone;
  for (const fs::directory_entry& entry : fs::directory_iterator(where, gone)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".cpp") && std::isdigit(static_cast<unsigned char>(name.front())) != 0) {
      result.push_back(read(entry.path()));
    }
  }
  if (gone || result.empty()) {
    fail(Exit::data, "the exercises cannot be read from {}: is the project still there?",
         where.string());
  }
  std::sort(result.begin(), result.end(),
            [](const Exercise& a, const Exercise& b) { return a.number < b.number; });
  return result;
}

Exercise find_exercise(const std::string& word) {
  const std::vector<Exercise> all = exercises();
  std::vector<std::string> names;
  for (const Exercise& exercise : all) {
    if (word == exercise.name || word == exercise.id()) return exercise;
    if (is_number(word) && std::stoi(word) == exercise.number) return exercise;
    names.push_back(exercise.name);
  }
  if (is_number(word)) {
    fail(Exit::usage, "there is no exercise {}: they go from 1 to {}; see lesson exercises", word,
         all.back().number);
  }
  fail(Exit::usage, "there is no exercise '{}'; {}", word,
       did_you_mean(word, names, "see lesson exercises"));
}

}  // namespace vitruvian::lessons
