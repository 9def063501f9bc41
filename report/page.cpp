#include "report/page.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

namespace vitruvian {
namespace {

// Colours: Okabe and Ito's, which the colour-blind tell apart; each line has its own dashes too.
constexpr std::string_view style = R"css(
:root {
  --ink: #1b1f24; --muted: #5b6470; --paper: #ffffff; --card: #ffffff; --soft: #f4f5f7;
  --rule: #dfe3e8; --right: 0 114 178; --wrong: 213 94 0;
  --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #b0568f; --c4: #8a6d00; --c5: #555b66;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e7e9ec; --muted: #9aa4b1; --paper: #12151a; --card: #191d24; --soft: #222832;
    --rule: #323a46; --right: 86 180 233; --wrong: 240 138 60;
    --c0: #56b4e9; --c1: #f08a3c; --c2: #2cc295; --c3: #e39ac4; --c4: #e6c229; --c5: #b8bec8;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 72rem; color: var(--ink);
  background: var(--paper); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif;
}
h1 { margin: 0; font-size: 1.9rem; letter-spacing: -0.02em; overflow-wrap: anywhere; }
h2 { margin: 2.6rem 0 .8rem; font-size: 1.2rem; }
p { margin: .3rem 0 .8rem; max-width: 46rem; }
.muted, figcaption, .note { color: var(--muted); }
.note { border-left: 3px solid var(--c1); padding-left: .7rem; margin-top: 1rem; }
.tiles { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1.4rem 0 0; }
.tile { flex: 1 1 8rem; padding: .7rem .9rem; border-radius: 10px; background: var(--soft); }
.tile b { display: block; font-size: 1.45rem; font-weight: 600; line-height: 1.25; }
.tile span { color: var(--muted); font-size: .82rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 28rem), 1fr));
  gap: 1rem; }
figure { margin: 0; padding: .9rem 1rem; border: 1px solid var(--rule); border-radius: 10px;
  background: var(--card); min-width: 0; }
figure > svg, figure > img { display: block; width: 100%; height: auto; }
figure > img { image-rendering: pixelated; }
figcaption { font-size: .85rem; margin-top: .4rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .88rem; }
th, td { padding: .22rem .6rem; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--rule); }
th { color: var(--muted); font-weight: 500; }
th:first-child { text-align: left; }
.runs th, .runs td { white-space: normal; overflow-wrap: anywhere; min-width: 6rem; max-width: 16rem; }
.matrix th, .matrix td { border: 2px solid var(--card); padding: .25rem .45rem; min-width: 2.4rem;
  text-align: center; }
.matrix th:first-child { text-align: right; max-width: 10rem; overflow: hidden;
  text-overflow: ellipsis; }
.matrix .right { background: rgb(var(--right) / calc(.08 + .55 * var(--a))); }
.matrix .wrong { background: rgb(var(--wrong) / calc(.08 + .62 * var(--a))); }
.matrix .none { color: var(--muted); opacity: .45; }
.matrix .share { border-left-width: 10px; }
.bar { position: relative; display: inline-block; width: 6rem; height: .6rem;
  background: var(--soft); border-radius: 3px; overflow: hidden; }
.bar i { position: absolute; inset: 0 auto 0 0; background: rgb(var(--right)); }
.bar.off i { background: rgb(var(--wrong)); }
.seen { display: grid; grid-template-columns: repeat(auto-fill, minmax(17.5rem, 1fr)); gap: .75rem; }
.seen article { display: flex; gap: .8rem; align-items: flex-start; padding: .65rem;
  border: 1px solid var(--rule); border-radius: 10px; background: var(--card); min-width: 0; }
.seen img { flex: none; width: 84px; height: auto; border-radius: 6px; image-rendering: pixelated;
  background: var(--soft); }
.seen div { min-width: 0; flex: 1; font-size: .82rem; }
.seen h3 { margin: 0 0 .25rem; font-size: .9rem; font-weight: 600; overflow-wrap: anywhere; }
.seen p { display: flex; gap: .45rem; align-items: center; margin: 0; line-height: 1.45;
  font-variant-numeric: tabular-nums; }
.seen p span:first-child { width: 5.6rem; overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap; }
.seen .bar { width: auto; flex: 1; }
.seen .truth { font-weight: 600; }
dl { columns: 19rem auto; column-gap: 2rem; margin: 0; font-size: .88rem; }
dl div { display: flex; justify-content: space-between; gap: 1rem; break-inside: avoid;
  border-bottom: 1px solid var(--rule); padding: .18rem 0; }
