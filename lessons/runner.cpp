// lesson: the runner of the course. It finds a lesson, builds its program when that is missing or
// older than its source, and becomes it.

#include "apps/command_line.hpp"
#include "lessons/exercises.hpp"
#include "lessons/process.hpp"
#include "lessons/progress.hpp"
#include "lessons/telling/contents.hpp"
#include "lessons/telling/events.hpp"
#include "lessons/telling/source.hpp"
#include "vitruvian/core/base/console.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace {

using namespace vitruvian;
using namespace vitruvian::lessons;
namespace fs = std::filesystem;

constexpr const char* usage =
    R"(The course: one lesson per equation, and exercises.

  lesson N [FLAG]...     lesson N, by its number or name
  lesson next [FLAG]...  the exercises of the lesson that you have read, then
                         the next; next --lesson passes the exercises over
  lesson N --help        its flags, and the mistakes that it makes on purpose)";

// What comes next: a lesson, an exercise, or neither. The exercises of a lesson that was read come
// before the next lesson; once that is read, too, they wait until all lessons are.
struct Next {
  const Entry* lesson = nullptr;
  const Exercise* exercise = nullptr;

  [[nodiscard]] std::string command() const {
    if (exercise != nullptr) return fmt::format("lesson exercise {}", exercise->number);
    return fmt::format("lesson {}", lesson->number);
  }
};

Next next() {
  const auto unread = std::find_if_not(contents().begin(), contents().end(),
                                       [](const Entry& entry) { return is_done(entry); });
  const bool all_read = unread == contents().end();
  const std::string before = unread == contents().begin() ? "" : std::prev(unread)->name;
  const auto open =
      std::find_if(exercises().begin(), exercises().end(), [&](const Exercise& exercise) {
        return (all_read || exercise.lesson.name == before) && !is_done(exercise);
      });
  return {.lesson = all_read ? nullptr : &*unread,
          .exercise = open == exercises().end() ? nullptr : &*open};
}

// Of lessons or exercises.
template <class T>
std::string done_of(const std::vector<T>& all) {
  return fmt::format(
      "{} of {}", std::count_if(all.begin(), all.end(), [](const T& one) { return is_done(one); }),
      all.size());
}

void list(bool ascii) {
  std::string text, part;
  for (const Entry& e : contents()) {
    if (std::exchange(part, e.part) != e.part) text += fmt::format("\n{}\n", part);
    text += fmt::format("{:4}  {:4}  {:2} min  {}\n{:20}{}\n", e.number, is_done(e) ? "done" : "",
                        e.minutes, e.title, "", e.equation);
    for (const Exercise& exercise : exercises_after(e.name)) {
      text += fmt::format("{:6}{:6}exercise {}: {} ({})\n", "", is_done(exercise) ? "done" : "",
                          exercise.number, exercise.title, exercise.level);
    }
  }
  const Next go_on = next();
  const bool all_done = go_on.lesson == nullptr && go_on.exercise == nullptr;
  text += fmt::format("\n{} lessons read, {} exercises done. {}\n", done_of(contents()),
                      done_of(exercises()),
                      all_done ? "That is all of it." : "Next: " + go_on.command());
  console::print("{}", console::raw(ascii ? to_ascii(text) : text));
}

// The lesson that explains a word.
const Entry& lesson_of(const Word& word) {
  return contents()[static_cast<std::size_t>(word.lesson.number)];
}

