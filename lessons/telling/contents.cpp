#include "lessons/telling/contents.hpp"

#include "vitruvian/core/base/error.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <regex>
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
        entries.push_back({static_cast<int>(entries.size()) + 1, name, part});
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

// Without empty lines at its ends and without the blanks that all lines begin with.
Code tidy(Code code) {
  const auto blank = [](const std::string& line) {
    return line.find_first_not_of(' ') == std::string::npos;
  };
  while (!code.lines.empty() && blank(code.lines.front())) {
    code.lines.erase(code.lines.begin());
    ++code.line;
  }
  while (!code.lines.empty() && blank(code.lines.back())) code.lines.pop_back();
  std::size_t indent = std::string::npos;
  for (const std::string& line : code.lines) {
    if (!blank(line)) indent = std::min(indent, line.find_first_not_of(' '));
  }
  for (std::string& line : code.lines) line.erase(0, std::min(indent, line.size()));
  return code;
}

}  // namespace

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

Entry entry_of(std::string_view name) {
  for (const Entry& entry : order()) {
    if (entry.name == name) return entry;
  }
  fail("lessons/course/contents.txt has no lesson '{}'", name);
}

std::string numbered(std::string_view text) {
  static const std::regex reference("#([a-z_]+)");
  const std::string whole(text);
  std::string result;
  auto rest = whole.begin();
  for (std::sregex_iterator at(whole.begin(), whole.end(), reference), end; at != end; ++at) {
    result.append(rest, (*at)[0].first).append(std::to_string(entry_of((*at)[1].str()).number));
    rest = (*at)[0].second;
  }
  return result.append(rest, whole.end());
}

// The XDG specification: an empty or relative path counts as unset.
fs::path state_file(const std::string& room, const std::string& name) {
  const char* const state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return fs::path(state) / "vitruvian" / room / name;
  const char* const home = std::getenv("HOME");
  if (home == nullptr || *home != '/') return {};
  return fs::path(home) / ".local/state/vitruvian" / room / name;
}

fs::path done_file(const Entry& entry) { return state_file("lessons", entry.name); }

// Marks of version 0.1 began with the number that the lesson had then: "09_softmax".
bool is_done(const Entry& entry) {
  const fs::path file = done_file(entry);
  std::error_code none;
  if (fs::exists(file, none)) return true;
  for (const fs::directory_entry& mark : fs::directory_iterator(file.parent_path(), none)) {
    const std::string name = mark.path().filename().string();
    if (name.size() == entry.name.size() + 3 && name.substr(3) == entry.name) return true;
  }
  return false;
}

std::string project_path(std::string_view file) {
  return std::string(VITRUVIAN_SOURCE_DIR "/").append(file);
}

std::vector<std::string> source_lines(const std::string& file) {
  std::ifstream in(project_path(file));
  if (!in) {
    fail(Exit::data,
         "a lesson shows its own source, but {}/{} cannot be read: is the project still there?",
         VITRUVIAN_SOURCE_DIR, file);
  }
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

Code region_of(const std::string& file, std::string_view name) {
  const std::string begin = fmt::format("// [region {}]", name);
  Code code{file, 0, {}};
  bool inside = false;
  const std::vector<std::string> lines = source_lines(file);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto has = [&](const char* mark) { return lines[i].find(mark) != std::string::npos; };
    const bool ends = has("// [end]") || has("// [region ") || has("void lesson(Narrator& say)");
    if (inside && ends) return tidy(std::move(code));
    if (inside) code.lines.push_back(lines[i]);
    if (!inside && lines[i].find(begin) != std::string::npos) {
      inside = true;
      code.line = i + 2;
    }
  }
  fail("{} has no region '{}' that ends", file, name);
}

Code function_of(const std::string& file, std::string_view first_line) {
  const std::vector<std::string> lines = source_lines(file);
  const auto begins = [&](const std::string& line) { return line.starts_with(first_line); };
  auto first = std::find_if(lines.begin(), lines.end(), begins);
  const auto last = std::find_if(first, lines.end(), [](const std::string& line) {
    return line.starts_with("}") || (!line.starts_with(" ") && line.ends_with("}"));
  });
  if (last == lines.end()) fail("{} has no function '{}'", file, first_line);
  while (first != lines.begin() &&
         ((first - 1)->starts_with("//") || (first - 1)->starts_with("template"))) {
    --first;
  }
  return {file, static_cast<std::size_t>(first - lines.begin()) + 1, {first, last + 1}};
}

}  // namespace vitruvian::lessons
