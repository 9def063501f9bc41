#include "vitruvian/core/base/wrapping.hpp"

#include <algorithm>
#include <sstream>

namespace vitruvian::console {
std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const Character c = first_of(text);
    const bool combining = c.code >= 0x300 && c.code <= 0x36F;  // stands on the letter before it
    if (!combining) ++columns;
    text.remove_prefix(std::max<std::size_t>(1, c.bytes));
  }
  return columns;
}

std::vector<std::string> wrapped(std::string_view paragraph, std::size_t width) {
  std::vector<std::string> lines;
  std::istringstream words{std::string(paragraph)};
  for (std::string word; words >> word;) {
    if (lines.empty() || columns_of(lines.back()) + 1 + columns_of(word) > width) {
      lines.push_back(word);
    } else {
      lines.back() += " " + word;
    }
  }
  return lines;
}

std::string hanging(std::string_view lead, std::string_view text, std::size_t width) {
  const std::size_t indent = columns_of(lead);
  std::string result(lead);
  const auto lines = wrapped(text, width - std::min(width, indent));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    result += (i == 0 ? "" : "\n" + std::string(indent, ' ')) + lines[i];
  }
  return result;
}

Raw entry(std::FILE* stream, std::string_view lead, std::string_view text) {
  const std::string plain = visible(text);
  const Terminal terminal = terminal_of(stream);
  // What fits stays as it is: a name may hold two blanks in a row.
  const bool fits = !terminal.there || columns_of(lead) + columns_of(plain) <= terminal.columns;
  return raw(fits ? std::string(lead) + plain : hanging(lead, plain, terminal.columns));
}

}  // namespace vitruvian::console
