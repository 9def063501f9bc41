#include "vitruvian/charts/svg.hpp"

#include "vitruvian/charts/svg_parts.hpp"
#include "vitruvian/core/base/console.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace vitruvian {
namespace svg {

double width_of(std::string_view text) {
  return 6.6 * static_cast<double>(console::characters(text));
}

std::string text_at(double x, double y, const char* anchor, std::string_view text,
                    std::string_view more) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                     anchor, more, html_escaped(text));
}

std::string text_upwards(double x, double y, std::string_view text) {
  if (text.empty()) return "";
  return text_at(x, y, "middle", text,
                 fmt::format(" transform=\"rotate(-90 {:.1f} {:.1f})\"", x, y));
}

std::string title_of(std::string_view text) {
  return text.empty() ? "" : text_at(0, 16, "start", text, " class=\"title\"");
}

}  // namespace svg

namespace {

using svg::Piece;

// Colours: Okabe and Ito's, which the colour-blind tell apart; each line has its own dashes too.
// When all have been taken, each colour gets the dashes of the next, and so on: 36 lines differ.
constexpr std::string_view style = R"css(
.chart text { font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; }
.chart .title { font-size: 14px; font-weight: 600; }
.chart .grid, .chart .frame { fill: none; stroke-width: 1; }
.chart .line { fill: none; stroke-width: 1.8; stroke-linejoin: round; }
.chart .band { stroke: none; opacity: .16; }
.chart .strip { fill: none; pointer-events: all; }
.chart .tip { visibility: hidden; pointer-events: none; }
.chart .at:hover .tip { visibility: visible; }
.chart .tip line { stroke-dasharray: 2 2; }
.chart image { image-rendering: pixelated; }
.chart .smooth { image-rendering: auto; }
.chart .mark { fill: none; stroke: #e62828; stroke-width: 2; }
.chart .d1 { stroke-dasharray: 7 3; } .chart .d2 { stroke-dasharray: 2 3; }
.chart .d3 { stroke-dasharray: 9 3 2 3; } .chart .d4 { stroke-dasharray: 14 4; }
.chart .d5 { stroke-width: 1.2; }
.chart .flow { fill: none; stroke-width: 1.3; } .chart .flow.back { stroke-dasharray: 4 3; }
)css";

struct Colours {
  std::string_view ink, muted, paper, rule, series[svg::palette];
};
constexpr Colours by_day{"#1b1f24",
                         "#555e69",
                         "#ffffff",
                         "#dfe3e8",
                         {"#0072b2", "#d55e00", "#009e73", "#b0568f", "#8a6d00", "#555b66"}};
constexpr Colours by_night{"#e7e9ec",
                           "#a6afbb",
                           "#191d24",
                           "#323a46",
                           {"#56b4e9", "#f08a3c", "#2cc295", "#e39ac4", "#e6c229", "#b8bec8"}};

std::string rules_of(const Colours& c) {
  std::string css = fmt::format(
      ".chart text {{ fill: {1}; }} .chart .title, .chart .tip text {{ fill: {0}; }}\n"
      ".chart .paper {{ fill: {2}; }} .chart .grid, .chart .frame {{ stroke: {3}; }}\n"
      ".chart .tip rect {{ fill: {2}; stroke: {3}; }} .chart .tip line {{ stroke: {1}; }}\n",
      c.ink, c.muted, c.paper, c.rule);
  css += fmt::format(
      ".chart .name {{ fill: {0}; font-weight: 600; }} .chart .box {{ fill: {2}; stroke: {1}; }}\n"
      ".chart .flow {{ stroke: {1}; }} .chart .head {{ fill: {1}; }}\n"
      ".chart .flow.back {{ stroke: {3}; }} .chart .head.back, .chart text.back {{ fill: {3}; }}\n",
      c.ink, c.muted, c.paper, c.series[1]);
  for (std::size_t i = 0; i < svg::palette; ++i) {
    css += fmt::format(
        ".chart .k{0} {{ stroke: {1}; }} .chart .f{0} {{ fill: {1}; }} "
        ".chart .t{0} {{ fill: {1}; fill-opacity: .16; stroke: {1}; }}\n",
        i, c.series[i]);
  }
  return css;
}

Piece piece_of(const Drawing& drawing) {
  constexpr double between = 28;  // panels
  Piece whole;
  for (const auto& row : drawing.rows) {
    const double top = whole.height + (whole.height > 0 ? between : 0);
    double x = 0;
    for (const Drawing::Panel& panel : row) {
      const Piece piece = std::visit([](const auto& p) { return svg::piece_of(p); }, panel);
      if (piece.svg.empty()) continue;
      whole.svg +=
          fmt::format("<g transform=\"translate({:.1f} {:.1f})\">\n{}</g>\n", x, top, piece.svg);
      whole.width = std::max(whole.width, x + piece.width);
      whole.height = std::max(whole.height, top + piece.height);
      x += piece.width + between;
    }
  }
  return whole;
}

std::string label_of(const Drawing& drawing) {
  std::string label;
  for (const auto& row : drawing.rows) {
    for (const Drawing::Panel& panel : row) {
      const std::string& name = std::visit(
          [](const auto& p) -> const auto& { return p.title; }, panel);
      if (!name.empty()) label += (label.empty() ? "" : "; ") + name;
    }
  }
  return html_escaped(label);
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const console::Character character = console::first_of(text);
    const char c = text[0];
    const bool control =
        (character.code < 0x20 && c != '\t' && c != '\n') || character.code == 0x7F;
    const bool forbidden = character.code == 0xFFFE || character.code == 0xFFFF;  // by XML
    if (character.bytes == 0 || control || forbidden) {
      result += std::string_view("\xEF\xBF\xBD");
    } else {
      const std::string_view name = c == '&'    ? "&amp;"
                                    : c == '<'  ? "&lt;"
                                    : c == '>'  ? "&gt;"
                                    : c == '"'  ? "&quot;"
                                    : c == '\'' ? "&#39;"
                                                : text.substr(0, character.bytes);
      result += name;
    }
    text.remove_prefix(std::max<std::size_t>(character.bytes, 1));
  }
  return result;
}