// "also feed-forward network", or "".
std::string other_names(const Word& word) {
  const std::vector<std::string> others(word.names.begin() + 1, word.names.end());
  return others.empty() ? "" : "also " + joined(others);
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// In the order of the alphabet.
std::vector<Word> sorted_glossary() {
  std::vector<Word> words = glossary();
  std::sort(words.begin(), words.end(),
            [](const Word& a, const Word& b) { return lower(a.names[0]) < lower(b.names[0]); });
  return words;
}

// The word of this name, or all.
void look_up(const std::string& wanted, bool ascii) {
  std::string text;
  std::vector<std::string> names;
  for (const Word& word : sorted_glossary()) {
    bool here = wanted.empty();
    for (const std::string& name : word.names) {
      here = here || lower(name) == lower(wanted);
      names.push_back(name);
    }
    if (!here) continue;
    text += word.names[0] + (word.names.size() > 1 ? ", " : "") + other_names(word) + "\n";
    for (const std::string& line : wrapped(word.meaning, 76)) text += "    " + line + "\n";
    text += fmt::format("    Lesson {}: {}\n", word.lesson.number, lesson_of(word).title);
  }
  if (text.empty()) {
    fail(Exit::usage, "the glossary has no word '{}'; {}", wanted,
         did_you_mean(wanted, names, "lesson glossary lists all"));
  }
  console::print("{}", console::raw(ascii ? to_ascii(text) : text));
}

// docs/lessons/glossary.md
void glossary_markdown() {
  console::print("# Glossary\n\n"
                 "The field's words, each with the lesson that explains it. In the terminal:\n"
                 "`build/bin/lesson glossary softmax`.\n");
  for (const Word& word : sorted_glossary()) {
    const Entry& lesson = lesson_of(word);
    console::print("\n### {}\n\n", word.names[0]);
    if (word.names.size() > 1) console::print("({}) ", other_names(word));
    console::print("{} Lesson {}: [{}]({}.md).\n", word.meaning, lesson.number, lesson.title,
                   lesson.name);
  }
}

// What stands above the table of docs/lessons/README.md: "#softmax" is a lesson, {0} and so on the
// exercises that `list_markdown` names.
constexpr const char* how_to_begin = R"(# The course

One program per equation, from a derivative to a trained Vision Transformer. You should read C++, and know
what a derivative and a matrix product are. Of deep learning you need to know nothing: its words are
explained where they are met, and once more in the [glossary](glossary.md).

```sh
scripts/start.sh           # once, in the project's folder: installs, builds, trains a first model
build/bin/lesson 0 --step  # lesson 0, piece by piece; without --step, all at once
build/bin/lesson next      # what comes next: a lesson, or an exercise of the one before it
```

These pages are what the programs say, written by `scripts/make_pages.sh`. The programs say it in your
terminal, wait while you think (`--step`), make a mistake on purpose and show what comes of it
(`--break NAME`), and let you turn their numbers (`--play`). A lesson that was never run is compiled
first, and says how long that takes.

## Your part

After most lessons it is your turn. `build/bin/lesson exercise 1` puts a file with a gap into your folder.
`lesson check 1` compiles what you have filled in, compares it with numbers, and says which mistake it was;
with `--watch`, at each change of the file. `lesson hint 1` helps, and `lesson solution 1 --give-up` shows
our answer. Many of them are parts of a Vision Transformer of your own: exercise {0} trains it, and it
reads.

## Other ways through

**You know backpropagation, or PyTorch.** Begin in Part III: `build/bin/lesson #patches`, then by number. An
exercise takes your earlier answers where they agree and ours where there are none, so you may begin with
any.

**A lab of four afternoons**, two hours each; whoever missed one goes on with our answers.

| afternoon | lessons | exercises |
|---|---|---|
| the tape | #three_or_eight, #chain_rule, #tape, #broadcasting | {1}, {2}, {3} |
| layers | #linear, #softmax, #layer_norm | {4}, {5}, {6} |
| the Vision Transformer | #patches, #self_attention, #block, #vit | {7}, {8}, {9} |
| training | #optimizers, #sanity, #digits | {10}, {11}, {0} |
)";

