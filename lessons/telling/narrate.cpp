#include "lessons/telling/narrate.hpp"
#include "lessons/telling/source.hpp"

#include "lessons/telling/stage.hpp"
#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/safe_file.hpp"
#include "vitruvian/core/fault.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <utility>

namespace vitruvian::lessons {
namespace {

// Thrown where a lesson with a mistake in it has had its answer.
struct Noticed {};

double relative_error(double a, double b) {
  const double scale = std::max(std::abs(a), std::abs(b));
  return scale == 0 ? 0 : std::abs(a - b) / scale;
}

// What two numbers that should agree look like, in words: a wrong derivative is often wrong by a
// sign, by a whole factor, or altogether missing.
std::string diagnosis(const Check& c) {
  if (c.left_name.empty()) return {};
  if (c.right_name.empty()) return "It should be 0.";
  const double ratio = c.left / c.right;
  const auto near = [](double x, double y) { return std::abs(x - y) <= 1e-3 * std::abs(y); };
  if (std::isnan(c.left) || std::isnan(c.right)) return "One of the two is not a number.";
  if (std::abs(c.left) < 1e-9 * std::abs(c.right)) {
    return fmt::format("The {} value is zero: something never arrived.", c.left_name);
  }
  if (std::abs(c.right) < 1e-9 * std::abs(c.left)) {
    return fmt::format("The {} value is zero, the {} one is not.", c.right_name, c.left_name);
  }
  if (near(ratio, -1)) return "The two have opposite signs: somewhere a minus is wrong.";
  const bool left_is_larger = std::abs(ratio) > 1;
  const double factor = left_is_larger ? ratio : 1 / ratio;
  if (std::abs(factor) < 1.5 || std::abs(factor) > 1000 || !near(factor, std::round(factor)))
    return {};
  return fmt::format("The {} value is {:g} times the {} one.",
                     left_is_larger ? c.left_name : c.right_name, std::round(factor),
                     left_is_larger ? c.right_name : c.left_name);
}

const Break* break_of(const Lesson& lesson, std::string_view name) {
  const auto found = std::find_if(lesson.breaks.begin(), lesson.breaks.end(),
                                  [&](const Break& b) { return b.name == name; });
  return found == lesson.breaks.end() ? nullptr : &*found;
}

// "op:kind" or "op:kind:input"
std::unique_ptr<Fault> fault_of(const std::string& text) {
  if (text.empty()) return nullptr;
  std::string op, kind, input;
  std::istringstream parts(text);
  std::getline(std::getline(std::getline(parts, op, ':'), kind, ':'), input);
  return std::make_unique<Fault>(op, Fault::kind_named(kind),
                                 input.empty() ? 0 : std::stoul(input));
}

// What a lesson's end says before it has begun.
Closing closing_of(const Entry& entry, const Lesson& lesson) {
  Closing closing;
  const std::vector<Entry>& all = contents();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i + 1 < all.size() && all[i + 1].name == entry.name) closing.previous = all[i];
    if (i > 0 && all[i - 1].name == entry.name) closing.next = all[i];
  }
  for (const Break& b : lesson.breaks) closing.breaks.emplace_back(b.name, b.what);
  closing.exercises = exercises_after(entry.name);
  for (const Word& word : glossary()) {
    if (word.lesson.name == entry.name) closing.words.push_back(word.names[0]);
  }
  closing.control = lesson.play;
  return closing;
}

}  // namespace

std::vector<double> places(double from, double to, double apart) {
  std::vector<double> all;
  const auto steps = std::lround((to - from) / apart);
  for (long i = 0; i <= steps; ++i) all.push_back(from + static_cast<double>(i) * apart);
  return all;
}

Narrator::Narrator(const Entry& entry, const Lesson& lesson, const Options& options)
    : entry_(entry), lesson_(lesson), options_(options) {
  std::istringstream rows(lesson.rows);
  for (std::string row; rows >> row;) rows_.push_back(row);
  stage_ = std::make_unique<Stage>(options, entry.source());
  tell(Opening{entry.number, entry.name, lesson.title, lesson.equation, lesson.minutes});
}
Narrator::~Narrator() = default;

void Narrator::tell_checks() {
  if (!pending_.all.empty()) stage_->show(std::exchange(pending_, {}));
}
void Narrator::tell(const Event& event) {
  tell_checks();
  stage_->show(event);
}

