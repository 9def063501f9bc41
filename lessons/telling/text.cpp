// What the renderers share: widths, wrapping, ASCII, and the words for
// numbers and verdicts.

#include "vitruvian/charts/text.hpp"
#include "lessons/telling/render.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace vitruvian::lessons {
namespace {

// The bytes of the code point that starts at text[i].
std::size_t length_at(std::string_view text, std::size_t i) {
  const auto byte = static_cast<unsigned char>(text[i]);
  const std::size_t n = byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
  return std::min(n, text.size() - i);
}

// U+0300 to U+036F, which stand on the letter before them.
bool combining(std::string_view point) {
  if (point.size() != 2) return false;
  const auto lead = static_cast<unsigned char>(point[0]);
  const auto tail = static_cast<unsigned char>(point[1]);
  return lead == 0xCC || (lead == 0xCD && tail < 0xB0);
}

// Longer spellings first where one begins another.
constexpr auto spellings = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"α", "alpha"},      {"β", "beta"},       {"γ", "gamma"}, {"δ", "delta"}, {"ε", "eps"},
    {"θ", "theta"},      {"λ", "lambda"},     {"μ", "mu"},    {"π", "pi"},    {"σ", "sigma"},
    {"φ", "phi"},        {"η", "eta"},        {"τ", "tau"},   {"Φ", "Phi"},   {"Σ", "sum"},
    {"Π", "prod"},       {"Δ", "Delta"},      {"∂", "d"},     {"∇", "grad"},  {"√", "sqrt "},
    {"∞", "inf"},        {"≈", "~"},          {"≤", "<="},    {"≥", ">="},    {"≠", "!="},
    {"→", "->"},         {"←", "<-"},         {"↦", "|->"},   {"⇒", "=>"},    {"×", "x"},
    {"·", "*"},          {"⊙", "*"},          {"⊤", "^T"},    {"ᵀ", "^T"},    {"∈", "in"},
    {"ℝ", "R"},          {"ℓ", "l"},          {"−", "-"},     {"±", "+-"},    {"½", "1/2"},
    {"⁰", "^0"},         {"¹", "^1"},         {"²", "^2"},    {"³", "^3"},    {"⁴", "^4"},
    {"⁵", "^5"},         {"⁻", "^-"},         {"ₐ", "_a"},    {"ₑ", "_e"},    {"ᵣ", "_r"},
    {"ₛ", "_s"},         {"ₓ", "_x"},         {"ᵢ", "_i"},    {"ⱼ", "_j"},    {"ₖ", "_k"},
    {"ₙ", "_n"},         {"ₜ", "_t"},         {"ₕ", "_h"},    {"ₚ", "_p"},    {"ₗ", "_l"},
    {"ₘ", "_m"},         {"₀", "_0"},         {"₁", "_1"},    {"₂", "_2"},    {"₃", "_3"},
    {"₄", "_4"},         {"₅", "_5"},         {"₋", "_-"},    {"′", "'"},     {"″", "''"},
    {"‴", "'''"},        {"⁶", "^6"},         {"⁷", "^7"},    {"⁸", "^8"},    {"⁹", "^9"},
    {"\xCC\x82", "hat"}, {"\xCC\x84", "bar"}, {"ȳ", "ybar"},  {"Ā", "Abar"},  {"ḡ", "gbar"},
    {"⟨", "<"},          {"⟩", ">"},          {"‖", "||"},    {"…", "..."},   {"–", "-"},
    {"—", "-"},          {"“", "\""},         {"”", "\""},    {"’", "'"},     {"é", "e"},
    {"ö", "o"},          {"█", "#"},          {"▓", "*"},     {"▒", "+"},     {"░", "."},
    {"▏", "|"},          {"│", "|"},          {"─", "-"},     {"═", "="},     {"┤", "+"},
    {"└", "+"},          {"●", "o"},          {"✓", "ok"},    {"✗", "x"},     {"⁺", "^+"},
    {"ω", "omega"},      {"ᴺ", "^N"},         {"ᴸ", "^L"},    {"ᵗ", "^t"},    {"∘", "o"},
});

}  // namespace

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t n = length_at(text, i);
    if (!combining(text.substr(i, n))) ++columns;
    i += n;
  }
  return columns;
}

