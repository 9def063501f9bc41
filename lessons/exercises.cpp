// lesson exercises, exercise N, check N, hint N, solution N: what a learner does with exercises.

#include "lessons/exercises.hpp"

#include "apps/command_line.hpp"
#include "lessons/telling/contents.hpp"
#include "lessons/telling/events.hpp"
#include "lessons/telling/source.hpp"
#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/safe_file.hpp"

#include <algorithm>
#include <fstream>
#include <memory>
#include <regex>
#include <system_error>

namespace vitruvian::lessons {

namespace {

namespace fs = std::filesystem;

// --- the files of exercises --------------------------------------------------------------------

// Whether a line is "// [NAME]", for a name that matches.
bool is_marker(const std::string& line, const std::string& name) {
  return std::regex_match(line, std::regex(fmt::format(R"(\s*// \[{}\])", name)));
}

// The source without the other version's lines, the markers and the hints. It names the exercise
// and its lesson, as their numbers change where others come before them.
std::string text_of(const Exercise& exercise, bool solved) {
  std::string text = fmt::format("// Exercise {}. {} ({}, after lesson {})\n", exercise.name,
                                 exercise.title, exercise.level, exercise.lesson.name);
  if (!solved) {
    text +=
        fmt::format("// Filled in: lesson check {0}.  Stuck: lesson hint {0}.\n", exercise.name);
  }
  std::string part = "end";
  const std::vector<std::string> lines = source_lines(exercise.source());
  const bool has_tensors = std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
    return line.starts_with("Tensor ") || line.find("const Tensor& ") != std::string::npos;
  });
  if (!solved && has_tensors) {
    text += "// What tensors can do: docs/ops.md, in the folder of the project.\n";
  }
  for (std::size_t i = 1; i < lines.size() && !is_marker(lines[i], "hint 1"); ++i) {
    if (is_marker(lines[i], "(gap|solution|end)")) {
      const std::size_t begin = lines[i].find('[') + 1;
      part = lines[i].substr(begin, lines[i].size() - begin - 1);
    } else if (part == "gap" && !solved) {
      text += std::regex_replace(lines[i], std::regex(R"(//\| )"), "") + "\n";
    } else if (part == "end" || (part == "solution" && solved)) {
      text += lines[i] + "\n";
    }
  }
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

// From the vaguest to the plainest.
std::vector<std::string> hints_of(const Exercise& exercise) {
  std::vector<std::string> hints;
  for (const std::string& line : source_lines(exercise.source())) {
    if (is_marker(line, R"(hint \d)")) {
      hints.emplace_back();
    } else if (!hints.empty() && line.starts_with("// ")) {
      hints.back() += line.substr(2);
    }
  }
  return hints;
}

// --- what is remembered --------------------------------------------------------------------------

std::string remembered(const std::string& name) {
  std::ifstream in(with_or_without_number(state_file("exercises", name)));
  std::string line;
  std::getline(in, line);
  return line;
}

// A learner whose home cannot be written loses marks, nothing else.
void remember(const std::string& name, const std::string& line) {
  const fs::path file = state_file("exercises", name);
  if (file.empty()) return;
  try {
    make_folder_of(file.string());
    write_file_safely(file.string(), line + "\n");
  } catch (const Error&) {  // lost, as was said
  }
}

// --- the commands --------------------------------------------------------------------------------

struct Request {
  std::string word;  // the exercise's number or name
  std::string dir;
  bool again = false, ascii = false, give_up = false, watch = false;
  int seconds = 10, level = 0;

