#include "lessons/telling/source.hpp"

#include "vitruvian/core/base/error.hpp"

#include <algorithm>
#include <fstream>

namespace vitruvian::lessons {
namespace {

// Without empty lines at its ends and without the blanks that all lines begin
// with.
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
