#include "lessons/telling/contents.hpp"
#include "lessons/telling/render.hpp"

#include <fmt/format.h>

#include <string>
#include <variant>

namespace vitruvian::lessons {
namespace {

// Text in which nothing is markup but the code between backticks.
std::string escaped(std::string_view text) {
  std::string result;
  bool code = false;
  for (const char c : text) {
    if (c == '`') code = !code;
    if (!code && (c == '*' || c == '_' || c == '[' || c == ']' || c == '|' || c == '$'))
      result += '\\';
    if (!code && c == '<') {
      result += "&lt;";
    } else {
      result += c;
    }
  }
  return result;
}

// In a table's cell a bar would end the cell, in code too.
std::string cell(std::string_view text) {
  std::string result;
  for (const char c : escaped(text)) {
    if (c == '|' && !result.ends_with('\\')) result += '\\';
    result += c;
  }
  return result;
}

class Markdown final : public Renderer {
 public:
  std::string render(const Event& event) override {
    out_.clear();
    const bool runs_on = event.index() == previous_ && (std::holds_alternative<Check>(event) ||
                                                        std::holds_alternative<ShapeLine>(event));
    if (!runs_on) {
      if (fenced_) out_ += "```\n";
      fenced_ = false;
      names_.clear();
      if (previous_ != std::variant_npos) out_ += '\n';
    }
    previous_ = event.index();
    std::visit([this](const auto& e) { show(e); }, event);
    return out_;
  }

 private:
  void line(std::string_view text) { out_.append(text).append("\n"); }

  void prose(std::string_view text, std::string_view first = "") {
    bool opening = true;
    bool list = false;
    for (const std::string& paragraph : paragraphs(text)) {
      const bool item = paragraph.starts_with("- ");
      if (!opening && !(item && list)) out_ += '\n';
      const std::string body = escaped(item ? paragraph.substr(2) : paragraph);
      line(fmt::format("{}{}{}", opening ? first : "", item ? "- " : "", body));
      opening = false;
      list = item;
    }
  }

  void row(const std::vector<std::string>& cells) {
    std::string text = "|";
    for (const std::string& c : cells) text += " " + cell(c) + " |";
    line(text);
  }
  void head(const std::vector<std::string>& cells) {
    row(cells);
    std::string text = "|";
    for (std::size_t i = 0; i < cells.size(); ++i) text += "---|";
    line(text);
  }

  void show(const Opening& e) {
    line(fmt::format("# Lesson {}. {}", e.number, escaped(e.title)));
    line("");
    line(fmt::format("About {0} minutes. Its program is "
                     "[lessons/course/{1}.cpp](../../lessons/course/{1}.cpp); run it "
                     "with `build/bin/lesson {2}`.",
                     e.minutes, e.name, e.number));
  }
  void show(const Heading& e) { line("## " + escaped(e.text)); }
  void show(const Text& e) { prose(e.text); }
  void show(const Words& e) { prose(e.text, "*In words:* "); }
  void show(const Equation& e) {
    line("$$");
    line(e.number.empty() ? e.tex : fmt::format("{} \\tag{{{}}}", e.tex, e.number));
    line("$$");
  }
  void show(const Symbols& e) {
    head({"symbol", "here", "meaning"});
    for (const Symbols::Row& r : e.rows) row({r.symbol, std::to_string(r.value), r.meaning});
  }
  // Without the line: it moves with every edit above it, and pages should not.
  void show(const Code& e) {
    line(fmt::format("From [{}](../../{}):", e.file, e.file));
    line("");
    line("```cpp");
    for (const std::string& l : e.lines) line(l);
    line("```");
  }
  void show(const ShapeLine& e) {
    if (!fenced_) line("```text");
    fenced_ = true;
    line(fmt::format("{} {} = {}{}", e.name, e.symbols, lengths_text(e.lengths),
                     e.holds ? "" : "  WRONG SHAPE"));
  }
  void show(const Table& e) {
    head(e.columns);
    for (const auto& r : e.rows) row(r);
  }
  // Checks of the same kind that follow each other share a table. What passed
  // shows its bound, not its last digits, which differ from machine to
  // machine.
  void show(const Check& e) {
    const std::string names = e.left_name + "\n" + e.right_name;
    if (names != names_) {
      if (!names_.empty()) line("");
      head({"check", e.left_name, e.right_name, "relative error", "verdict"});
      names_ = names;
    }
    const std::string what =
        e.compared > 1 ? fmt::format("{} ({} {})", e.what, e.compared, e.unit) : e.what;
    std::string error = error_text(e.error);
    if (e.passed && e.tolerance == 0) error = "0";
    if (e.passed && e.tolerance != 0) {
      error = fmt::format("{} {:.0e}", e.must_differ ? "at least" : "below", e.tolerance);
    }
    row({what, number_text(e.left, e.tolerance), number_text(e.right, e.tolerance), error,
         verdict(e)});
    if (!e.reason.empty()) row({e.reason, "", "", "", ""});
  }
  void show(const Picture& e) { figure(e.caption, draw(e, 76)); }
  void show(const Bars& e) { figure(e.caption, draw(e, 76)); }
  void show(const Curves& e) { figure(e.caption, draw(e, 76)); }
  void figure(const std::string& caption, const std::vector<std::string>& lines) {
    line("```text");
    for (std::string l : lines) {
      while (l.ends_with(' ')) l.pop_back();
      line(l);
    }
    line("```");
    line("");
    prose(caption);
  }
  void show(const Disagreement& e) {
    prose(e.text, e.row.empty() ? "**A common mistake.** "
                                : fmt::format("**Where the sources disagree ({}).** ", e.row));
  }
  void show(const Elsewhere& e) { prose(e.text, "*In PyTorch:* "); }
  void show(const Question& e) {
    if (e.answer.empty()) return prose(e.question, "**To take along.** ");
    prose(e.question, "**A question.** ");
    line("");
    line("<details><summary>Answer</summary>");
    line("");
    prose(e.answer);
    line("");
    line("</details>");
  }
  void show(const Closing& e) {
    line("---");
    line("");
    prose(summary(e));
    if (!e.breaks.empty()) {
      line("");
      line("Break it and see which check notices:");
      line("");
    }
    for (const auto& [name, what] : e.breaks) {
      line(fmt::format("- `--break {}`: {}", name, escaped(what)));
    }
    if (e.rows.empty()) return;
    line("");
    line(fmt::format("Rows of the [requirements](../requirements.md) that stand here: {}.",
                     fmt::join(e.rows, ", ")));
  }

  std::string out_;
  std::string names_;    // of the table of checks that is open
  bool fenced_ = false;  // whether lines of shapes are open
  std::size_t previous_ = std::variant_npos;
};

}  // namespace

std::unique_ptr<Renderer> markdown_renderer() { return std::make_unique<Markdown>(); }

}  // namespace vitruvian::lessons
