#include "lessons/telling/render.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>

namespace vitruvian::lessons {
namespace {

constexpr std::string_view bold = "1";
constexpr std::string_view green = "32";
constexpr std::string_view red = "1;31";
constexpr std::string_view magenta = "35";

class Terminal final : public Renderer {
 public:
  explicit Terminal(const TerminalStyle& style) : style_(style) {}

  std::string render(const Event& event) override {
    out_.clear();
    // Lines of one kind stand together; everything else has an empty line
    // above it.
    const bool runs_on = event.index() == previous_ && (std::holds_alternative<Check>(event) ||
                                                        std::holds_alternative<ShapeLine>(event));
    if (!runs_on && previous_ != std::variant_npos) out_ += '\n';
    previous_ = event.index();
    std::visit([this](const auto& e) { show(e); }, event);
    return style_.ascii ? to_ascii(out_) : out_;
  }

 private:
  // Colour comes after wrapping: escapes have no width.
  [[nodiscard]] std::string in_colour(std::string_view colour, std::string_view text) const {
    return style_.colour ? fmt::format("\x1b[{}m{}\x1b[0m", colour, text) : std::string(text);
  }

  // What stands between backticks, in colour or as it is. A line may start
  // inside of them.
  std::string inline_code(std::string_view line, bool& inside) {
    std::string result;
    while (true) {
      const std::size_t tick = line.find('`');
      const std::string_view part = line.substr(0, tick);
      result += inside && !part.empty() ? in_colour(magenta, part) : std::string(part);
      if (tick == std::string_view::npos) return result;
      if (!style_.colour) result += '`';
      inside = !inside;
      line.remove_prefix(tick + 1);
    }
  }

  void line(std::string_view text, std::string_view indent = "") {
    out_.append(indent).append(text).append("\n");
  }

  // What is measured must be what is printed.
  [[nodiscard]] std::string glyphs(std::string_view text) const {
    return style_.ascii ? to_ascii(text) : std::string(text);
  }

  // Paragraphs; `first` stands before the first line, and the others are
  // indented as deep.
  void prose(std::string_view text, std::string_view first = "") {
    const std::string blanks(columns_of(first), ' ');
    bool opening = true;
    for (const std::string& paragraph : paragraphs(glyphs(text))) {
      const bool item = paragraph.starts_with("- ");
      if (!opening && !item) out_ += '\n';
      std::string lead = (opening ? std::string(first) : blanks) + (item ? "- " : "");
      const std::string indent = blanks + (item ? "  " : "");
      bool inside = false;
      for (const std::string& l : wrapped(paragraph.substr(item ? 2 : 0), room(indent.size()))) {
        line(inline_code(l, inside), lead);
        lead = indent;
      }
      opening = false;
    }
  }
  [[nodiscard]] std::size_t room(std::size_t indent) const {
    return style_.width > indent + 10 ? style_.width - indent : 10;
  }

  // A line that may not be rewrapped: what is too long goes on below, deeper.
  void verbatim(std::string_view text, std::string_view indent) {
    const std::string whole = glyphs(text);
    std::string_view rest = whole;
    std::string lead(indent);
    while (columns_of(lead) + columns_of(rest) > style_.width && rest.size() > 8) {
      std::size_t cut = rest.size();
      while (cut > 8 && columns_of(lead) + columns_of(rest.substr(0, cut)) > style_.width) --cut;
      const std::size_t blank = rest.rfind(' ', cut);
      if (blank != std::string_view::npos && blank > cut / 2) cut = blank;
      while (cut < rest.size() && (static_cast<unsigned char>(rest[cut]) & 0xC0U) == 0x80U) --cut;
      line(rest.substr(0, cut), lead);
      rest.remove_prefix(cut);
      lead = std::string(indent) + "    ";
    }
    line(rest, lead);
  }

  void show(const Opening& e) {
    title(fmt::format("Lesson {}. {}", e.number, e.title));
    verbatim(e.equation, "  ");
    line(fmt::format("  about {} minutes", e.minutes));
  }

  void show(const Heading& e) {
    title(e.text);
    const auto lines = wrapped(glyphs(e.text), style_.width);
    std::string rule;
    for (std::size_t i = 0; i < columns_of(lines.back()); ++i) rule += "─";
    line(rule);
  }

  void show(const Text& e) { prose(e.text); }
  void show(const Words& e) { prose("In words: " + e.text, "  "); }

  void show(const Equation& e) {
    std::string_view rest = e.unicode;
    const std::string number = e.number.empty() ? "" : "(" + e.number + ")";
    bool last = false;
    while (!last) {
      const std::size_t end = rest.find('\n');
      last = end == std::string_view::npos;
      std::string text = glyphs(rest.substr(0, end));
      const std::size_t used = 4 + columns_of(text) + 2 + number.size();
      if (last && !number.empty()) {
        text += used <= style_.width ? std::string(style_.width - used + 2, ' ') : "  ";
        text += number;
      }
      verbatim(text, "    ");
      if (!last) rest.remove_prefix(end + 1);
    }
  }

  void show(const Symbols& e) {
    std::vector<std::vector<std::string>> rows;
    for (const Symbols::Row& row : e.rows) {
      rows.push_back({row.symbol, std::to_string(row.value), row.meaning});
    }
    grid({"symbol", "here", "meaning"}, rows);
  }

