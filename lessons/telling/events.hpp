#pragma once

#include "lessons/telling/contents.hpp"
#include "vitruvian/charts/chart.hpp"
#include "vitruvian/core/base/wrapping.hpp"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

// What a lesson says, as data: one stream of events, which writers turn into a terminal's text,
// Markdown or JSON. Texts may hold `code` between backticks; a blank line ends a paragraph, "- " at
// a line's start is a list item.

namespace vitruvian::lessons {

/// The first event: which lesson this is.
struct Opening {
  int number = 0;
  std::string name;  ///< "softmax"
  std::string title;
  std::string equation;
  int minutes = 0;
};

struct Heading {
  std::string text;
};

struct Text {
  std::string text;
  std::string lead = {};  ///< what it begins with, set apart: "In words", "In PyTorch"
};

/// A text under a title of its own: what the sources disagree about; a question and, when it is not
/// one to take along, its answer.
struct Remark {
  std::string title;
  std::string text;
  std::string answer = {};
  bool folds = false;  ///< a page shows it, and lets it be folded away
};

/// An equation as TeX and in Unicode (of several lines), with its number in the paper, or "".
struct Equation {
  std::string tex;
  std::string unicode;
  std::string number;
};

/// Lines of a source file of the project, as they stand there.
struct Code {
  std::string file;  ///< from the project's root
  std::size_t line = 0;
  std::vector<std::string> lines;
};

/// The shape of one intermediate: `q (B, h, T, D_h) = (2, 4, 17, 16)`.
struct ShapeLine {
  std::string name;
  std::string symbols;
  std::vector<std::size_t> lengths;
  bool holds = true;  ///< whether the symbols' values give these lengths
};

struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

/// Two numbers compared, or two arrays, of which the numbers are the largest entry or, where they
/// disagree, the worst; or a question of yes or no, which has no names.
struct Check {
  std::string what = {};
  std::string left_name = {};  ///< "analytic"
  double left = 0;
  std::string right_name = {};  ///< "numeric"; "" where the left one should be 0
  double right = 0;
  double error = 0;  ///< relative (to 0: absolute), the largest of all that was compared
  /// The most that agreement allows; for a difference, the least it takes.
  double tolerance = 0;
  std::size_t compared = 1;
  std::string unit = "numbers";  ///< of what was compared
  bool must_differ = false;
  bool passed = false;
  std::string reason = {};  ///< in words, when it failed
};

/// Checks that follow each other.
struct Checks {
  std::vector<Check> all;
};

/// Numbers as shades from the smallest to the largest, a chart, pictures, or boxes and arrows.
struct Figure {
  std::string caption;
  std::variant<Matrix, Chart, ImageGrid, Diagram> data;
};

/// A number that a reader may turn.
struct Slider {
  std::string name;  ///< "temperature"
  double from = 0;
  double to = 1;
  double start = 0.5;
  double step = 0.01;
};
/// What a lesson lets a reader turn, on its page or by `--play VALUES`: nothing without sliders.
struct Control {
  /// That turning it answers: "How large a temperature makes two of them alike?"
  std::string question = {};
  std::vector<Slider> sliders = {};
};

/// The last event.
struct Closing {
  std::size_t checks = 0;
  std::size_t failed = 0;
  std::string broken = {};  ///< the mistake that was asked for, or ""
  std::string why = {};     ///< why the checks notice it
  std::vector<std::pair<std::string, std::string>> breaks =
      {};  ///< all there are, and what they do
  /// Of docs/requirements.md, that the lesson holds: "2-3", "B4". For tests: no reader sees them.
  std::vector<std::string> rows = {};
  std::optional<Entry> previous = {}, next = {};  ///< lessons
  std::vector<Exercise> exercises = {};           ///< that follow it
  std::vector<std::string> words = {};            ///< of the glossary, which the lesson explains
  Control control = {};
};

using Event = std::variant<Opening, Heading, Text, Remark, Equation, Code, ShapeLine, Table, Checks,
                           Figure, Closing>;

/// Turns events into text, in their order: it may remember the one before.
class Writer {
 public:
  virtual ~Writer() = default;
  virtual std::string write(const Event& event) = 0;
};

struct TerminalStyle {
  std::size_t width = 80;
  bool colour = false;
  bool ascii = false;  ///< no glyph beyond ASCII
  bool all = false;    ///< each check with its numbers, also where it agrees
};
std::unique_ptr<Writer> terminal_writer(const TerminalStyle& style);
/// For GitHub: equations as `math`, which keeps every backslash. Errors of checks that passed
/// appear as their bound, so that pages are the same on every machine. Figures are SVG files,
/// NAME-1.svg and so on, in this folder, to which the page leads as `figures/`; without a folder
/// they are text.
std::unique_ptr<Writer> markdown_writer(std::filesystem::path figures = {});
/// One object a line.
std::unique_ptr<Writer> json_writer();
/// For the book: the HTML of each event on a line of its own. An equation's TeX is in its
/// `data-tex`, a figure is an SVG in its address.
std::unique_ptr<Writer> html_writer();

// --- what the writers share ------------------------------------------------------------------

/// Whether an event goes on where the one before it ended: shapes that follow each other.
bool goes_on(const Event& event, std::size_t index_before);
/// A figure for a page.
Drawing drawing_of(const Figure& figure);
/// A figure as lines of text, at most `width` wide.
std::vector<std::string> lines_of(const Figure& figure, std::size_t width);
/// What a figure shows, for whoever cannot see it.
std::string alternative(const Figure& figure);

/// "agree", "DISAGREE", "differ, as they should", "SHOULD DIFFER".
std::string verdict(const Check& check);
/// What was compared, and how many of them: "gradient of x (12 derivatives)".
std::string subject(const Check& check);
/// "by hand 0.35, tape 0.35", of arrays where they are largest; "" for a question of yes or no.
std::string values_text(const Check& check);
/// All those that passed, in a line or two: "3 checks agree, worst 5e-08: rows of p; dx". On a page
/// (`bound`), the error as the most that they allow, which is the same on every machine. "" without
/// any.
std::string agreement_text(const Checks& checks, bool bound);
/// What passed because it differs: "differ, as they should: ..."; "" without any.
std::string difference_text(const Checks& checks);
/// "q (B, T) = (2, 17)", and "WRONG SHAPE" where it is.
std::string shape_text(const ShapeLine& shape);
/// With the digits that a check of this relative tolerance vouches for, at most six: the others
/// differ from machine to machine.
std::string number_text(double x, double tolerance = 1e-6);
/// Two digits and the power of ten: "3.1e-11".
std::string error_text(double x);
/// Where the sliders stand at first, or at another end of theirs, as `--play` takes it: "0.5,3".
std::string play_text(const Control& control, double Slider::*where = &Slider::start);
/// "temperature from 0.1 to 5; logit from 0 to 10".
std::string ranges_text(const Control& control);
/// "3 checks, all passed", or what went wrong and why.
std::string summary(const Closing& closing);

using console::columns_of;
using console::wrapped;
/// The same in ASCII: Greek letters by name, and so on; '?' for what has no name here.
std::string to_ascii(std::string_view text);

/// A text's paragraphs and list items ("- " kept), each on one line.
std::vector<std::string> paragraphs(std::string_view text);

}  // namespace vitruvian::lessons