  [[nodiscard]] Exercise exercise() const {
    if (word.empty()) {
      fail(Exit::usage, "which exercise? lesson exercise 1, for instance; lesson exercises lists "
                        "them");
    }
    return find(exercises(), word, "exercise", "lesson exercises");
  }
  void print(std::string_view text) const {
    console::print("{}", console::lines(ascii ? to_ascii(text) : std::string(text)));
  }
  // Where the learner's files are: --dir, or where they were last time, or ./exercises.
  [[nodiscard]] fs::path folder() const {
    if (!dir.empty()) return fs::absolute(dir);
    const std::string before = remembered("folder");
    std::error_code gone;
    if (!before.empty() && fs::is_directory(before, gone)) return before;
    return fs::absolute("exercises");
  }
  // The learner's file, which keeps the number that an earlier version gave it.
  [[nodiscard]] fs::path file(const Exercise& exercise) const {
    return with_or_without_number(folder() / (exercise.name + ".cpp"));
  }
};

int list(const Request& request) {
  const std::vector<Exercise>& all = exercises();
  std::string text = "\n";
  const auto mark = [](const Exercise& e) { return is_done(e); };
  const auto done = std::count_if(all.begin(), all.end(), mark);
  for (const Exercise& e : all) {
    text += fmt::format("{:3}  {:4}  after lesson {:2}  {:6}  {}\n", e.number,
                        is_done(e) ? "done" : "", e.lesson.number, e.level, e.title);
  }
  const auto next = std::find_if_not(all.begin(), all.end(), mark);
  request.print(text + fmt::format("\n{} of {} done. {}\n", done, all.size(),
                                   next == all.end()
                                       ? "You have solved them all."
                                       : fmt::format("Next: lesson exercise {}", next->number)));
  return 0;
}

int begin(const Request& request) {
  const Exercise exercise = request.exercise();
  const fs::path folder = request.folder();
  const fs::path file = request.file(exercise);
  std::error_code problem;
  fs::create_directories(folder, problem);
  const bool kept = fs::exists(file, problem) && !request.again;
  if (!kept) {
    try {
      write_file_safely(file.string(), text_of(exercise, false));
    } catch (const Error& error) {
      fail("{}; --dir DIR names another folder", error.what());
    }
  }
  remember("folder", folder.string());
  const bool renamed = kept && file.stem() != exercise.name;
  request.print(fmt::format(
      "Exercise {0}. {1} ({2}, after lesson {3})\n\n  {4}\n\n{5}{6}"
      "Fill in what is marked \"Yours\", then: lesson check {0}\n"
      "Or, to have it judged whenever you save: lesson check {0} --watch\n",
      exercise.number, exercise.title, exercise.level, exercise.lesson.number,
      console::visible(file.string()),
      kept ? "It is there already and stays as you left it; --again starts over.\n" : "",
      renamed ? "Its name has the number of an earlier version; only the name counts now.\n" : ""));
  return 0;
}

int check(const Request& request) {
  const Exercise exercise = request.exercise();
  const fs::path file = request.file(exercise);
  std::error_code unknown;
  if (!fs::exists(file, unknown)) {
    fail(Exit::usage,
         "exercise {0} is not started: there is no {1}. lesson exercise {0} puts it there",
         exercise.number, file.string());
  }
  if (request.watch) {
    std::vector<std::string> once = {"check",     exercise.name,
                                     "--dir",     request.folder().string(),
                                     "--seconds", std::to_string(request.seconds)};
    std::vector<std::string> hint = {"hint", exercise.name};
    if (request.ascii) {
      once.emplace_back("--ascii");
      hint.emplace_back("--ascii");
    }
    watch_exercise(file, once, hint);
    return 0;
  }
  request.print(fmt::format("Exercise {}. {}\n\n", exercise.number, exercise.title));
  if (!check_exercise(exercise, file, request.seconds, request.ascii)) {
    console::print("Stuck: lesson hint {}\n", exercise.number);
    return static_cast<int>(Exit::failure);
  }
  remember(exercise.name, "done");
  console::print(
      "\nAll of it agrees: done. Ours, to compare: lesson solution {}\nOn: lesson next\n",
      exercise.number);
  return static_cast<int>(Exit::ok);
}

int hint(const Request& request) {
  const Exercise exercise = request.exercise();
  const std::vector<std::string> hints = hints_of(exercise);
  const int most = static_cast<int>(hints.size());
  const std::string counter = exercise.name + ".hints";
  const int before = std::atoi(remembered(counter).c_str());
  const int level = request.level > 0 ? request.level : std::clamp(before + 1, 1, most);
  if (level > before) remember(counter, std::to_string(level));
  std::string text = fmt::format("Exercise {}, hint {} of {}\n\n", exercise.number, level, most);
  for (const std::string& line : wrapped(hints.at(static_cast<std::size_t>(level - 1)), 78)) {
    text += "  " + line + "\n";
  }
  text += level < most
              ? fmt::format("\nMore: lesson hint {} --level {}\n", exercise.number, level + 1)
              : fmt::format("\nThat was the last one. lesson solution {} --give-up shows ours.\n",
                            exercise.number);
  request.print(text);
  return 0;
}

int solution(const Request& request) {
  const Exercise exercise = request.exercise();
  if (!is_done(exercise) && !request.give_up) {
    fail("the solution of exercise {0} opens when lesson check {0} agrees; lesson hint {0} helps, "
         "and lesson solution {0} --give-up opens it now",
         exercise.number);
  }
  request.print(text_of(exercise, true));
  return 0;
}

}  // namespace

int begin_exercise(const Exercise& exercise) {
  Request request;
  request.word = exercise.name;
  return begin(request);
}

void add_exercise_commands(const Parser& app, std::function<int()>& chosen) {
  const auto request = std::make_shared<Request>();
  const auto command = [&](const char* name, int (*run)(const Request&), const char* text) {
    const Parser added =
        app.add_command(name, text, [=, &chosen] { chosen = [=] { return run(*request); }; });
    if (run != list) added.add_value("N", "", request->word, "The exercise: its number or name");
    added.add_flag("--ascii", request->ascii, "No glyph beyond ASCII");
    if (run == begin || run == check) {
      added.add_value("--dir", "DIR", request->dir,
                      "Your folder; else the one you used last, or ./exercises");
    }
    return added;
  };
  command("exercises", list, "What you can do yourself, and what you have done");
  command("exercise", begin, "Put exercise N into your folder, with a gap to fill")
      .add_flag("--again", request->again, "Start over, though you have changed the file");
  const Parser checked = command("check", check, "Compile it, and compare it with numbers");
  checked.add_value("--seconds", "N", request->seconds, "How long your function may run")
      .whole(1, 3600);
  checked.add_flag("--watch", request->watch, "Again whenever you save the file, until q");
  const Parser hinted = command("hint", hint, "A hint; three, each plainer than the one before");
  hinted.add_value("--level", "N", request->level, "This one, 1 to 3").whole(1, 3);
  command("solution", solution, "Ours, once yours agrees")
      .add_flag("--give-up", request->give_up, "Before yours agrees");
}

}  // namespace vitruvian::lessons
