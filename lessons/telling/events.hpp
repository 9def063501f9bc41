#pragma once

#include "vitruvian/charts/chart.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

// What a lesson says, as data: one stream of events. Renderers turn it into a
// terminal's text, Markdown or JSON (lessons/render.hpp), so that a book can
// be one more of them. Texts may hold `code` between backticks; a blank line
// ends a paragraph, "- " at a line's start is a list item.

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
};

/// What an equation says, in words.
struct Words {
  std::string text;
};

/// An equation as TeX and in Unicode (of several lines), with its number in
/// the paper, or "".
struct Equation {
  std::string tex;
  std::string unicode;
  std::string number;
};

/// The symbols of the lesson and their values here.
struct Symbols {
  struct Row {
    std::string symbol;
    std::size_t value = 0;
    std::string meaning = {};
  };
  std::vector<Row> rows;
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

/// Two numbers, or two arrays that the numbers stand for, compared.
struct Check {
  std::string what = {};
  std::string left_name = {};  ///< "analytic"
  double left = 0;
  std::string right_name = {};  ///< "numeric"
  double right = 0;
  double error = 0;      ///< relative, the largest of all that was compared
  double tolerance = 0;  ///< the most that agreement allows; for a
                         ///< difference, the least it takes
  std::size_t compared = 1;
  std::string unit = "numbers";  ///< of what was compared
  bool must_differ = false;
  bool passed = false;
  std::string reason = {};  ///< in words, when it failed
};

/// Numbers (rows, columns) as shades from the smallest to the largest.
struct Picture {
  std::string caption;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<double> values;
};

/// One bar a number; with `log`, its length is the number's order of
/// magnitude.
struct Bars {
  std::string caption;
  std::vector<std::pair<std::string, double>> rows;
  bool log = false;
};

/// y against x, one mark a series.
struct Curves {
  using Series = vitruvian::Series;
  std::string caption;
  std::vector<Series> series;
  bool log_y = false;
};

/// Where the sources contradict each other or mislead: a row of
/// requirements.md, section B.
struct Disagreement {
  std::string row;  ///< "B 8", or "" for a mistake that is in none of them
  std::string text;
};

/// What PyTorch calls it.
struct Elsewhere {
  std::string text;
};

/// Predict, then see. Without an answer it is a question to take along.
struct Question {
  std::string question;
  std::string answer;
};

/// The last event.
struct Closing {
  std::size_t checks = 0;
  std::size_t failed = 0;
  std::string broken;  ///< the mistake that was asked for, or ""
  std::string why;     ///< why the checks notice it
  std::vector<std::pair<std::string, std::string>> breaks;  ///< all there are, and what they do
  std::vector<std::string> rows;  ///< of docs/requirements.md, that the lesson holds: "2-3", "B4"
};

using Event =
    std::variant<Opening, Heading, Text, Words, Equation, Symbols, Code, ShapeLine, Table, Check,
                 Picture, Bars, Curves, Disagreement, Elsewhere, Question, Closing>;

}  // namespace vitruvian::lessons
