#include "lessons/telling/symbols.hpp"

#include "vitruvian/core/base/error.hpp"

#include <cctype>

namespace vitruvian::lessons {
namespace {

// sum := product ('+' product)*      product := power (power)*      power :=
// atom ('^' digits)?
struct Reader {
  std::string_view text;
  const SymbolValues& values;

  char peek() {
    while (text.starts_with(' ')) text.remove_prefix(1);
    return text.empty() ? '\0' : text.front();
  }
  bool take(char c) {
    if (peek() != c) return false;
    text.remove_prefix(1);
    return true;
  }
  static bool ends_an_atom(char c) {
    return c == ' ' || c == '+' || c == '^' || c == ',' || c == '(' || c == ')';
  }

  std::size_t atom() {
    peek();
    std::size_t n = 0;
    while (n < text.size() && !ends_an_atom(text[n])) ++n;
    const std::string_view word = text.substr(0, n);
    text.remove_prefix(n);
    if (!word.empty() && std::isdigit(static_cast<unsigned char>(word[0])) != 0) {
      return std::stoul(std::string(word));
    }
    const auto found = values.find(word);
    if (found == values.end()) fail("the symbol '{}' of a shape was given no value", word);
    return found->second;
  }
  std::size_t power() {
    const std::size_t base = atom();
    std::size_t result = base;
    for (std::size_t exponent = take('^') ? atom() : 1; exponent > 1; --exponent) result *= base;
    return result;
  }
  std::size_t product() {
    std::size_t result = power();
    while (peek() != '\0' && peek() != '+' && peek() != ',' && peek() != ')') result *= power();
    return result;
  }
  std::size_t sum() {
    std::size_t result = product();
    while (take('+')) result += product();
    return result;
  }
};

}  // namespace

std::vector<std::size_t> lengths_of(std::string_view shape, const SymbolValues& values) {
  Reader reader{shape, values};
  std::vector<std::size_t> lengths;
  if (!reader.take('(')) fail("a shape in symbols starts with '(': '{}'", shape);
  while (!reader.take(')')) {
    lengths.push_back(reader.sum());
    if (!reader.take(',') && reader.peek() != ')') fail("cannot read the shape '{}'", shape);
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
