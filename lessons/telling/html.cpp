#include "lessons/telling/events.hpp"
#include "vitruvian/charts/svg.hpp"

#include <fmt/format.h>

#include <cctype>

namespace vitruvian::lessons {
namespace {

// Text in which code stands between backticks.
std::string inline_html(std::string_view text) {
  std::string result;
  bool code = false;
  while (true) {
    const std::size_t tick = text.find('`');
    result += html_escaped(text.substr(0, tick));
    if (tick == text.npos) return result + (code ? "</code>" : "");
    code = !code;
    result += code ? "<code>" : "</code>";
    text.remove_prefix(tick + 1);
  }
}

// Lines as they are, on one line of HTML.
std::string preformatted(const std::vector<std::string>& lines) {
  std::string result;
  for (const std::string& line : lines) result += html_escaped(line) + "&#10;";
  return result;
}

std::string prose(std::string_view text, const std::string& lead = "") {
  std::string result;
  bool list = false, first = true;
  for (const std::string& paragraph : paragraphs(text)) {
    const bool item = paragraph.starts_with("- ");
    if (item != list) result += item ? "<ul>" : "</ul>";
    list = item;
    result += item ? fmt::format("<li>{}</li>", inline_html(paragraph.substr(2)))
                   : fmt::format("<p>{}{}</p>", first ? lead : "", inline_html(paragraph));
    first = false;
  }
  return result + (list ? "</ul>" : "");
}

std::string cells(const char* tag, const std::vector<std::string>& row) {
  std::string result = "<tr>";
  for (const std::string& cell : row) {
    // A heading says something, or is none.
    result += fmt::format("<{0}>{1}</{0}>", cell.empty() ? "td" : tag, inline_html(cell));
  }
  return result + "</tr>";
}

std::string anchor_of(std::string_view text) {
  std::string anchor;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) anchor += static_cast<char>(std::tolower(byte));
    if (c == ' ') anchor += '-';
  }
  return anchor;
}

std::string link_to(const char* word, const std::optional<Entry>& lesson, const char* rel) {
  if (!lesson) return "";
  return fmt::format("<a rel=\"{}\" href=\"{}.html\">{}: {}. {}</a>", rel, lesson->name, word,
                     lesson->number, html_escaped(lesson->title));
}

class Html final : public Writer {
 public:
  std::string write(const Event& event) override {
    const auto html = [this](const auto& e) { return show(e); };
    return std::visit(html, event) + "\n";
  }

 private:
  std::string show(const Opening& e) {
    return fmt::format("<h1><span>Lesson {}</span> {}</h1><p class=\"about\">About {} minutes.</p>",
                       e.number, html_escaped(e.title), e.minutes);
  }
  std::string show(const Heading& e) {
    return fmt::format("<h2 id=\"{}\">{}</h2>", anchor_of(e.text), inline_html(e.text));
  }
  std::string show(const Text& e) {
    const std::string kind = e.lead == "Answer" ? " class=\"answer\"" : "";
    return fmt::format("<div{}>{}</div>", kind,
                       prose(e.text, e.lead.empty() ? "" : fmt::format("<em>{}:</em> ", e.lead)));
  }
  std::string show(const Remark& e) {
    const std::string answer =
        e.answer.empty()
            ? ""
            : fmt::format("<details><summary>Answer</summary>{}</details>", prose(e.answer));
    return fmt::format("<aside><h3>{}</h3>{}{}</aside>", html_escaped(e.title), prose(e.text),
                       answer);
  }
  std::string show(const Equation& e) {
    // An event is one line.
    std::string lines = html_escaped(e.unicode);
    for (std::size_t at = 0; (at = lines.find('\n', at)) != std::string::npos;) {
      lines.replace(at, 1, "<br>");
    }
    return fmt::format("<div class=\"equation\" data-tex=\"{}\"><span>{}</span>{}</div>",
                       html_escaped(e.tex), lines,
                       e.number.empty() ? "" : fmt::format("<b>({})</b>", html_escaped(e.number)));
  }
  std::string show(const Code& e) {
    return fmt::format(
        "<figure class=\"code\"><figcaption>{}</figcaption><pre><code>{}</code></pre></figure>",
        html_escaped(e.file), preformatted(e.lines));
  }
  std::string show(const ShapeLine& e) {
    return fmt::format("<pre class=\"shape{}\">{}</pre>", e.holds ? "" : " wrong",
                       html_escaped(shape_text(e)));
  }
  std::string show(const Table& e) {
    std::string rows;
    for (const auto& row : e.rows) rows += cells("td", row);
    return fmt::format(
        "<div class=\"wide\"><table><thead>{}</thead><tbody>{}</tbody></table></div>",
        cells("th", e.columns), rows);
  }
  // What passed is folded; what is wrong is open.
  std::string show(const Checks& e) {
    std::string summary, rows;
    for (const std::string& text : {agreement_text(e, true), difference_text(e)}) {
      if (!text.empty()) summary += (summary.empty() ? "✓ " : "<br>✓ ") + inline_html(text);
    }
    bool wrong = false;
    for (const Check& check : e.all) {
      wrong = wrong || !check.passed;
      const std::string error =
          check.right_name.empty() && check.left_name.empty() ? "" : error_text(check.error);
      std::string row = cells("td", {subject(check), values_text(check), error, verdict(check)});
      if (!check.passed) {
        row.replace(0, 4, "<tr class=\"wrong\">");
        summary += fmt::format("{}✗ {}: {}", summary.empty() ? "" : "<br>", verdict(check),
                               inline_html(subject(check)));
        if (!check.reason.empty()) row += cells("td", {check.reason, "", "", ""});
      }
      rows += row;
    }
    return fmt::format("<details class=\"checks{}\"{}><summary>{}</summary><div "
                       "class=\"wide\"><table><thead>{}</thead>"
                       "<tbody>{}</tbody></table></div></details>",
                       wrong ? " wrong" : "", wrong ? " open" : "", summary,
                       cells("th", {"check", "values", "error", "verdict"}), rows);
  }
  std::string show(const Figure& e) {
    return fmt::format("<figure><img src=\"{}\" alt=\"{}\"><figcaption>{}</figcaption></figure>",
                       data_uri("image/svg+xml", svg_file(drawing_of(e))),
                       html_escaped(alternative(e)), inline_html(e.caption));
  }
  std::string show(const Closing& e) {
    std::string text =
        fmt::format("<footer class=\"{}\">{}", e.failed == 0 ? "" : "wrong", prose(summary(e)));
    std::vector<std::string> links;
    for (const std::string& word : e.words) {
      links.push_back(
          fmt::format("<a href=\"glossary.html#{}\">{}</a>", anchor_of(word), html_escaped(word)));
    }
    if (!links.empty()) text += fmt::format("<p>Words to keep: {}.</p>", joined(links));
    if (!e.exercises.empty()) {
      text += "<h2 id=\"now-you\">Now you</h2><ul>";
      for (const Exercise& p : e.exercises) {
        text += fmt::format("<li><a href=\"exercises.html#{}\">Exercise {}: {}</a> ({})</li>",
                            p.name, p.number, html_escaped(p.title), p.level);
      }
      text += "</ul>";
    }
    return text + fmt::format("<nav aria-label=\"Lessons\">{} <a href=\"index.html\">The "
                              "course</a> {}</nav></footer>",
                              link_to("Before", e.previous, "prev"),
                              link_to("Next", e.next, "next"));
  }
};

}  // namespace

std::unique_ptr<Writer> html_writer() { return std::make_unique<Html>(); }

}  // namespace vitruvian::lessons