void Narrator::heading(std::string_view text, std::size_t line) {
  tell_checks();
  if (failed_ != 0 && !(options_.broken.empty() && options_.fault.empty())) throw Noticed{};
  stage_->next_piece(line);
  tell(Heading{numbered(text)});
}
void Narrator::text(std::string_view words) { tell(Text{numbered(words)}); }
void Narrator::in_words(std::string_view words) { tell(Text{numbered(words), "In words"}); }
void Narrator::pytorch(std::string_view words) { tell(Text{numbered(words), "In PyTorch"}); }
void Narrator::equation(std::string_view tex, std::string_view unicode, std::string_view number) {
  tell(Equation{std::string(tex), std::string(unicode), std::string(number)});
}

void Narrator::symbols(const std::vector<Symbol>& symbols) {
  Rows rows;
  for (const Symbol& s : symbols) {
    values_[s.symbol] = s.value;
    rows.push_back(row(s.symbol, s.value, s.meaning.empty() ? meaning_of(s.symbol) : s.meaning));
  }
  table({"symbol", "here", "meaning"}, std::move(rows));
}

void Narrator::code(std::string_view region, std::string_view file) {
  tell(region_of(file.empty() ? entry_.source() : std::string(file), region));
}
void Narrator::code_of(std::string_view file, std::string_view first_line) {
  tell(function_of(std::string(file), first_line));
}

void Narrator::shape(std::string_view name, std::string_view symbols,
                     std::vector<std::size_t> lengths) {
  const bool holds = lengths_of(symbols, values_) == lengths;
  ++checks_;
  if (!holds) ++failed_;
  tell(ShapeLine{std::string(name), std::string(symbols), std::move(lengths), holds});
}

void Narrator::table(std::vector<std::string> columns, Rows rows) {
  for (const auto& row : rows) {
    if (row.size() != columns.size()) {
      fail("a table of {} columns has a row of {}", columns.size(), row.size());
    }
  }
  for (auto& row : rows) {
    for (std::string& cell : row) cell = numbered(cell);
  }
  tell(Table{std::move(columns), std::move(rows)});
}

void Narrator::figure(Figure figure) {
  figure.caption = numbered(figure.caption);
  tell(std::move(figure));
}
void Narrator::curves(std::string caption, std::vector<Series> series, bool log_y) {
  figure({std::move(caption), Chart{.series = std::move(series), .log_y = log_y}});
}
void Narrator::diagram(std::string caption, Diagram diagram) {
  figure({std::move(caption), std::move(diagram)});
}
void Narrator::bars(std::string caption, const std::vector<std::pair<std::string, double>>& rows,
                    bool log) {
  Chart chart{.series = {Series{.mark = Mark::bars}}, .log_y = log};
  for (const auto& [name, value] : rows) {
    chart.names.push_back(name);
    chart.series[0].y.push_back(value);
  }
  figure({std::move(caption), std::move(chart)});
}

void Narrator::check(std::string_view what, const Value& left, const Value& right,
                     double tolerance) {
  Check c{std::string(what), left.name, left.value, right.name, right.value};
  c.error = relative_error(left.value, right.value);
  c.tolerance = tolerance;
  c.passed = c.error <= tolerance;
  check(std::move(c));
}

void Narrator::differs(std::string_view what, const Value& left, const Value& right,
                       double at_least) {
  Check c{std::string(what), left.name, left.value, right.name, right.value};
  c.error = relative_error(left.value, right.value);
  c.tolerance = at_least;
  c.must_differ = true;
  c.passed = c.error >= at_least;
  check(std::move(c));
}

void Narrator::holds(std::string_view what, bool yes) {
  check({.what = std::string(what), .passed = yes});
}

void Narrator::is_zero(std::string_view what, const Value& value, double at_most) {
  Check c{.what = std::string(what), .left_name = value.name, .left = value.value};
  c.error = std::abs(value.value);
  c.tolerance = at_most;
  c.passed = c.error <= at_most;
  check(std::move(c));
}

void Narrator::check(Check finished) {
  ++checks_;
  if (!finished.passed) ++failed_;
  if (!finished.passed && !finished.must_differ && finished.reason.empty()) {
    finished.reason = diagnosis(finished);
  }
  finished.what = numbered(finished.what);
  pending_.all.push_back(std::move(finished));
}

