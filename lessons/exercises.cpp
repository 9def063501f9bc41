// lesson exercises, exercise N, check N, hint N, solution N: what a learner does with exercises.

#include "lessons/exercises.hpp"

#include "lessons/exercise_check.hpp"
#include "lessons/exercise_file.hpp"
#include "lessons/telling/contents.hpp"
#include "lessons/telling/render.hpp"
#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/safe_file.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <system_error>

namespace vitruvian::lessons {
namespace {

namespace fs = std::filesystem;

struct Request {
  std::string exercise;  // number or name
  std::map<std::string, std::string> flags;

  [[nodiscard]] bool has(const std::string& flag) const { return flags.count(flag) != 0; }
};

// --- what was typed --------------------------------------------------------------------------

// Each command's flags; those that take a value end in '='.
const std::map<std::string, std::vector<std::string>>& commands() {
  static const std::map<std::string, std::vector<std::string>> list = {
      {"exercises", {"--ascii"}},
      {"exercise", {"--dir=", "--again", "--ascii"}},
      {"check", {"--dir=", "--seconds="}},
      {"hint", {"--level=", "--ascii"}},
      {"solution", {"--give-up", "--ascii"}}};
  return list;
}

Request parse(const std::string& command, const std::vector<std::string>& words) {
  Request request;
  const std::vector<std::string>& known = commands().at(command);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with("--")) {
      if (!request.exercise.empty() || command == "exercises") {
        fail(Exit::usage, "lesson {}: what is '{}'? See lesson --help", command, word);
      }
      request.exercise = word;
      continue;
    }
    const std::size_t equals = word.find('=');
    const std::string flag = word.substr(0, equals);
    const auto is = [&](const std::string& name) {
      return std::find(known.begin(), known.end(), name) != known.end();
    };
    if (is(flag + "=")) {
      if (equals == std::string::npos && i + 1 == words.size()) {
        fail(Exit::usage, "{} needs a value", flag);
      }
      request.flags[flag] = equals == std::string::npos ? words[++i] : word.substr(equals + 1);
    } else if (is(flag) && equals == std::string::npos) {
      request.flags[flag] = "";
    } else {
      std::vector<std::string> names;
      for (const std::string& name : known) names.push_back(name.substr(0, name.find('=')));
      fail(Exit::usage, "lesson {} has no flag {}; {}", command, word,
           did_you_mean(flag, names, "see lesson --help"));
    }
  }
  if (request.exercise.empty() && command != "exercises") {
    fail(Exit::usage, "which exercise? lesson {} 1, for instance; lesson exercises lists them",
         command);
  }
  return request;
}

int number_of(const Request& request, const std::string& flag, int otherwise, int most) {
  if (!request.has(flag)) return otherwise;
  const std::string& word = request.flags.at(flag);
  const bool digits =
      !word.empty() && word.size() < 5 && word.find_first_not_of("0123456789") == std::string::npos;
  const int number = digits ? std::stoi(word) : 0;
  if (number < 1 || number > most) {
    fail(Exit::usage, "{} takes a number from 1 to {}, not '{}'", flag, most, word);
  }
  return number;
}

void print(const Request& request, std::string_view text) {
  console::print("{}", console::lines(request.has("--ascii") ? to_ascii(text) : std::string(text)));
}

// --- what is remembered ----------------------------------------------------------------------

std::string remembered(const std::string& name) {
  const fs::path file = state_file("exercises", name);
  std::string line;
  if (!file.empty()) {
    std::ifstream in(file);
    std::getline(in, line);
  }
  return line;
}

// A learner whose home cannot be written loses marks, nothing else.
void remember(const std::string& name, const std::string& line) {
  const fs::path file = state_file("exercises", name);
  if (file.empty()) return;
  std::error_code ignored;
  fs::create_directories(file.parent_path(), ignored);
  try {
    write_file_safely(file.string(), line + "\n");
  } catch (const Error&) {  // lost, as was said
  }
}

bool is_done(const Exercise& exercise) { return remembered(exercise.id()) == "done"; }

// Where the learner's files are: --dir, or where they were last time, or ./exercises.
fs::path folder_of(const Request& request) {
  if (request.has("--dir")) return fs::absolute(request.flags.at("--dir"));
  const std::string before = remembered("folder");
  std::error_code gone;
  if (!before.empty() && fs::is_directory(before, gone)) return before;
  return fs::absolute("exercises");
}

// --- the commands ----------------------------------------------------------------------------