std::string padded(std::string_view text, std::size_t width) {
  std::string result(text);
  const std::size_t columns = columns_of(text);
  if (columns < width) result.append(width - columns, ' ');
  return result;
}

std::string to_ascii(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t n = length_at(text, i);
    const std::string_view point = text.substr(i, n);
    i += n;
    if (n == 1) {
      result += point;
      continue;
    }
    std::string_view spelling = "?";
    for (const auto& [glyph, name] : spellings) {
      if (glyph == point) spelling = name;
    }
    result += spelling;
  }
  return result;
}

std::vector<std::string> paragraphs(std::string_view text) {
  std::vector<std::string> result;
  bool open = false;  // whether the last paragraph goes on
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    while (line.ends_with(' ')) line.remove_suffix(1);
    if (line.empty()) {
      open = false;
    } else if (open && !line.starts_with("- ")) {
      result.back().append(" ").append(line);
    } else {
      result.emplace_back(line);
      open = true;
    }
  }
  return result;
}

std::vector<std::string> wrapped(std::string_view paragraph, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  std::size_t used = 0;
  while (!paragraph.empty()) {
    const std::size_t end = std::min(paragraph.find(' '), paragraph.size());
    const std::string_view word = paragraph.substr(0, end);
    paragraph.remove_prefix(std::min(end + 1, paragraph.size()));
    if (word.empty()) continue;
    const std::size_t columns = columns_of(word);
    if (used != 0 && used + 1 + columns > width) {
      lines.push_back(std::move(line));
      line.clear();
      used = 0;
    }
    if (used != 0) {
      line += ' ';
      ++used;
    }
    line += word;
    used += columns;
  }
  if (used != 0) lines.push_back(std::move(line));
  return lines;
}

std::string verdict(const Check& check) {
  if (check.must_differ) return check.passed ? "differ, as they should" : "SHOULD DIFFER";
  return check.passed ? "agree" : "DISAGREE";
}

std::string lengths_text(const std::vector<std::size_t>& lengths) {
  return lengths.size() == 1 ? fmt::format("({},)", lengths[0])
                             : fmt::format("({})", fmt::join(lengths, ", "));
}

// Rounding noise around zero is zero: its digits differ from machine to
// machine.
std::string number_text(double x, double tolerance) {
  if (std::isnan(x)) return "nan";  // its sign means nothing
  if (std::abs(x) < 1e-12) return "0";
  if (x == std::round(x) && std::abs(x) < 1e12) return fmt::format("{:.0f}", x);  // a count
  const double digits = std::clamp(std::round(-std::log10(tolerance)), 3.0, 6.0);
  return fmt::format("{:.{}g}", x, static_cast<int>(digits));
}

std::string error_text(double x) { return x == 0 ? "0" : fmt::format("{:.1e}", x); }

std::string summary(const Closing& closing) {
  if (closing.failed == 0 && !closing.broken.empty()) {
    return fmt::format("The mistake `{}` was made and no check noticed it.", closing.broken);
  }
  if (closing.failed == 0) {
    return closing.checks == 1 ? "1 check, passed."
                               : fmt::format("{} checks, all passed.", closing.checks);
  }
  std::string text = fmt::format("{} of {} checks failed.", closing.failed, closing.checks);
  if (!closing.broken.empty()) {
    text += fmt::format(" You asked for it with --break {}: {}", closing.broken, closing.why);
  }
  return text;
}

std::vector<std::string> draw(const Picture& picture, std::size_t width) {
  return text_of(Matrix{picture.rows, picture.columns, picture.values}, width);
}

std::vector<std::string> draw(const Bars& bars, std::size_t width) {
  Chart chart;
  chart.log_y = bars.log;
  Series series{"", {}, {}, Mark::bars};
  for (const auto& [name, value] : bars.rows) {
    chart.names.push_back(name);
    series.y.push_back(value);
  }
  chart.series = {std::move(series)};
  return text_of(chart, width);
}

std::vector<std::string> draw(const Curves& curves, std::size_t width) {
  Chart chart;
  chart.series = curves.series;
  chart.log_y = curves.log_y;
  return text_of(chart, width);
}

}  // namespace vitruvian::lessons
