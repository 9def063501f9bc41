#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vitruvian {

/// "a, b, c". fmt::join would cost every file that has it a third of a second of compiling.
std::string joined(const std::vector<std::string>& words, std::string_view between = ", ");

/// The same of numbers, each as {} shows it.
template <class Numbers>
std::string joined(const Numbers& numbers, std::string_view between = ", ") {
  std::vector<std::string> words;
  for (const auto& number : numbers) words.push_back(fmt::format("{}", number));
  return joined(words, between);
}

/// The first three of them, and how many more there are: "a, b, c and 4 more".
std::string some_of(const std::vector<std::string>& words, std::string_view between = ", ");

/// "1 picture", "2 pictures", "0 patches".
std::string counted(std::size_t n, std::string_view noun);

/// A text of others as it may stand in a sentence: one line of ASCII, of at most so many
/// characters.
std::string printable(std::string_view text, std::size_t most = 100);

/// 86567656 as "86,567,656".
std::string with_commas(std::size_t n);

/// A word of a command that is shown to be repeated: in quotes where a shell would split it.
std::string shell_word(const std::string& text);

/// A shape as Python writes it: "()", "(10,)", "(3, 224, 224)".
std::string shape_text(std::span<const std::size_t> shape);

}  // namespace vitruvian
