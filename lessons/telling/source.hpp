#pragma once

#include "lessons/telling/events.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace vitruvian::lessons {

/// Where a file of the project lies, `file` being a path from the root.
std::string project_path(std::string_view file);
/// Its lines. Throws when the source tree is no longer where the program was
/// built.
std::vector<std::string> source_lines(const std::string& file);
/// The lines between `// [region NAME]` and the next `// [end]`, region or
/// `void lesson(Narrator& say)`, without their common indent.
Code region_of(const std::string& file, std::string_view name);
/// The function whose first line starts with `first_line`, with the comment
/// above it.
Code function_of(const std::string& file, std::string_view first_line);

}  // namespace vitruvian::lessons
