#include "lessons/telling/events.hpp"
#include "vitruvian/charts/svg.hpp"
#include "vitruvian/core/base/safe_file.hpp"

#include <fmt/format.h>

#include <cctype>

namespace vitruvian::lessons {
namespace {

// Text in which nothing is markup but the code between backticks.
std::string escaped(std::string_view text) {
  std::string result;
  bool code = false;
  for (const char c : text) {
    if (c == '`') code = !code;
    if (!code && std::string_view("*_[]|$").find(c) != std::string_view::npos) result += '\\';
    if (!code && c == '<') {
      result += "&lt;";
    } else {
      result += c;
    }
  }
  return result;
}

// In the line of what is folded, where nothing but elements is markup.
std::string summary_of(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '`') continue;
    result += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
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

// To its heading in docs/lessons/glossary.md, by the name that GitHub gives it.
std::string glossary_link(const std::string& word) {
  std::string anchor;
  for (const char c : word) {
    if (c == ' ') anchor += '-';
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_') {
      anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return fmt::format("[{}](glossary.md#{})", escaped(word), anchor);
}

class Markdown final : public Writer {
 public:
  explicit Markdown(std::filesystem::path figures) : figures_(std::move(figures)) {
    if (!figures_.empty()) std::filesystem::create_directories(figures_);
  }

  std::string write(const Event& event) override {
    out_.clear();
    if (!goes_on(event, before_)) {
      if (fenced_) line("```");
      fenced_ = false;
      if (before_ != std::variant_npos) line("");
    }
    before_ = event.index();
    std::visit([this](const auto& e) { show(e); }, event);
    return out_;
  }

 private:
  void line(std::string_view text) { out_.append(text).append("\n"); }

  void prose(std::string_view text, const std::string& lead = "") {
    const std::vector<std::string> all = paragraphs(text);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool item = all[i].starts_with("- ");
      if (i != 0 && !(item && all[i - 1].starts_with("- "))) line("");
      line((i == 0 ? lead : "") + (item ? "- " + escaped(all[i].substr(2)) : escaped(all[i])));
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
    name_ = e.name;
    line(fmt::format("# Lesson {0}. {1}\n\nAbout {2} minutes. Its program is "
                     "[lessons/course/{3}.cpp](../../lessons/course/{3}.cpp); run it with "
                     "`build/bin/lesson {0}`.",
                     e.number, escaped(e.title), e.minutes, e.name));
  }
  void show(const Heading& e) { line("## " + escaped(e.text)); }
  void show(const Text& e) { prose(e.text, e.lead.empty() ? "" : fmt::format("*{}:* ", e.lead)); }
  void show(const Remark& e) {
    if (e.folds) {
      line(fmt::format("<details open><summary>{}</summary>\n", e.title));
      prose(e.text);
      return line("\n</details>");
    }
    prose(e.text, fmt::format("**{}.** ", e.title));
    if (e.answer.empty()) return;
    line("\n<details><summary>Answer</summary>\n");
    prose(e.answer);
    line("\n</details>");
  }
  void show(const Equation& e) {
    const std::string tag = e.number.empty() ? "" : fmt::format(" \\tag{{{}}}", e.number);
    line(fmt::format("```math\n{}{}\n```", e.tex, tag));
  }
  // Without the line: it moves with every edit above it, and pages should not.
  void show(const Code& e) {
    line(fmt::format("From [{0}](../../{0}):\n\n```cpp\n{1}\n```", e.file, joined(e.lines, "\n")));
  }
  void show(const ShapeLine& e) {
    if (!fenced_) line("```text");
    fenced_ = true;
    line(shape_text(e));
  }
  void show(const Table& e) {
    head(e.columns);
    for (const auto& r : e.rows) row(r);
  }
  // What passed is folded under a line that says it. It shows its bound, not its last digits, which
  // differ from machine to machine.
  void show(const Checks& e) {
    std::string passed;
    for (const std::string& text : {agreement_text(e, true), difference_text(e)}) {
      if (!text.empty()) passed += (passed.empty() ? "✓ " : "<br>✓ ") + summary_of(text);
    }
    if (!passed.empty()) line(fmt::format("<details><summary>{}</summary>\n", passed));
    head({"check", "values", "error", "verdict"});
    for (const Check& check : e.all) {
      std::string error =
          check.right_name.empty() && check.left_name.empty() ? "" : error_text(check.error);
      if (check.passed && check.tolerance != 0) {
        error = fmt::format("{} {:.0e}", check.must_differ ? "at least" : "below", check.tolerance);
      }
      row({subject(check), values_text(check), error, verdict(check)});
      if (!check.reason.empty()) row({check.reason, "", "", ""});
    }
    if (!passed.empty()) line("\n</details>");
  }
  void show(const Figure& e) {
    if (figures_.empty()) {
      line("```text");
      for (const std::string& l : lines_of(e, 76)) line(l.substr(0, l.find_last_not_of(' ') + 1));
      line("```\n");
    } else {
      const std::string file = fmt::format("{}-{}.svg", name_, ++count_);
      write_file_safely((figures_ / file).string(), svg_file(drawing_of(e)));
      line(fmt::format("![{}](figures/{})\n", escaped(alternative(e)), file));
    }
    prose(e.caption);
  }
  void show(const Closing& e) {
    line("---\n");
    prose(summary(e));
    if (!e.breaks.empty()) line("\nBreak it and see which check notices:\n");
    for (const auto& [name, what] : e.breaks) {
      line(fmt::format("- `--break {}`: {}", name, escaped(what)));
    }
    if (!e.control.sliders.empty()) {
      line(fmt::format("\nTurn it: `build/bin/lesson {} --play {}`. {} ({})", name_,
                       play_text(e.control), escaped(e.control.question),
                       escaped(ranges_text(e.control))));
    }
    if (!e.exercises.empty()) line("\nNow you:\n");
    for (const Exercise& p : e.exercises) {  // by name: numbers move when others come before them
      line(fmt::format("- `build/bin/lesson exercise {}`: {} ({})", p.name, escaped(p.title),
                       p.level));
    }
    if (!e.words.empty()) {
      std::vector<std::string> links;
      for (const std::string& word : e.words) links.push_back(glossary_link(word));
      line(fmt::format("\nWords to keep: {}.", joined(links)));
    }
    const auto to = [](const std::string& word, const std::optional<Entry>& lesson) {
      if (!lesson) return std::string();
      return fmt::format("{}: [{}. {}]({}.md)", word, lesson->number, escaped(lesson->title),
                         lesson->name);
    };
    line(fmt::format("\n{}{}[The course](README.md){}{}", to("Before", e.previous),
                     e.previous ? " · " : "", e.next ? " · " : "", to("Next", e.next)));
    if (e.rows.empty()) return;
    line(fmt::format("\n<!-- Rows of docs/requirements.md that stand here: {}. -->",
                     joined(e.rows)));
  }

  std::filesystem::path figures_;
  std::string name_;       // the lesson's
  std::size_t count_ = 0;  // of figures
  std::string out_;
  bool fenced_ = false;  // whether lines of shapes are open
  std::size_t before_ = std::variant_npos;
};

}  // namespace

std::unique_ptr<Writer> markdown_writer(std::filesystem::path figures) {
  return std::make_unique<Markdown>(std::move(figures));
}

}  // namespace vitruvian::lessons
