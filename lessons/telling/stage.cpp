#include "lessons/telling/stage.hpp"

#include "apps/command_line.hpp"
#include "lessons/telling/source.hpp"
#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string_view>
#include <utility>

namespace vitruvian::lessons {
namespace {

std::unique_ptr<Writer> writer_of(const Options& options) {
  if (options.json) return json_writer();
  if (options.html) return html_writer();
  if (options.markdown) return markdown_writer(options.figures);
  const console::Terminal terminal = console::terminal_of(stdout);
  const std::size_t width =
      terminal.columns >= 20 ? std::min<std::size_t>(terminal.columns, 80) : 80;
  return terminal_writer({options.width != 0 ? options.width : width,
                          terminal.colour && !options.plain, options.ascii, options.all});
}

void write(std::string_view text) {
  console::write_out(text);
  console::flush();
}

std::size_t lines_of(std::string_view text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// Where `lines` lines of the text end that begin at `begin`.
std::size_t after_lines(std::string_view text, std::size_t begin, std::size_t lines) {
  for (; lines != 0; --lines) begin = text.find('\n', begin) + 1;
  return begin;
}

// What was typed before Enter; throws where no more can come.
std::string typed(const std::string& prompt) {
  write(prompt);
  std::string line;
  if (!std::getline(std::cin, line)) {
    write("\n");
    throw Quit{};
  }
  return line;
}

void check_break(const std::string& name, const Lesson& lesson) {
  const std::vector<std::string> names = names_in(lesson.breaks);
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  if (names.empty()) fail(Exit::usage, "this lesson has no mistakes to make");
  fail(Exit::usage, "this lesson has no mistake '{}'; {}", name, did_you_mean(name, names));
}

// "0.5,3": a number for each slider.
std::vector<double> played(const std::string& values, const Lesson& lesson) {
  if (lesson.play.sliders.empty()) fail(Exit::usage, "this lesson has no numbers to turn");
  std::vector<double> numbers;
  std::istringstream parts(values);
  for (std::string part; std::getline(parts, part, ',');) {
    double x = NAN;
    if (std::istringstream number(part); !(number >> x) || !(number >> std::ws).eof()) x = NAN;
    const std::size_t i = numbers.size();
    if (i >= lesson.play.sliders.size()) break;
    const Slider& slider = lesson.play.sliders[i];
    if (!(x >= slider.from && x <= slider.to)) {
      fail(Exit::usage, "--play: {} is '{}'; expected a number from {} to {}", slider.name, part,
           slider.from, slider.to);
    }
    numbers.push_back(x);
  }
  const auto commas = static_cast<std::size_t>(std::count(values.begin(), values.end(), ','));
  if (numbers.size() != lesson.play.sliders.size() || commas + 1 != numbers.size()) {
    fail(Exit::usage, "--play {}: expected {} numbers with commas between: {}", values,
         lesson.play.sliders.size(), ranges_text(lesson.play));
  }
  return numbers;
}

}  // namespace

std::optional<Options> parse_options(int argc, char** argv, const Entry& entry,
                                     const Lesson& lesson) {
  Options o;
  const Parser app(fmt::format("Lesson {}. {}", entry.number, lesson.title),
                   "lesson_" + entry.name);
  app.add_flag("--step", o.step, "Wait for Enter after each piece");
  app.add_flag("--no-input", o.no_input, "Never wait, not even for an answer");
  app.add_value("--width", "N", o.width, "Columns (the terminal's, at most 80)").whole(20, 1000);
  app.add_flag("--all", o.all, "Each check with its numbers, also where it agrees");
  app.add_flag("--plain", o.plain, "No colour");
  app.add_flag("--ascii", o.ascii, "No glyph beyond ASCII");
  const Option markdown = app.add_flag("--markdown", o.markdown, "The lesson as a page");
  app.add_value("--figures", "DIR", o.figures,
                "A folder for its figures (NAME-1.svg); else they are text")
      .needs(markdown);
  app.add_flag("--json", o.json, "Its events, one object a line").excludes(markdown);
  app.add_count("--seed", o.seed, "Of what is drawn at random", largest_seed);
  std::string mistakes = "Make a mistake on purpose; a check must fail:";
  for (const Break& b : lesson.breaks) mistakes += fmt::format("\n  {}: {}", b.name, b.what);
  Option mistake = app.add_value("--break", "NAME", o.broken, mistakes);
  mistake.group(lesson.breaks.empty() ? "" : "Mistakes");
  std::string values;
  app.add_value("--play", "X[,X]", values,
                fmt::format("{}\n  {}", lesson.play.question, ranges_text(lesson.play)))
      .excludes(mistake)
      .group(lesson.play.sliders.empty() ? "" : "Numbers to turn");
  app.add_flag("--html", o.html, "").group("");
  app.add_flag("--describe", o.describe, "").group("");
  app.add_value("--fault", "NAME", o.fault, "").group("");
  app.add_value("--done-file", "FILE", o.done_file, "").group("");
  app.add_value("--forms", "DIR", o.forms, "").group("");
  bool parsed = false;
  run_command_line(app, argc, argv, [&] { parsed = true; });
  if (!parsed) return {};
  if (!o.broken.empty()) check_break(o.broken, lesson);
  if (!values.empty()) o.play = played(values, lesson);
  return o;
}

Stage::Stage(const Options& options, std::string source)
    : writer_(writer_of(options)), source_(std::move(source)) {
  const bool terminal = console::terminal_of(stdin).there && console::terminal_of(stdout).there;
  can_ask_ = terminal && !options.no_input && !options.json && !options.markdown && !options.html;
  if (!options.forms.empty()) {
    can_ask_ = false;  // a question is one event there, not two
    const auto add = [&](const char* name, std::unique_ptr<Writer> writer) {
      const std::string path = options.forms + "/" + name;
      forms_.push_back({std::move(writer), std::ofstream(path)});
      if (!forms_.back().out) fail(Exit::failure, "{} cannot be written", path);
    };
    add("plain", terminal_writer({80, false, false}));
    add("ascii", terminal_writer({80, false, true}));
    add("narrow", terminal_writer({40, false, true}));
    add("page.md", markdown_writer(options.forms + "/figures"));
    add("json", json_writer());
  }
  step_ = options.step && can_ask_;
  lines_ = std::max<std::size_t>(console::terminal_of(stdout).rows, 10) - 2;
  if (options.step && !terminal) {
    console::print(stderr, "--step waits at a terminal, and this is none: everything "
                           "follows at once\n");
  }
}

void Stage::show(const Event& event) {
  for (Form& form : forms_) form.out << form.writer->write(event);
  const std::string text = writer_->write(event);
  if (step_ && !piece_.text.empty() && lines_of(piece_.text) + lines_of(text) > lines_) turn_page();
  std::size_t begin = 0;
  while (step_ && lines_of(text.substr(begin)) > lines_) {  // longer than a screen
    const std::size_t end = after_lines(text, begin, lines_);
    piece_.text += text.substr(begin, end - begin);
    begin = end;
    turn_page();
  }
  piece_.text += text.substr(begin);
  if (!step_) flush();
}

void Stage::turn_page() {
  flush();
  const std::size_t line = piece_.first_line;
  history_.push_back(std::move(piece_));
  look_around();
  piece_ = {.text = "", .first_line = line};
  shown_ = 0;
}

void Stage::flush() {
  write(std::string_view(piece_.text).substr(shown_));
  shown_ = piece_.text.size();
  if (step_) return;
  piece_.text.clear();
  shown_ = 0;
}

void Stage::next_piece(std::size_t line) {
  if (!step_) return;
  if (piece_.first_line != 0) {  // before the first heading there is only the title
    turn_page();
  }
  piece_.first_line = line;
}

void Stage::ask(const Remark& question) {
  if (!can_ask_ || question.answer.empty()) return show(question);
  show(Remark{question.title, question.text});
  flush();
  if (typed("\n  (think first, then press Enter) ") == "q") throw Quit{};
  show(Text{question.answer, "Answer"});
}

void Stage::look_around() {
  std::size_t at = history_.size() - 1;
  while (true) {
    const std::string word = typed("\n[Enter] next  [b]ack  [s]ource  [q]uit: ");
    if (word.empty() || word == "n") {
      if (++at == history_.size()) return;
      write(history_[at].text);
    } else if (word == "b") {
      if (at > 0) --at;
      write(history_[at].text);
    } else if (word == "s") {
      show_source(history_[at]);
    } else if (word == "q") {
      throw Quit{};
    } else {
      write("Enter shows the next piece, b the one before, s the source of "
            "this one, q leaves.\n");
    }
  }
}

void Stage::show_source(const Piece& piece) const {
  const std::vector<std::string> lines = source_lines(source_);
  std::string text;
  std::size_t i = std::max<std::size_t>(piece.first_line, 1);
  do {  // to the next heading
    text += fmt::format("{:4} {}\n", i, lines.at(i - 1));
    ++i;
  } while (i <= lines.size() && lines[i - 1].find("say.heading(") == std::string::npos);
  text = fmt::format("\n{}, lines {} to {}\n{}", source_, piece.first_line, i - 1, text);
  write(text);
}

}  // namespace vitruvian::lessons