void list_markdown() {
  const auto number = [](const char* name) {
    return find(exercises(), name, "exercise", "lesson exercises").number;
  };
  console::print(
      "{}", console::raw(fmt::format(
                fmt::runtime(numbered(how_to_begin)), number("own_training"), number("chain_rule"),
                number("walk_back"), number("unbroadcast"), number("own_linear"),
                number("cross_entropy"), number("layer_norm"), number("patches"),
                number("attention"), number("own_block"), number("adamw"), number("one_batch"))));
  std::string part;
  for (const Entry& e : contents()) {
    if (std::exchange(part, e.part) != e.part) {
      console::print(
          "\n## {}\n\n| | lesson | equation | minutes | exercises |\n|---|---|---|---|---|\n",
          part);
    }
    std::string equation;  // a bar would end the cell, in code too
    for (const char c : e.equation) equation += c == '|' ? "\\|" : std::string(1, c);
    std::string own;
    for (const Exercise& exercise : exercises_after(e.name)) {
      own += fmt::format("{}{}. {} ({})", own.empty() ? "" : "<br>", exercise.number,
                         exercise.title, exercise.level);
    }
    console::print("| {} | [{}]({}.md) | `{}` | {} | {} |\n", e.number, e.title, e.name, equation,
                   e.minutes, own);
  }
}

[[noreturn]] void become(const Entry& entry, const std::vector<std::string>& flags) {
  const std::string name = "lesson_" + entry.name;
  build_if_needed(name, {project_path(entry.source())});
  const fs::path done = done_file(entry);
  std::vector<std::string> words = {(program_folder() / name).string()};
  if (!done.empty()) {  // before the user's, the last of which may lack its value
    std::error_code told_by_the_lesson;
    fs::create_directories(done.parent_path(), told_by_the_lesson);
    words.push_back("--done-file=" + done.string());
  }
  words.insert(words.end(), flags.begin(), flags.end());
  console::flush();
  execv(words[0].c_str(), pointers(words).data());
  fail("{} cannot be run: {}", words[0], std::strerror(errno));
}

int begin_next(const Next& go_on) {
  const int code = begin_exercise(*go_on.exercise);
  if (go_on.lesson != nullptr) {
    console::print("Rather read on: lesson next --lesson\n");
  }
  return code;
}

int run(int argc, char** argv) {
  const Parser app(usage, "lesson");
  std::function<int()> chosen = [] { return list(false), 0; };
  bool ascii = false, markdown = false;
  std::string wanted;
  const Parser all = app.add_command("list", "What there is, and what you have read", [&] {
    chosen = [&] { return markdown ? list_markdown() : list(ascii), 0; };
  });
  const Parser words = app.add_command("glossary", "What the field's words mean", [&] {
    chosen = [&] { return markdown ? glossary_markdown() : look_up(wanted, ascii), 0; };
  });
  words.add_value("WORD", "", wanted, "One of them; all without it");
  for (const Parser& command : {all, words}) {
    command.add_flag("--ascii", ascii, "No glyph beyond ASCII");
    command.add_flag("--markdown", markdown, "As a page");
  }
  add_progress_command(app, chosen);
  add_exercise_commands(app, chosen);

  const std::string word = argc > 1 ? argv[1] : "list";
  std::vector<std::string> commands = app.command_names();
  commands.insert(commands.begin(), "next");
  const bool command = word != "next" && std::ranges::find(commands, word) != commands.end();
  if (command || word == "--help" || word == "-h") {
    int code = 0;
    run_command_line(app, argc, argv, [&] { code = chosen(); });
    return code;
  }
  if (word == "help") {
    char flag[] = "--help";
    char* asked[] = {argv[0], flag};
    return run_command_line(app, 2, asked, {}), 0;
  }
  if (word.starts_with("-")) {
    fail(Exit::usage, "which lesson? Its number comes first: lesson 0 {}", word);
  }
  std::vector<std::string> flags(argv + 2, argv + argc);
  if (word != "next") become(find(contents(), word, "lesson", "lesson list", commands), flags);
  const Next go_on = next();
  const bool read_on = std::erase(flags, "--lesson") > 0;
  if (go_on.exercise != nullptr && !read_on) return begin_next(go_on);
  if (go_on.lesson != nullptr) become(*go_on.lesson, flags);
  console::print(
      "You have read them all. lesson list shows them, lesson exercises your own part.\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return console::run("lesson", [&] { return run(argc, argv); });
}
