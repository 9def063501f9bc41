// The shapes of the lessons, as letters: "(B, T, 3 D)".

#include "lessons/telling/narrate.hpp"
#include "vitruvian/core/base/error.hpp"

#include <cctype>
#include <sstream>

namespace vitruvian::lessons {
namespace {

std::size_t value_of(const std::string& word, const SymbolValues& values) {
  if (std::isdigit(static_cast<unsigned char>(word[0])) != 0) return std::stoul(word);
  const auto found = values.find(word);
  if (found == values.end()) fail("the symbol '{}' of a shape was given no value", word);
  return found->second;
}

// "3 D P^2"
std::size_t product_of(const std::string& text, const SymbolValues& values) {
  std::size_t product = 1;
  std::istringstream powers(text);
  for (std::string power; powers >> power;) {
    const std::size_t caret = power.find('^');
    std::size_t n = caret == std::string::npos ? 1 : std::stoul(power.substr(caret + 1));
    for (; n > 0; --n) product *= value_of(power.substr(0, caret), values);
  }
  return product;
}

}  // namespace

std::vector<std::size_t> lengths_of(std::string_view shape, const SymbolValues& values) {
  if (!shape.starts_with('(') || !shape.ends_with(')')) {
    fail("a shape in symbols stands between brackets, not '{}'", shape);
  }
  std::vector<std::size_t> lengths;
  std::istringstream axes{std::string(shape.substr(1, shape.size() - 2))};
  for (std::string axis; std::getline(axes, axis, ',');) {
    lengths.push_back(0);
    std::istringstream terms(axis);
    for (std::string term; std::getline(terms, term, '+');)
      lengths.back() += product_of(term, values);
  }
  return lengths;
}

std::string meaning_of(std::string_view symbol) {
  static const std::map<std::string, std::string, std::less<>> meanings = {
      {"B", "images"},
      {"C", "channels of an image"},
      {"H", "height of an image, in pixels"},
      {"W", "width of an image"},
      {"P", "side of a patch"},
      {"N", "patches of an image"},
      {"T", "tokens"},
      {"D", "width of a token"},
      {"h", "heads"},
      {"D_h", "width of a head, D / h"},
      {"M", "hidden width of the MLP"},
      {"L", "blocks"},
      {"K", "classes"}};
  const auto found = meanings.find(symbol);
  if (found == meanings.end()) {
    fail("symbol '{}' is none of the paper's: say what it means here", symbol);
  }
  return found->second;
}

}  // namespace vitruvian::lessons