dt { color: var(--muted); }
dd { margin: 0; text-align: right; overflow-wrap: anywhere; }
details summary { cursor: pointer; color: var(--muted); margin: .6rem 0; }
.setting td { font-weight: 600; }
svg text { font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; fill: var(--muted); }
svg .title { font-size: 14px; font-weight: 600; fill: var(--ink); }
svg .grid { stroke: var(--rule); stroke-width: 1; }
svg .line { fill: none; stroke-width: 1.8; stroke-linejoin: round; }
svg .band { stroke: none; opacity: .16; }
svg .strip { fill: none; pointer-events: all; }
svg .tip { visibility: hidden; pointer-events: none; }
svg .at:hover .tip { visibility: visible; }
svg .tip rect { fill: var(--card); stroke: var(--rule); }
svg .tip line { stroke: var(--muted); stroke-dasharray: 2 2; }
svg .tip text { fill: var(--ink); font-variant-numeric: tabular-nums; }
svg .k0 { stroke: var(--c0); } svg .f0 { fill: var(--c0); }
svg .k1 { stroke: var(--c1); stroke-dasharray: 7 3; } svg .f1 { fill: var(--c1); }
svg .k2 { stroke: var(--c2); stroke-dasharray: 2 3; } svg .f2 { fill: var(--c2); }
svg .k3 { stroke: var(--c3); stroke-dasharray: 9 3 2 3; } svg .f3 { fill: var(--c3); }
svg .k4 { stroke: var(--c4); stroke-dasharray: 14 4; } svg .f4 { fill: var(--c4); }
svg .k5 { stroke: var(--c5); stroke-width: 1.2; } svg .f5 { fill: var(--c5); }
)css";

// The security policy is a second lock behind the escapes: no script runs, nothing is fetched.
constexpr std::string_view page_template = R"html(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; img-src data:; style-src 'unsafe-inline'"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="color-scheme" content="light dark"/>
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{body}
</body>
</html>
)html";

// The length of the UTF-8 character that begins at `at`; 0 where there is none.
std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> unsigned {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0;
  };
  const unsigned first = byte(0);
  const std::size_t length = first < 0x80                     ? 1
                             : first >= 0xC2 && first <= 0xDF ? 2
                             : first >= 0xE0 && first <= 0xEF ? 3
                             : first >= 0xF0 && first <= 0xF4 ? 4
                                                              : 0;
  std::uint32_t code = length == 2 ? first & 0x1FU : length == 3 ? first & 0x0FU : first & 0x07U;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
    code = code << 6U | (byte(i) & 0x3FU);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool outside = code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF);
  const bool forbidden = length == 3 && (code == 0xFFFE || code == 0xFFFF);  // by XML
  return length > 1 && (overlong || outside || forbidden) ? 0 : length;
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text, i);
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    if (length == 0 || (byte < 0x20 && c != '\t' && c != '\n') || byte == 0x7F) {
      result += "\xEF\xBF\xBD";
    } else if (length > 1) {
      result += text.substr(i, length);
    } else {
      switch (c) {
        case '&':
          result += "&amp;";
          break;
        case '<':
          result += "&lt;";
          break;
        case '>':
          result += "&gt;";
          break;
        case '"':
          result += "&quot;";
          break;
        case '\'':
          result += "&#39;";
          break;
        default:
          result += c;
      }
    }
    i += length == 0 ? 1 : length;
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

std::string html_number(double value, int decimals) {
  if (!std::isfinite(value)) return "\xE2\x80\x93";
  return fmt::format("<data value=\"{}\">{:.{}f}</data>", value, value, decimals);
}

std::string html_percent(double share) {
  if (!std::isfinite(share)) return "\xE2\x80\x93";
  return fmt::format("<data value=\"{}\">{:.2f} %</data>", share, 100 * share);
}

std::string html_section(std::string_view title, std::string_view content) {
  return fmt::format("<section>\n<h2>{}</h2>\n{}</section>\n", html_escaped(title), content);
}

std::string html_page(std::string_view title, std::string_view body) {
  return fmt::format(page_template, fmt::arg("title", html_escaped(title)),
                     fmt::arg("style", style), fmt::arg("body", body));
}

}  // namespace vitruvian