std::string data_uri(std::string_view media_type, std::string_view bytes) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string result = fmt::format("data:{};base64,", media_type);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      group = group << 8U | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      result += i + j <= bytes.size() ? digits[group >> (18 - 6 * j) & 0x3FU] : '=';
    }
  }
  return result;
}

std::string chart_style() {
  return fmt::format("{}{}@media (prefers-color-scheme: dark) {{\n{}}}\n", style, rules_of(by_day),
                     rules_of(by_night));
}

std::string svg_of(const Drawing& drawing) {
  const Piece piece = piece_of(drawing);
  if (piece.svg.empty()) return "";
  // 12 units become 11 pixels at least: a page scrolls what is wider.
  return fmt::format(
      "<svg class=\"chart{}\" viewBox=\"0 0 {:.0f} {:.0f}\" style=\"min-width:{:.0f}px;"
      "max-width:{:.0f}px\" role=\"img\" aria-label=\"{}\">\n{}</svg>\n",
      piece.width > 560 ? " wide" : "", std::ceil(piece.width), std::ceil(piece.height),
      std::ceil(0.92 * piece.width), std::ceil(1.25 * piece.width), label_of(drawing), piece.svg);
}

std::string svg_file(const Drawing& drawing) {
  const Piece piece = piece_of(drawing);
  constexpr double margin = 12;
  const double width = std::ceil(piece.width + 2 * margin);
  const double height = std::ceil(piece.height + 2 * margin);
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\" aria-label=\"{2}\">\n"
      "<style>{3}</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n"
      "<g transform=\"translate({4} {4})\">\n{5}</g>\n</svg>\n",
      width, height, label_of(drawing), chart_style(), margin, piece.svg);
}

}  // namespace vitruvian
