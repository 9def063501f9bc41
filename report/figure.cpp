#include "vitruvian/report/figure.hpp"

#include "vitruvian/charts/svg.hpp"
#include "vitruvian/core/base/byte_source.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/safe_file.hpp"
#include "vitruvian/report/page.hpp"

#include <fmt/format.h>

#include <cstring>
#include <system_error>

namespace vitruvian {
namespace {

constexpr const char* index_name = "index.html";
constexpr const char* begin_of_figures = "<section class=\"charts\">\n";

std::string page(const std::string& title, const std::string& subtitle,
                 const std::vector<Figure>& figures) {
  std::string body = fmt::format("<header>\n<h1>{}</h1>\n<p class=\"muted\">{}</p>\n<nav>\n",
                                 html_escaped(title), html_escaped(subtitle));
  std::string shown;
  for (const Figure& figure : figures) {
    body += fmt::format("<a href=\"#{}\">{}</a>\n", figure.name, html_escaped(figure.title));
    shown += html_figure(figure, true);
  }
  return html_page(title, body + "</nav>\n</header>\n" + begin_of_figures + shown + "</section>\n");
}

}  // namespace

std::string npy_of(const Numbers& numbers) {
  std::string header = fmt::format("{{'descr': '<f8', 'fortran_order': False, 'shape': {}, }}",
                                   shape_text(numbers.shape));
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

std::string html_figure(const Figure& figure, bool links) {
  std::string content = svg_of(figure.drawing);
  if (content.empty() && !figure.words.empty()) {
    content = fmt::format("<pre>{}</pre>\n", html_escaped(figure.words));
  }
  if (content.empty()) return "";
  std::string files;
  const auto link = [&files](const std::string& name) {
    files += fmt::format(" <a href=\"{0}\">{0}</a>", html_escaped(name));
  };
  if (links && !figure.drawing.rows.empty()) link(figure.name + ".svg");
  for (const Figure::File& file : figure.files) {
    if (links) link(file.name);
  }
  return fmt::format(
      "<figure id=\"{}\" tabindex=\"0\">\n{}<figcaption><b>{}</b> {}{}</figcaption>\n</figure>\n",
      figure.name, content, html_escaped(figure.title), html_escaped(figure.text), files);
}

FigureFolder::FigureFolder(std::filesystem::path path) : path_(std::move(path)) {
  namespace fs = std::filesystem;
  std::error_code code;
  const bool there = fs::exists(path_, code);
  if (!there) fs::create_directories(path_, code);
  if (code) fail("the folder {} cannot be made: {}", path_.string(), code.message());
  if (!there) made_ = path_;
  if (!fs::is_directory(path_, code)) fail("{} is no folder", path_.string());
  const fs::path index = path_ / index_name;
  constexpr std::uint64_t largest = 1'000'000'000;
  if (fs::exists(index, code) &&
      RegularFile(index, Exit::usage).text(largest, "a page of figures").find(begin_of_figures) ==
          std::string::npos) {
    fail(Exit::usage, "{} is there already, and no page of figures: choose another folder",
         index.string());
  }
  check_can_write(index.string());
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
    if (!figure.drawing.rows.empty()) add(figure.name + ".svg", svg_file(figure.drawing));
    for (const Figure::File& file : figure.files) add(file.name, file.content);
  }
  add(index_name, page(title, subtitle, figures));
  return names;
}

}  // namespace vitruvian
