#include "lessons/telling/events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace vitruvian::lessons {
namespace {

constexpr std::string_view bold = "1";
constexpr std::string_view green = "32";
constexpr std::string_view red = "1;31";
constexpr std::string_view magenta = "35";

std::string bar(std::string_view glyph, std::size_t n) {
  std::string result;
  while (n-- > 0) result += glyph;
  return result;
}

// `text` with blanks behind it, up to `width` columns.
std::string padded(std::string_view text, std::size_t width) {
  std::string result(text);
  result.append(width - std::min(width, columns_of(text)), ' ');
  return result;
}

class Terminal final : public Writer {
 public:
  explicit Terminal(const TerminalStyle& style) : style_(style) {}

  // Lines of one kind stand together; everything else has an empty line above it.
  std::string write(const Event& event) override {
    out_.clear();
    if (!goes_on(event, before_) && before_ != std::variant_npos) out_ += '\n';
    before_ = event.index();
    std::visit([this](const auto& e) { show(e); }, event);
    return glyphs(out_);
  }

 private:
  // Colour comes after wrapping: escapes have no width.
  [[nodiscard]] std::string in_colour(std::string_view colour, std::string_view text) const {
    return style_.colour ? fmt::format("\x1b[{}m{}\x1b[0m", colour, text) : std::string(text);
  }

  // What stands between backticks, in colour or as it is. A line may start inside of them.
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
  [[nodiscard]] std::size_t room(std::size_t indent) const {
    return style_.width > indent + 10 ? style_.width - indent : 10;
  }

  // Lines as wide as there is room; `lead` stands before the first, blanks before the others.
  void wrap(std::string_view text, std::string lead, std::size_t indent) {
    bool inside = false;
    for (const std::string& l : wrapped(text, room(indent))) {
      line(inline_code(l, inside), lead);
      lead = std::string(indent, ' ');
    }
  }

