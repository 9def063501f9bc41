// What the writers share: widths, wrapping, ASCII, and the words for numbers and verdicts.

#include "vitruvian/charts/text.hpp"
#include "lessons/telling/events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <utility>

namespace vitruvian::lessons {
namespace {

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
    {"┌", "+"},          {"┐", "+"},          {"┘", "+"},     {"├", "+"},     {"┬", "+"},
    {"┴", "+"},          {"┼", "+"},          {"╌", "-"},     {"╎", ":"},     {"▶", ">"},
    {"◀", "<"},          {"▲", "^"},          {"▼", "v"},
});

}  // namespace

std::string to_ascii(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t n = std::max<std::size_t>(1, console::first_of(text.substr(i)).bytes);
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
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    line.erase(0, std::min(line.find_first_not_of(' '), line.size()));
    line.erase(line.find_last_not_of(' ') + 1);
    if (open && !line.empty() && !line.starts_with("- ")) {
      result.back() += " " + line;
    } else if (!line.empty()) {
      result.push_back(line);
    }
    open = !line.empty();
  }
  return result;
}

std::string verdict(const Check& check) {
  if (check.must_differ) return check.passed ? "differ, as they should" : "SHOULD DIFFER";
  return check.passed ? "agree" : "DISAGREE";
}

std::string subject(const Check& check) {
  if (check.compared <= 1) return check.what;
  return fmt::format("{} ({} {})", check.what, check.compared, check.unit);
}

namespace {

std::vector<Check> chosen(const Checks& checks, bool must_differ) {
  std::vector<Check> result;
  for (const Check& c : checks.all) {
    if (c.passed && c.must_differ == must_differ) result.push_back(c);
  }
  return result;
}

}  // namespace

std::string values_text(const Check& c) {
  if (c.left_name.empty()) return "";
  const std::string left = fmt::format("{} {}", c.left_name, number_text(c.left, c.tolerance));
  if (c.right_name.empty()) return left;
  return fmt::format("{}, {} {}", left, c.right_name, number_text(c.right, c.tolerance));
}

std::string agreement_text(const Checks& checks, bool bound) {
  const std::vector<Check> all = chosen(checks, false);
  if (all.empty()) return "";
  double worst = 0, most = 0;
  std::string subjects;
  for (const Check& c : all) {
    worst = std::max(worst, c.error);
    most = std::max(most, c.tolerance);
    subjects += (subjects.empty() ? "" : "; ") + c.what;
  }
  const std::string count =
      all.size() == 1 ? "1 check agrees" : fmt::format("{} checks agree", all.size());
  const std::string error = most == 0    ? ""
                            : bound      ? fmt::format(" to {:.0e}", most)
                            : worst == 0 ? ", to the last digit"
                                         : fmt::format(", worst {:.0e}", worst);
  return fmt::format("{}{}: {}", count, error, subjects);
}

std::string difference_text(const Checks& checks) {
  std::string text;
  for (const Check& c : chosen(checks, true)) {
    text += (text.empty() ? "" : "; ") + c.what;
    if (c.compared <= 1 && !c.left_name.empty()) text += fmt::format(" ({})", values_text(c));
  }
  return text.empty() ? "" : "differ, as they should: " + text;
}

std::string shape_text(const ShapeLine& e) {
  return fmt::format("{} {} = {}{}", e.name, e.symbols, vitruvian::shape_text(e.lengths),
                     e.holds ? "" : "  WRONG SHAPE");
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

// Nobody points at a page's figures.
Drawing drawing_of(const Figure& figure) {
  if (const Matrix* const m = std::get_if<Matrix>(&figure.data)) {
    return {{{heat_map(*m, "", {ColourMap::viridis, range_of(m->values)}, 260)}}};
  }
  if (const Chart* const chart = std::get_if<Chart>(&figure.data)) {
    Chart still = *chart;
    still.tips = false;
    return {{{still}}};
  }
  if (const Diagram* const diagram = std::get_if<Diagram>(&figure.data)) return {{{*diagram}}};
  return {{{std::get<ImageGrid>(figure.data)}}};
}

std::string play_text(const Control& control, double Slider::*where) {
  std::vector<double> values;
  for (const Slider& s : control.sliders) values.push_back(s.*where);
  return joined(values, ",");
}

std::string ranges_text(const Control& control) {
  std::string text;
  for (const Slider& s : control.sliders) {
    text += fmt::format("{}{} from {} to {}", text.empty() ? "" : "; ", s.name, s.from, s.to);
  }
  return text;
}

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
    text += fmt::format(" You asked for the mistake {}: {}", closing.broken, closing.why);
  }
  return text;
}

bool goes_on(const Event& event, std::size_t index_before) {
  return event.index() == index_before && std::holds_alternative<ShapeLine>(event);
}

std::vector<std::string> lines_of(const Figure& figure, std::size_t width) {
  return std::visit([width](const auto& data) { return text_of(data, width); }, figure.data);
}

namespace {

std::string shown(const Matrix& m) {
  const Range range = range_of(m.values);
  return fmt::format("{} by {} numbers as shades, from {:.3g} to {:.3g}", m.rows, m.columns,
                     range.low, range.high);
}
std::string shown(const Chart& chart) {
  std::vector<std::string> parts;
  for (const Series& s : chart.series) {
    for (std::size_t i = 0; i < std::min(s.y.size(), chart.names.size()); ++i) {
      parts.push_back(fmt::format("{} {:.3g}", chart.names[i], s.y[i]));
    }
    if (!chart.names.empty() || s.y.empty()) continue;
    parts.push_back(fmt::format("{} from {:.3g} to {:.3g}", s.name.empty() ? "a curve" : s.name,
                                s.y.front(), s.y.back()));
  }
  return fmt::format("{}: {}", chart.names.empty() ? "Curves" : "Bars", joined(parts));
}
std::string shown(const ImageGrid& grid) {
  const std::size_t n = grid.images.size();
  const std::string count = n == 1 ? "A picture" : fmt::format("{} pictures", n);
  return grid.x_names.empty() ? count : fmt::format("{}: {}", count, joined(grid.x_names));
}
std::string shown(const Diagram& diagram) {
  std::vector<std::string> parts;
  for (const Diagram::Arrow& arrow : diagram.arrows) {
    parts.push_back(fmt::format("{} to {}", arrow.from, arrow.to));
  }
  return fmt::format("Boxes and arrows: {}", joined(parts));
}

}  // namespace

std::string alternative(const Figure& figure) {
  return std::visit([](const auto& data) { return shown(data); }, figure.data);
}

}  // namespace vitruvian::lessons