void Narrator::sources_disagree(std::string_view row, std::string_view text) {
  tell(Remark{.title = row.empty() ? "A common mistake" : "Where the sources disagree",
              .text = numbered(text),
              .folds = !row.empty()});
  std::string id(row);  // "B 4", in the list "B4"
  std::erase(id, ' ');
  if (!id.empty() && std::find(rows_.begin(), rows_.end(), id) == rows_.end()) rows_.push_back(id);
}

void Narrator::question(std::string_view question, std::string_view answer) {
  tell_checks();
  stage_->ask({"A question", numbered(question), numbered(answer)});
}
void Narrator::take_along(std::string_view question, std::string_view answer) {
  tell_checks();
  stage_->ask({"To take along", numbered(question), numbered(answer)});
}

bool Narrator::broken(std::string_view name) const {
  if (break_of(lesson_, name) == nullptr) {
    fail("the lesson asks for a mistake '{}' that is not in its list", name);
  }
  return options_.broken == name;
}
std::uint64_t Narrator::seed() const { return options_.seed; }

std::size_t Narrator::close() {
  Closing closing = closing_of(entry_, lesson_);
  closing.checks = checks_;
  closing.failed = failed_;
  closing.broken = options_.broken;
  closing.rows = rows_;
  const Break* const broken = break_of(lesson_, options_.broken);
  if (broken != nullptr) closing.why = broken->why;
  tell(closing);
  stage_->flush();
  return failed_;
}

void Narrator::flush() {
  tell_checks();
  stage_->flush();
}

namespace {

// The lesson from its title to its end; returns how many checks failed.
std::size_t run(const Entry& entry, const Lesson& lesson, const Options& options,
                const Telling& telling) {
  const Break* const broken = break_of(lesson, options.broken);
  const bool by_fault = options.fault.empty() && broken != nullptr;
  const auto fault = fault_of(by_fault ? broken->fault : options.fault);
  Narrator say(entry, lesson, options);
  try {
    telling.lesson(say);
  } catch (const Noticed&) {
    say.text("What follows would be built on the mistake: the lesson ends here.");
  } catch (const Error& error) {
    if (broken == nullptr) throw;
    fail("{} - that is --break {}: {}", error.what(), broken->name, broken->why);
  }
  return say.close();
}

// `--play`: what the sliders show where they stand.
std::size_t run_play(const Entry& entry, const Lesson& lesson, const Options& options,
                     const Telling& telling) {
  Narrator say(entry, lesson, options);
  telling.play(say, options.play);
  say.flush();
  return 0;
}

// For whoever came here through the runner: the lesson counts as read.
void mark_done(const Options& options) {
  if (options.done_file.empty()) return;
  try {
    write_file_safely(options.done_file, "");
  } catch (const Error& error) {
    console::print(stderr, "progress is not kept: {}\n", error.what());
  }
  if (!options.json && !options.markdown && !options.html) console::print("On: lesson next\n");
}

}  // namespace

int tell(const Lesson& lesson, const Telling& telling, int argc, char** argv, const char* file) {
  const std::string name = std::filesystem::path(file).stem().string();
  return console::run("lesson_" + name, [&] {
    const Entry entry = entry_of(name);
    const auto options = parse_options(argc, argv, entry, lesson);
    if (!options) return static_cast<int>(Exit::ok);
    if (options->describe && options->json) {  // for the book
      console::print("{}", console::raw(json_writer()->write(closing_of(entry, lesson))));
      return static_cast<int>(Exit::ok);
    }
    if (options->describe) {
      for (const std::string& op : lesson.teaches) console::print("op {}\n", op);
      for (const Break& b : lesson.breaks) console::print("break {}\n", b.name);
      for (const auto end : {&Slider::start, &Slider::from, &Slider::to}) {
        const std::string values = play_text(lesson.play, end);
        if (!values.empty()) console::print("play {}\n", values);
      }
      return static_cast<int>(Exit::ok);
    }
    try {
      const std::size_t failed = options->play.empty() ? run(entry, lesson, *options, telling)
                                                       : run_play(entry, lesson, *options, telling);
      console::flush();
      if (failed != 0) return static_cast<int>(Exit::failure);
    } catch (const Quit&) {
      return static_cast<int>(Exit::ok);
    }
    if (options->broken.empty() && options->fault.empty() && options->play.empty())
      mark_done(*options);
    return static_cast<int>(Exit::ok);
  });
}

}  // namespace vitruvian::lessons