  // Paragraphs; `first` stands before the first line, and the others are indented as deep.
  void prose(std::string_view text, std::string_view first = "") {
    const std::vector<std::string> all = paragraphs(glyphs(text));
    const std::string blanks(columns_of(first), ' ');
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool item = all[i].starts_with("- ");
      if (i != 0 && !item) out_ += '\n';
      const std::string lead = i == 0 ? std::string(first) : blanks;
      wrap(all[i].substr(item ? 2 : 0), lead + (item ? "- " : ""), blanks.size() + (item ? 2 : 0));
    }
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
      // Of code: a comment goes on as one, below itself where the line has nothing else.
      const std::size_t comment = whole.substr(0, whole.size() - rest.size()).find("// ");
      const bool alone = comment == whole.find_first_not_of(' ');
      lead = std::string(indent) + std::string(alone ? comment : 4, ' ') +
             (comment == std::string::npos ? "" : "//");
    }
    line(rest, lead);
  }

  // In bold, in as many lines as it takes.
  void title(std::string_view text) {
    for (const std::string& l : wrapped(glyphs(text), style_.width)) line(in_colour(bold, l));
  }

  void show(const Opening& e) {
    title(fmt::format("Lesson {}. {}", e.number, e.title));
    verbatim(e.equation, "  ");
    line(fmt::format("  about {} minutes", e.minutes));
  }
  void show(const Heading& e) {
    title(e.text);
    line(bar("─", columns_of(wrapped(glyphs(e.text), style_.width).back())));
  }
  void show(const Text& e) {
    if (e.lead.empty()) return prose(e.text);
    prose(fmt::format("{}: {}", e.lead, e.text), "  ");
  }
  // The answer comes as an event of its own, when it was waited for.
  void show(const Remark& e) {
    title(e.title);
    prose(e.text, "  ");
    if (!e.answer.empty()) prose("Answer: " + e.answer, "  ");
  }

  void show(const Equation& e) {
    std::string_view rest = e.unicode;
    for (std::size_t end = 0; (end = rest.find('\n')) != std::string_view::npos;) {
      verbatim(rest.substr(0, end), "    ");
      rest.remove_prefix(end + 1);
    }
    std::string last = glyphs(rest);
    if (!e.number.empty()) {  // at the right margin
      const std::size_t used = 4 + columns_of(last) + 2 + e.number.size();
      last += std::string(used + 2 <= style_.width ? style_.width - used : 2, ' ');
      last += "(" + e.number + ")";
    }
    verbatim(last, "    ");
  }

  void show(const Code& e) {
    prose(fmt::format("{}, line {}", e.file, e.line), "  ");
    for (const std::string& l : e.lines) verbatim(l, "  ");
  }
  void show(const ShapeLine& e) { verbatim("  " + shape_text(e), ""); }

  void show(const Checks& e) {
    const auto in_short = [&](const std::string& text) {
      if (!text.empty()) wrap(glyphs(text), "  " + in_colour(green, glyphs("✓")) + " ", 4);
    };
    if (!style_.all) in_short(agreement_text(e, false));
    if (!style_.all) in_short(difference_text(e));
    for (const Check& check : e.all) {
      if (style_.all || !check.passed) show(check);
    }
  }
  void show(const Check& e) {
    const std::string word = verdict(e);
    const std::string_view colour = e.passed ? green : red;
    const std::string blanks(12, ' ');
    if (columns_of(word) > 9) {
      line(in_colour(colour, word), "  ");
      prose(subject(e), blanks);
    } else {
      wrap(glyphs(subject(e)), "  " + in_colour(colour, padded(word, 9)) + " ", 12);
    }
    if (std::isfinite(e.error) && !e.left_name.empty()) {
      prose(fmt::format("{}{}; {} error {}", e.compared > 1 && e.passed ? "largest: " : "",
                        values_text(e), e.right_name.empty() ? "absolute" : "relative",
                        error_text(e.error)),
            blanks);
    }
    if (!e.reason.empty()) prose(e.reason, blanks);
  }

  void show(const Figure& e) {
    for (const std::string& l : lines_of(e, room(2))) line(l, "  ");
    prose(e.caption, "  ");
  }

  void show(const Closing& e) {
    line(in_colour(e.failed == 0 ? green : red, bar("=", std::min<std::size_t>(style_.width, 40))));
    prose(summary(e));
    if (!e.broken.empty()) return;
    if (!e.breaks.empty()) prose("Break it and see which check notices:");
    for (const auto& [name, what] : e.breaks)
      prose(fmt::format("{}: {}", name, what), "  --break ");
    if (!e.words.empty()) prose(fmt::format("Words to keep: {}.", joined(e.words)));
    if (!e.control.sliders.empty()) {
      prose("Turn its numbers:");
      prose(fmt::format("{} ({})", e.control.question, ranges_text(e.control)),
            fmt::format("  --play {}: ", play_text(e.control)));
    }
    if (!e.exercises.empty()) prose("Now you:");
    for (const Exercise& p : e.exercises)
      prose(fmt::format("{}: {} ({})", p.number, p.title, p.level), "  lesson exercise ");
  }

  // Columns side by side, the last one wrapped; where there is no room for that, row by row.
  void show(const Table& e) {
    std::vector<std::vector<std::string>> rows = e.rows;
    rows.insert(rows.begin(), e.columns);
    std::vector<std::size_t> widths(e.columns.size(), 0);
    for (auto& row : rows) {
      for (std::size_t c = 0; c < row.size(); ++c) {
        row[c] = glyphs(row[c]);
        widths[c] = std::max(widths[c], columns_of(row[c]));
      }
    }
    std::size_t before = 2;
    for (std::size_t c = 0; c + 1 < widths.size(); ++c) before += widths[c] + 2;
    if (before + std::min<std::size_t>(widths.back(), 24) > style_.width) return listed(rows);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      std::string start = "  ";
      for (std::size_t c = 0; c + 1 < widths.size(); ++c)
        start += padded(rows[r][c], widths[c]) + "  ";
      bool inside = false;
      const std::string lead = inline_code(start, inside);
      if (rows[r].back().empty()) line(lead);
      wrap(rows[r].back(), lead, before);
      if (r == 0) line(bar("─", std::min(style_.width, before + widths.back()) - 2), "  ");
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
  std::size_t before_ = std::variant_npos;
};

}  // namespace

std::unique_ptr<Writer> terminal_writer(const TerminalStyle& style) {
  return std::make_unique<Terminal>(style);
}

}  // namespace vitruvian::lessons
