#include "vitruvian/core/base/text.hpp"

namespace vitruvian {

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) {
    if (&word != &words.front()) text += between;
    text += word;
  }
  return text;
}

std::string some_of(const std::vector<std::string>& words, std::string_view between) {
  constexpr std::size_t shown = 3;
  if (words.size() <= shown) return joined(words, between);
  const std::string text = joined(std::vector(words.begin(), words.begin() + shown), between);
  return fmt::format("{} and {} more", text, words.size() - shown);
}

std::string counted(std::size_t n, std::string_view noun) {
  const bool hisses = noun.ends_with("tch") || noun.ends_with("ss");  // patches, but epochs
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : hisses ? "es" : "s");
}

std::string printable(std::string_view text, std::size_t most) {
  std::string result(text.substr(0, most));
  for (char& c : result) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text.size() > most ? result + "..." : result;
}

std::string with_commas(std::size_t n) {
  std::string digits = std::to_string(n);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string shell_word(const std::string& text) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=+,@%-";
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string shape_text(std::span<const std::size_t> shape) {
  return fmt::format("({}{})", joined(shape), shape.size() == 1 ? "," : "");
}

}  // namespace vitruvian