  void show(const Code& e) {
    prose(fmt::format("{}, line {}", e.file, e.line), "  ");
    for (const std::string& l : e.lines) verbatim(l, "  ");
  }

  void show(const ShapeLine& e) {
    const std::string text =
        fmt::format("  {} {} = {}", e.name, e.symbols, lengths_text(e.lengths));
    verbatim(e.holds ? text : text + "  " + in_colour(red, "WRONG SHAPE"), "");
  }

  void show(const Table& e) { grid(e.columns, e.rows); }

  void show(const Check& e) {
    const std::string word = verdict(e);
    const std::string head = "  " + padded(word, 9) + " ";
    std::string what = e.what;
    if (e.compared > 1) what += fmt::format(" ({} {})", e.compared, e.unit);
    if (columns_of(word) > 9) {
      line(in_colour(e.passed ? green : red, word), "  ");
      prose(what, "            ");
    } else {
      const auto lines = wrapped(glyphs(what), room(12));
      line(lines.empty() ? "" : lines[0],
           "  " + in_colour(e.passed ? green : red, padded(word, 9)) + " ");
      for (std::size_t i = 1; i < lines.size(); ++i) line(lines[i], "            ");
    }
    const std::string values = fmt::format("{} {}, {} {}, relative error {}", e.left_name,
                                           number_text(e.left, e.tolerance), e.right_name,
                                           number_text(e.right, e.tolerance), error_text(e.error));
    if (std::isfinite(e.error)) prose(values, "            ");
    if (!e.reason.empty()) prose(e.reason, "            ");
  }

  void show(const Picture& e) { figure(e.caption, draw(e, room(2))); }
  void show(const Bars& e) { figure(e.caption, draw(e, room(2))); }
  void show(const Curves& e) { figure(e.caption, draw(e, room(2))); }

  void figure(const std::string& caption, const std::vector<std::string>& lines) {
    for (const std::string& l : lines) line(l, "  ");
    prose(caption, "  ");
  }

  // In bold, in as many lines as it takes.
  void title(std::string_view text) {
    for (const std::string& l : wrapped(glyphs(text), style_.width)) line(in_colour(bold, l));
  }

  void show(const Disagreement& e) {
    title(e.row.empty() ? "A common mistake"
                        : fmt::format("Where the sources disagree ({})", e.row));
    prose(e.text, "  ");
  }

  void show(const Elsewhere& e) { prose("In PyTorch: " + e.text, "  "); }

  // The answer comes as a second event, when it was waited for.
  void show(const Question& e) {
    if (!e.question.empty()) {
      line(in_colour(bold, e.answer.empty() ? "To take along" : "A question"));
      prose(e.question, "  ");
    }
    if (!e.answer.empty()) prose("Answer: " + e.answer, "  ");
  }

  void show(const Closing& e) {
    line(in_colour(e.failed == 0 ? green : red,
                   std::string(style_.width < 40 ? style_.width : 40, '=')));
    prose(summary(e));
    if (e.broken.empty() && !e.breaks.empty()) {
      prose("Break it and see which check notices:");
      for (const auto& [name, what] : e.breaks)
        prose(fmt::format("{}: {}", name, what), "  --break ");
    }
    if (e.broken.empty() && !e.rows.empty()) {
      prose(fmt::format("Rows of docs/requirements.md that stand here: {}.",
                        fmt::join(e.rows, ", ")));
    }
  }

  // Columns side by side, the last one wrapped; where there is no room for
  // that, row by row.
  void grid(const std::vector<std::string>& columns, std::vector<std::vector<std::string>> rows) {
    rows.insert(rows.begin(), columns);
    std::vector<std::size_t> widths(columns.size(), 0);
    for (auto& row : rows) {
      for (std::size_t c = 0; c < row.size(); ++c) {
        row[c] = glyphs(row[c]);
        widths[c] = std::max(widths[c], columns_of(row[c]));
      }
    }
    std::size_t before = 2;
    for (std::size_t c = 0; c + 1 < widths.size(); ++c) before += widths[c] + 2;
    const std::size_t least = std::min<std::size_t>(widths.back(), 24);
    if (before + least > style_.width) return listed(rows);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      std::string start = "  ";
      for (std::size_t c = 0; c + 1 < widths.size(); ++c)
        start += padded(rows[r][c], widths[c]) + "  ";
      const auto last = wrapped(rows[r].back(), room(before));
      bool inside = false;
      line(inline_code(start + (last.empty() ? "" : last[0]), inside));
      for (std::size_t i = 1; i < last.size(); ++i) {
        line(inline_code(last[i], inside), std::string(before, ' '));
      }
      if (r == 0) {
        std::string rule;
        for (std::size_t i = 2; i < std::min(style_.width, before + widths.back()); ++i)
          rule += "─";
        line(rule, "  ");
      }
    }
  }

  void listed(const std::vector<std::vector<std::string>>& rows) {
    for (std::size_t r = 1; r < rows.size(); ++r) {
      for (std::size_t c = 0; c < rows[r].size(); ++c) {
        prose(fmt::format("{}: {}", rows[0][c], rows[r][c]), c == 0 ? "  - " : "    ");
      }
    }
  }

  TerminalStyle style_;
  std::string out_;
  std::size_t previous_ = std::variant_npos;
};

}  // namespace

std::unique_ptr<Renderer> terminal_renderer(const TerminalStyle& style) {
  return std::make_unique<Terminal>(style);
}

}  // namespace vitruvian::lessons
