#pragma once

#include "lessons/telling/events.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What lessons are told with. It knows strings and numbers only: lessons/telling/lesson.hpp hands
// it tensors and gradients. How a lesson is written: lessons/README.md.

namespace vitruvian::lessons {

/// A mistake that `--break NAME` makes on purpose, after which a check must fail.
struct Break {
  std::string name;
  std::string what;  ///< what is wrong then, for the list: "the bias is not summed over rows"
  std::string why;   ///< why the check notices, for the end of the broken lesson
  /// "op:kind" or "op:kind:input" of a `Fault` that is made for the whole lesson; or empty: then
  /// the lesson asks `broken(name)` and takes its wrong variant.
  std::string fault = {};
};

/// What stands at the head of a lesson; its number is its place in lessons/course/contents.txt.
struct Lesson {
  std::string title = {};
  std::string equation = {};  ///< in Unicode, on one line
  int minutes = 0;
  /// Rows of docs/requirements.md, section A, that stand in the lesson: "2-3 4-1". Those of B come
  /// with `sources_disagree`. The page says them, and a test lays the two side by side.
  std::string rows = {};
  std::vector<std::string> teaches = {};  ///< ops whose sign, flipped, must make it fail
  std::vector<Break> breaks = {};
  Control play = {};
};

/// A letter of the lesson and its value here. One of the paper's needs no meaning: it has the same
/// one everywhere.
struct Symbol {
  std::string symbol;
  std::size_t value = 0;
  std::string meaning = {};
};
/// What one of the paper's letters stands for in every lesson. Throws on another letter.
std::string meaning_of(std::string_view symbol);

using SymbolValues = std::map<std::string, std::size_t, std::less<>>;
/// The lengths that a shape in symbols has: "(B, T, 3 D)" with the symbols' values. A length is a
/// sum of products of symbols and numbers, `P^2` a power. Throws on a symbol without a value.
std::vector<std::size_t> lengths_of(std::string_view shape, const SymbolValues& values);

/// The numbers from one to another, both included, so far apart.
std::vector<double> places(double from, double to, double apart = 1);
/// y = f(x) at each x.
template <class F>
Series graph_of(std::string name, const std::vector<double>& x, const F& f,
                Mark mark = Mark::line) {
  Series series{std::move(name), x, {}, mark};
  for (const double at : x) series.y.push_back(f(at));
  return series;
}

/// A table's rows, and one of them: texts as they are, numbers as `{}` prints them.
using Rows = std::vector<std::vector<std::string>>;
template <class... Cells>
std::vector<std::string> row(const Cells&... cells) {
  return {fmt::format("{}", cells)...};
}

struct Options;
class Stage;

/// Where to: every call is one event of the lesson. In all that is prose, and in
/// tables, "#softmax" becomes the number of that lesson.
class Narrator {
 public:
  Narrator(const Entry& entry, const Lesson& lesson, const Options& options);
  ~Narrator();
  Narrator(const Narrator&) = delete;
  Narrator& operator=(const Narrator&) = delete;

  /// Starts a piece; with --step, the one before it waits for Enter first. With a mistake made on
  /// purpose and noticed, the lesson ends here instead. (`line` is the caller's; clang 14 does not
  /// know std::source_location yet.)
  void heading(std::string_view text, std::size_t line = __builtin_LINE());
  void text(std::string_view words);
  template <class... Args>
  requires(sizeof...(Args) > 0) void text(fmt::format_string<Args...> words, Args&&... args) {
    text(std::string_view(fmt::format(words, std::forward<Args>(args)...)));
  }
  void equation(std::string_view tex, std::string_view unicode, std::string_view number = "");
  void in_words(std::string_view words);
  /// The symbols and their values; `shape` reads them.
  void symbols(const std::vector<Symbol>& symbols);
  /// The lines of the lesson's own source from `// [region NAME]` to `// [end]`, the next region or
  /// `lesson` itself; or of another file, a path from the root.
  void code(std::string_view region, std::string_view file = {});
  /// A function of the library: from the comment above the line that starts with `first_line` to
  /// the brace that closes it. `file` is a path from the root.
  void code_of(std::string_view file, std::string_view first_line);
  /// One intermediate; a failed check when the symbols' values do not give these lengths. Symbols
  /// are like "(B, h, T, D_h)", "(B T, 3 D)", "(N + 1, P^2 C)".
  void shape(std::string_view name, std::string_view symbols, std::vector<std::size_t> lengths);
  void table(std::vector<std::string> columns, Rows rows);

  void figure(Figure figure);
  /// y against x, one mark a series.
  void curves(std::string caption, std::vector<Series> series, bool log_y = false);
  /// Boxes and arrows.
  void diagram(std::string caption, Diagram diagram);
  /// One bar a number; with `log`, its length is the number's order of magnitude.
  void bars(std::string caption, const std::vector<std::pair<std::string, double>>& rows,
            bool log = false);

  /// A number of a name: {"analytic", 0.5}.
  struct Value {
    std::string name;
    double value;
  };
  /// Passes when |left - right| / max(|left|, |right|) is at most `tolerance`; both 0 pass.
  void check(std::string_view what, const Value& left, const Value& right, double tolerance);
  /// The wrong variant beside the right one: passes when they differ by at least `at_least`.
  void differs(std::string_view what, const Value& left, const Value& right, double at_least);
  /// Passes when |value| is at most `at_most`.
  void is_zero(std::string_view what, const Value& value, double at_most);
  /// A question of yes or no: passes when it is a yes.
  void holds(std::string_view what, bool yes);
  /// A comparison that was made elsewhere.
  void check(Check finished);

  /// A row of requirements.md B ("B 8"), or "" for a mistake that is in none, and what is right.
  /// Readers do not see the row.
  void sources_disagree(std::string_view row, std::string_view text);
  void pytorch(std::string_view text);
  /// On a terminal, waits for Enter before it reveals the answer; nowhere else.
  void question(std::string_view question, std::string_view answer);
  /// A question for the way home; its answer is shown as that of `question` is.
  void take_along(std::string_view question, std::string_view answer = "");

  /// Whether `--break NAME` asked for this mistake.
  [[nodiscard]] bool broken(std::string_view name) const;
  /// For what the lesson draws at random.
  [[nodiscard]] std::uint64_t seed() const;

  /// Ends the lesson; returns how many checks failed.
  std::size_t close();
  /// Ends what `Telling::play` has told, which has no closing.
  void flush();

 private:
  void tell(const Event& event);
  void tell_checks();

  const Entry& entry_;
  const Lesson& lesson_;
  const Options& options_;
  std::unique_ptr<Stage> stage_;
  SymbolValues values_;
  std::vector<std::string> rows_;
  Checks pending_;  // not told yet: more may follow
  std::size_t checks_ = 0;
  std::size_t failed_ = 0;
};

/// What is told: the lesson, and what its sliders show. Whenever one of them moves, `play` is
/// called with where they stand, and must answer within a frame or say how long it takes.
struct Telling {
  void (*lesson)(Narrator& say) = nullptr;
  void (*play)(Narrator& say, const std::vector<double>& at) = nullptr;
};

/// The whole program of a lesson: reads the flags (`--help` lists them), makes the mistake that is
/// asked for, tells the lesson. Returns 0, or 1 when a check failed, or 2 for a wrong flag. (`file`
/// is the caller's: its name is the lesson's.)
int tell(const Lesson& about, const Telling& telling, int argc, char** argv,
         const char* file = __builtin_FILE());

}  // namespace vitruvian::lessons
