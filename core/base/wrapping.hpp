#pragma once

#include "vitruvian/core/base/console.hpp"

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

// Lines that fit: of help, of notes, of the lessons' text.

namespace vitruvian::console {

/// How many columns a UTF-8 text takes: its code points, combining marks not counted.
std::size_t columns_of(std::string_view text);

/// One paragraph in lines of at most `width` columns; a longer word stands alone.
std::vector<std::string> wrapped(std::string_view paragraph, std::size_t width);

/// `lead`, and behind it the text in lines of at most `width` columns in all: those that follow the
/// first begin below the text, not below `lead`.
std::string hanging(std::string_view lead, std::string_view text, std::size_t width);

/// What a program says beside a word, "note     the test set is looked at": at a terminal in
/// lines that fit it, in a pipe or a file in one, by which others find it.
Raw entry(std::FILE* stream, std::string_view lead, std::string_view text);

}  // namespace vitruvian::console
