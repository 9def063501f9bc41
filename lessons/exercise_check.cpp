// What `lesson check` does: compiles a learner's file, and has it judged.

#include "lessons/exercises.hpp"
#include "lessons/process.hpp"
#include "lessons/telling/source.hpp"
#include "vitruvian/core/base/console.hpp"

#include <fcntl.h>

#include <cstdlib>
#include <fstream>
#include <regex>
#include <system_error>

namespace vitruvian::lessons {
namespace {

namespace fs = std::filesystem;

// A folder for what is compiled, gone at the end.
class Scratch {
 public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "vitruvian-exercise-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) fail("no folder can be made in {}", name);
    path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] fs::path operator/(const char* name) const { return path_ / name; }

 private:
  fs::path path_;
};

// What the program of the checks is made of: all but the exercises themselves.
std::vector<fs::path> sources_of_checks() {
  std::vector<fs::path> sources;
  for (const auto& entry : fs::directory_iterator(project_path("lessons/exercises"))) {
    const bool exercise = std::any_of(
        exercises().begin(), exercises().end(),
        [&](const Exercise& one) { return entry.path().filename() == one.name + ".cpp"; });
    if (!exercise && entry.path().extension() != ".txt") sources.push_back(entry);
  }
  return sources;
}

std::vector<std::string> lines_of(const fs::path& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The first complaint of a kind ("error", "warning") in what the compiler said: its line, and those
// below it that begin with a blank, the source and what points into it. `count` is how many.
std::string first_of(const std::vector<std::string>& said, const std::string& kind,
                     std::size_t& count) {
  static const std::regex place(R"(:(\d+):\d+: )");
  std::string text;
  count = 0;
  for (std::size_t i = 0; i < said.size(); ++i) {
    if (said[i].find(kind + ": ") == std::string::npos || ++count > 1) continue;
    text = std::regex_replace(said[i], place, ", line $1: ");
    for (std::size_t j = i + 1; j < said.size() && said[j].starts_with(' '); ++j) {
      text += "\n" + said[j];
    }
  }
  return console::visible(text, "\n\t") + "\n";
}

void compile(const fs::path& file, const fs::path& result, const fs::path& messages) {
  const fs::path recorded = program_folder().parent_path() / "lessons/exercises/compiler.txt";
  std::vector<std::string> words = lines_of(recorded);
  std::erase(words, "");
  if (words.empty()) {
    fail("{} is missing, which says how files are compiled here: run cmake again",
         recorded.string());
  }
  const std::string compiler = words.front();
  words.insert(words.end(), {"-fdiagnostics-color=never", "-o", result.string(), file.string()});
  setenv("LC_ALL", "C", 1);  // for messages in English and in ASCII, which are read below
  const int log = open(messages.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (log == -1) fail("{} cannot be written", messages.string());
  const int code = run_program(words, {.output = log, .errors = log});
  close(log);
  if (code == not_there) {
    fail("{}, which compiled Vitruvian, is not on this machine any more: scripts/start.sh installs "
         "a compiler and builds with it",
         compiler);
  }
  const std::vector<std::string> said = lines_of(messages);
  std::size_t count = 0;
  if (code == 0) {
    const std::string warning = first_of(said, "warning", count);
    if (count != 0) console::print("{}\n", console::raw(warning));
    return;
  }
  const std::string error = first_of(said, "error", count);
  if (count == 0) {  // not about the source: the linker, or no memory
    fail("{} cannot be compiled: {}", file.string(),
         said.empty() ? fmt::format("it ended with {}", code) : said.back());
  }
  console::flush();
  console::print(stderr, "{}", console::raw(error));
  if (count == 1) fail("it does not compile yet");
  fail("it does not compile yet. The first of {} errors is above: the others often follow from it",
       count);
}

}  // namespace

bool check_exercise(const Exercise& exercise, const fs::path& file, int seconds) {
  build_if_needed("exercise_checks", sources_of_checks());
  const Scratch scratch;
  const fs::path compiled = scratch / "yours.so";
  compile(file, compiled, scratch / "messages");
  const int code = run_program({(program_folder() / "exercise_checks").string(), exercise.name,
                                compiled.string(), std::to_string(seconds)});
  if (code > 1) fail("exercise_checks ended with {}", code);
  return code == 0;
}

}  // namespace vitruvian::lessons
