#include "report/figure.hpp"

#include "core/error.hpp"
#include "core/safe_file.hpp"
#include "media/encode_png.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <string_view>
#include <system_error>

namespace vitruvian {
namespace {

constexpr std::string_view page_style = R"(
:root { color-scheme: light dark; --page: #fbfbf9; --card: #fff; --text: #222; --quiet: #666; --line: #ddd; --link: #0b5cad; }
@media (prefers-color-scheme: dark) {
  :root { --page: #16181b; --card: #1f2226; --text: #e4e4e2; --quiet: #a0a4a8; --line: #363a40; --link: #7db7f0; }
}
body { margin: 0 auto; max-width: 72rem; padding: 2rem 1.2rem; background: var(--page); color: var(--text);
       font: 16px/1.5 system-ui, sans-serif; }
header p, figcaption { color: var(--quiet); }
nav a, figcaption a { color: var(--link); margin-right: 1em; }
section { margin: 2rem 0; padding: 1rem 1.2rem; background: var(--card); border: 1px solid var(--line); border-radius: 6px; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 0; font-size: 1.25rem; }
figure { margin: 0; }
img { max-width: 100%; height: auto; background: #fff; border-radius: 4px; }
pre { overflow-x: auto; font-size: 13px; }
)";

std::string escaped(std::string_view text) {
  std::string html;
  for (const char c : text) {
    if (c == '&') {
      html += "&amp;";
    } else if (c == '<') {
      html += "&lt;";
    } else if (c == '>') {
      html += "&gt;";
    } else if (c == '"') {
      html += "&quot;";
    } else {
      html += c;
    }
  }
  return html;
}

std::string page(const std::string& title, const std::string& subtitle,
                 const std::vector<Figure>& figures) {
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width\">\n<title>{0}</title>\n<style>{1}</style>\n<header>\n"
      "<h1>{0}</h1>\n<p>{2}</p>\n<nav>",
      escaped(title), page_style, escaped(subtitle));
  for (const Figure& figure : figures) {
    html += fmt::format("<a href=\"#{}\">{}</a>\n", figure.name, escaped(figure.title));
  }
  html += "</nav>\n</header>\n";
  for (const Figure& figure : figures) {
    html += fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n<figure>\n", figure.name,
                        escaped(figure.title));
    if (!figure.picture.pixels.empty()) {
      html +=
          fmt::format("<img src=\"{}.png\" alt=\"{}\" width=\"{}\" height=\"{}\">\n", figure.name,
                      escaped(figure.title), figure.picture.width, figure.picture.height);
    } else {
      html += fmt::format("<pre>{}</pre>\n", escaped(figure.words));
    }
    html += fmt::format("<figcaption>{} ", escaped(figure.text));
    for (const Figure::File& file : figure.files) {
      html += fmt::format("<a href=\"{0}\">{0}</a>", file.name);
    }
    html += "</figcaption>\n</figure>\n</section>\n";
  }
  return html + "</html>\n";
}

void append_json(std::string& json, const Numbers& numbers, std::size_t axis, std::size_t& next) {
  if (axis == numbers.shape.size()) {
    const double value = numbers.values.at(next++);
    json += std::isfinite(value) ? fmt::format("{:.9g}", value) : "null";
    return;
  }
  json += '[';
  for (std::size_t i = 0; i < numbers.shape[axis]; ++i) {
    if (i > 0) json += ", ";
    append_json(json, numbers, axis + 1, next);
  }
  json += ']';
}

}  // namespace

std::string npy_of(const Numbers& numbers) {
  // Python's tuple: (2, 3), but (2,).
  const std::string shape =
      fmt::format("{}{}", fmt::join(numbers.shape, ", "), numbers.shape.size() == 1 ? "," : "");
  std::string header =
      fmt::format("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}), }}", shape);
  constexpr std::size_t before = 10;  // magic, version and the header's length
  header.append(63 - (before + header.size()) % 64, ' ').append("\n");
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xFFU);
  bytes += static_cast<char>(header.size() >> 8U);
  bytes += header;
  const std::size_t begin = bytes.size();
  bytes.resize(begin + numbers.values.size() * sizeof(double));
  if (!numbers.values.empty()) {
    std::memcpy(bytes.data() + begin, numbers.values.data(), bytes.size() - begin);
  }
  return bytes;
}

std::string json_of(const Numbers& numbers) {
  std::string json;
  std::size_t next = 0;
  append_json(json, numbers, 0, next);
  return json;
}

FigureFolder::FigureFolder(std::filesystem::path path) : path_(std::move(path)) {
  namespace fs = std::filesystem;
  std::error_code code;
  const bool there = fs::exists(path_, code);
  if (!there) fs::create_directories(path_, code);
  if (code) fail("the folder {} cannot be made: {}", path_.string(), code.message());
  if (!there) made_ = path_;
  if (!fs::is_directory(path_, code)) fail("{} is no folder", path_.string());
  const fs::path trial = path_ / "index.html.trial";
  write_file_safely(trial.string(), "");
  fs::remove(trial, code);
}

FigureFolder::~FigureFolder() {
  std::error_code ignored;
  if (!made_.empty()) std::filesystem::remove(made_, ignored);  // only when it is empty
}

std::vector<std::string> FigureFolder::write(const std::string& title, const std::string& subtitle,
                                             const std::vector<Figure>& figures) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name, const std::string& content) {
    write_file_safely((path_ / name).string(), content);
    names.push_back(name);
  };
  for (const Figure& figure : figures) {
    if (!figure.picture.pixels.empty()) add(figure.name + ".png", encode_png(figure.picture));
    for (const Figure::File& file : figure.files) add(file.name, file.content);
  }
  add("index.html", page(title, subtitle, figures));
  return names;
}

}  // namespace vitruvian