int list(const Request& request) {
  const std::vector<Exercise> all = exercises();
  std::string text = "\n";
  int done = 0;
  const Exercise* next = nullptr;
  for (const Exercise& exercise : all) {
    const bool mark = is_done(exercise);
    done += mark ? 1 : 0;
    if (!mark && next == nullptr) next = &exercise;
    text += fmt::format("{:4}  {:4}  after lesson {:2}  {}\n", exercise.number, mark ? "done" : "",
                        entry_of(exercise.lesson).number, exercise.title);
  }
  text += fmt::format("\n{} of {} done. ", done, all.size());
  text += next == nullptr ? "You have solved them all.\n"
                          : fmt::format("Next: lesson exercise {}\n", next->number);
  print(request, text);
  return 0;
}

int start(const Request& request) {
  const Exercise exercise = find_exercise(request.exercise);
  const fs::path folder = folder_of(request);
  const fs::path file = folder / (exercise.id() + ".cpp");
  std::error_code problem;
  fs::create_directories(folder, problem);
  const bool there = fs::exists(file, problem);
  if (!there || request.has("--again")) {
    try {
      write_file_safely(file.string(), exercise.stub());
    } catch (const Error& error) {
      fail("{}; --dir DIR names another folder", error.what());
    }
  }
  remember("folder", folder.string());
  const bool kept = there && !request.has("--again");
  print(request,
        fmt::format(
            "Exercise {}. {} (after lesson {})\n\n  {}\n\n{}Fill in what is marked "
            "\"Yours\", then: lesson check {}\n",
            exercise.number, exercise.title, entry_of(exercise.lesson).number,
            console::visible(file.string()),
            kept ? "It is there already and stays as you left it; --again starts over.\n" : "",
            exercise.number));
  return 0;
}

int check(const Request& request) {
  const Exercise exercise = find_exercise(request.exercise);
  const int seconds = number_of(request, "--seconds", 10, 3600);
  const fs::path file = folder_of(request) / (exercise.id() + ".cpp");
  std::error_code unknown;
  if (!fs::exists(file, unknown)) {
    fail(Exit::usage,
         "exercise {} is not started: there is no {}. lesson exercise {} puts it there",
         exercise.number, file.string(), exercise.number);
  }
  console::print("Exercise {}. {}\n\n", exercise.number, exercise.title);
  if (!check_exercise(exercise, file, seconds)) {
    console::print("Stuck: lesson hint {}\n", exercise.number);
    return static_cast<int>(Exit::failure);
  }
  remember(exercise.id(), "done");
  console::print("\nAll of it agrees: done. Ours, to compare: lesson solution {}\n",
                 exercise.number);
  return static_cast<int>(Exit::ok);
}

int hint(const Request& request) {
  const Exercise exercise = find_exercise(request.exercise);
  const std::vector<std::string> hints = exercise.hints();
  const int most = static_cast<int>(hints.size());
  const std::string counter = exercise.id() + ".hints";
  const std::string shown = remembered(counter);
  const int before = shown.size() == 1 && shown[0] >= '0' && shown[0] <= '9' ? shown[0] - '0' : 0;
  const int level = number_of(request, "--level", std::min(before + 1, most), most);
  if (level > before) remember(counter, std::to_string(level));
  std::string text = fmt::format("Exercise {}, hint {} of {}\n\n", exercise.number, level, most);
  for (const std::string& line : wrapped(hints[static_cast<std::size_t>(level - 1)], 78)) {
    text += "  " + line + "\n";
  }
  text += level < most
              ? fmt::format("\nMore: lesson hint {} --level {}\n", exercise.number, level + 1)
              : fmt::format("\nThat was the last one. lesson solution {} --give-up shows ours.\n",
                            exercise.number);
  print(request, text);
  return 0;
}

int solution(const Request& request) {
  const Exercise exercise = find_exercise(request.exercise);
  if (!is_done(exercise) && !request.has("--give-up")) {
    fail("the solution of exercise {0} opens when lesson check {0} agrees; lesson hint {0} helps, "
         "and lesson solution {0} --give-up opens it now",
         exercise.number);
  }
  print(request, exercise.solution());
  return 0;
}

}  // namespace

std::string_view exercise_usage() {
  return R"(
       lesson exercises         what you can do yourself, and what you have done
       lesson exercise N        put exercise N into your folder, with a gap to fill
       lesson check N           compile it, and compare it with numbers
       lesson hint N            a hint; three, each plainer than the one before
       lesson solution N        ours, once yours agrees

  --dir DIR      your folder; else the one you used last, or ./exercises
  --again        exercise: start over, though you have changed the file
  --seconds S    check: how long your function may run (10)
  --level L      hint: this one, 1 to 3
  --give-up      solution: before yours agrees
)";
}

bool is_exercise_command(std::string_view word) { return commands().count(std::string(word)) != 0; }

int exercise_command(const std::string& command, const std::vector<std::string>& words) {
  const Request request = parse(command, words);
  if (command == "exercises") return list(request);
  if (command == "exercise") return start(request);
  if (command == "check") return check(request);
  if (command == "hint") return hint(request);
  return solution(request);
}

}  // namespace vitruvian::lessons
