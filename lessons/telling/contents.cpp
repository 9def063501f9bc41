#include "lessons/telling/contents.hpp"

#include "lessons/telling/source.hpp"
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

}  // namespace vitruvian::lessons
