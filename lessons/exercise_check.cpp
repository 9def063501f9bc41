// What `lesson check` does: compiles a learner's file, and has it judged.

#include "lessons/complaints.hpp"
#include "lessons/exercises.hpp"
#include "lessons/process.hpp"
#include "lessons/telling/events.hpp"
#include "lessons/telling/source.hpp"
#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/safe_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>
#include <system_error>
#include <utility>

namespace vitruvian::lessons {
namespace {

namespace fs = std::filesystem;

// A folder for what is compiled, gone at the end.
class Scratch {
 public:
  explicit Scratch(const fs::path& where) {
    std::string name = (where / "vitruvian-exercise-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) fail("no folder can be made in {}", where.string());
    path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] std::string operator/(const char* name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

// What the build says about exercises.
fs::path own_folder() { return program_folder().parent_path() / "lessons/exercises"; }

// What the program of the checks is made of: the exercises as well, whose solutions are its own.
std::vector<fs::path> sources_of_checks() {
  std::vector<fs::path> sources;
  for (const auto& entry : fs::directory_iterator(project_path("lessons/exercises"))) {
    if (entry.path().extension() != ".txt") sources.push_back(entry);
  }
  return sources;
}

std::vector<std::string> lines_of(const fs::path& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The first complaint of a kind ("error", "warning") in what the compiler said, one about the
// learner's file where there is one: its line, those below it that begin with a blank, the source
// and what points into it, and what it means. `count` is how many.
std::string first_of(const std::vector<std::string>& said, const std::string& kind,
                     const fs::path& file, std::size_t& count) {
  static const std::regex place(R"(:(\d+):\d+: )");
  const auto complains = [&](const std::string& line) {
    return line.find(kind + ": ") != std::string::npos;
  };
  count = static_cast<std::size_t>(std::count_if(said.begin(), said.end(), complains));
  auto first = std::find_if(said.begin(), said.end(), [&](const std::string& line) {
    return complains(line) && line.starts_with(file.string());
  });
  if (first == said.end()) first = std::find_if(said.begin(), said.end(), complains);
  if (first == said.end()) return "";
  std::string text = std::regex_replace(*first, place, ", line $1: ");
  for (++first; first != said.end() && first->starts_with(' '); ++first) text += "\n" + *first;
  std::string result = console::visible(text, "\n\t") + "\n";
  for (const std::string& line : wrapped(in_other_words(text), 76)) result += "  " + line + "\n";
  return result;
}

// How a learner's file is compiled here: the compiler and its flags.
std::vector<std::string> compiler() {
  const fs::path recorded = own_folder() / "compiler.txt";
  std::vector<std::string> words = lines_of(recorded);
  std::erase(words, "");
  if (words.empty()) {
    fail("{} is missing, which says how files are compiled here: run cmake again",
         recorded.string());
  }
  return words;
}

// Runs a program whose words go to a file. Returns its exit code.
int run_quietly(std::vector<std::string> words, const fs::path& messages) {
  const int log = open(messages.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (log == -1) fail("{} cannot be written", messages.string());
  const int code = run_program(std::move(words), {.output = log, .errors = log});
  close(log);
  return code;
}

// Compiles; what the compiler says goes to a file. Returns its exit code.
int compile(std::vector<std::string> words, const fs::path& messages) {
  setenv("LC_ALL", "C", 1);  // for messages in English and in ASCII, which are read below
  const std::string compiler = words.front();
  words.emplace_back("-fdiagnostics-color=never");
  const int code = run_quietly(std::move(words), messages);
  if (code == not_there) {
    fail("{}, which compiled Vitruvian, is not on this machine any more: scripts/start.sh installs "
         "a compiler and builds with it",
         compiler);
  }
  return code;
}

// Whether a precompiled header is newer than all that it was made of, by the rule for make beside
// it: "target: file file \", over several lines.
bool is_fresh(const fs::path& made, const fs::path& rule) {
  std::error_code gone;
  const fs::file_time_type time = fs::last_write_time(made, gone);
  if (gone) return false;
  std::ifstream in(rule);
  std::string file;
  std::size_t files = 0;
  for (in >> file; in >> file;) {
    if (file == "\\") continue;
    ++files;
    if (fs::last_write_time(file, gone) > time || gone) return false;
  }
  return files > 0 && fs::last_write_time(own_folder() / "compiler.txt", gone) < time;
}

// What the compiler is to include first: a header whose precompiled form takes most of the time off
// a learner's file. That is made at the first check, and whenever a header of the library changes.
std::vector<std::string> precompiled(const std::vector<std::string>& compiler) {
  const fs::path header = own_folder() / "yours.hpp";
  const fs::path made = header.string() + ".gch";
  const fs::path rule = header.string() + ".d";
  std::vector<std::string> include = {"-include", header.string()};
  if (is_fresh(made, rule)) return include;
  if (access(own_folder().c_str(), W_OK) != 0) return {};  // each check takes longer, and no harm
  console::print("The library's headers are compiled, once: ");
  console::flush();
  const auto begin = std::chrono::steady_clock::now();
  write_file_safely(header.string(), "#include \"lessons/exercises/exercise.hpp\"\n");
  const Scratch scratch(own_folder());  // others may be doing the same
  std::vector<std::string> words = compiler;
  words.insert(words.end(), {"-c", "-x", "c++-header", header.string(), "-o", scratch / "made",
                             "-MD", "-MF", scratch / "rule"});
  if (compile(std::move(words), scratch / "messages") == 0) {
    fs::rename(scratch / "rule", rule);
    fs::rename(scratch / "made", made);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  console::print("{:.0f} s\n\n", took.count());
  return include;
}

// Compiles a learner's file, as `compile` does.
int compile_answer(const fs::path& file, const std::string& result, const fs::path& messages) {
  std::vector<std::string> words = compiler();
  const std::vector<std::string> first = precompiled(words);
  words.insert(words.end(), first.begin(), first.end());
  words.insert(words.end(), {"-o", result, file.string()});
  return compile(std::move(words), messages);
}

// The same, and says what the compiler says of it.
void compile_aloud(const fs::path& file, const std::string& result, const fs::path& messages) {
  const int code = compile_answer(file, result, messages);
  const std::vector<std::string> said = lines_of(messages);
  std::size_t count = 0;
  if (code == 0) {
    const std::string warning = first_of(said, "warning", file, count);
    if (count != 0) console::print("{}\n", console::raw(warning));
    return;
  }
  const std::string error = first_of(said, "error", file, count);
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

// The earlier exercises that this one is built on: those that its comment lists behind "Parts:".
std::vector<Exercise> parts_of(const Exercise& exercise) {
  std::vector<Exercise> parts;
  bool listing = false;
  for (std::string line : source_lines(exercise.source())) {
    if (line.starts_with("// Parts:")) {
      listing = true;
      line = "// " + line.substr(9);
    }
    if (!listing) continue;
    if (!line.starts_with("// ")) break;
    std::istringstream words(line.substr(3));
    for (std::string word; words >> word;) {
      parts.push_back(find(exercises(), word, "exercise", "lesson exercises"));
    }
  }
  return parts;
}

// Where an answer is kept, compiled, when its check has agreed.
fs::path kept_answer(const Exercise& exercise) {
  return state_file("exercises", exercise.name + ".so");
}

// A learner whose home cannot be written has ours in their ViT, nothing worse.
void keep_answer(const Exercise& exercise, const fs::path& compiled) {
  const fs::path kept = kept_answer(exercise);
  if (kept.empty()) return;
  std::error_code ignored;
  fs::create_directories(kept.parent_path(), ignored);
  const fs::path aside = kept.string() + ".new";
  fs::copy_file(compiled, aside, fs::copy_options::overwrite_existing, ignored);
  if (!ignored) fs::rename(aside, kept, ignored);
}

// The learner's answer to an earlier exercise as it was when its check agreed, compiled: empty
// where there is none. One that an older program judged is compiled anew from the learner's folder,
// and judged: the file may have changed since.
fs::path answer_to(const Exercise& part, const fs::path& folder, const fs::path& scratch) {
  if (!is_done(part)) return {};
  const fs::path kept = kept_answer(part);
  std::error_code gone;
  const auto judged = fs::last_write_time(kept, gone);
  if (!gone && judged > fs::last_write_time(program_folder() / "exercise_checks", gone))
    return kept;
  const fs::path file = with_or_without_number(folder / (part.name + ".cpp"));
  if (!fs::exists(file, gone)) return {};
  console::print("Your answer to exercise {} is judged again, as Vitruvian has changed.\n",
                 part.name);
  const std::string compiled = (scratch / (part.name + ".so")).string();
  const fs::path messages = scratch / "messages";
  const std::string judge = (program_folder() / "exercise_checks").string();
  if (compile_answer(file, compiled, messages) != 0 ||
      run_quietly({judge, part.name, compiled, "10"}, messages) != 0) {
    console::print("It no longer agrees: lesson check {}\n", part.name);
    return {};
  }
  keep_answer(part, compiled);
  return compiled;
}

// What is handed to the checks of an exercise that earlier ones are built into; says whose they
// are.
std::vector<std::string> earlier_answers(const Exercise& exercise, const fs::path& folder,
                                         const fs::path& scratch) {
  std::vector<std::string> answers, yours, ours;
  for (const Exercise& part : parts_of(exercise)) {
    const fs::path answer = answer_to(part, folder, scratch);
    if (!answer.empty()) answers.push_back(part.name + "=" + answer.string());
    (answer.empty() ? ours : yours).push_back(part.name);
  }
  std::string text;
  if (!yours.empty()) text += fmt::format("Yours in it: {}.\n", joined(yours));
  if (!ours.empty()) text += fmt::format("Ours, until yours are done: {}.\n", joined(ours));
  for (const std::string& line : wrapped(text, 78)) console::print("{}\n", line);
  if (!text.empty()) console::print("\n");
  return answers;
}

}  // namespace

bool check_exercise(const Exercise& exercise, const fs::path& file, int seconds, bool ascii) {
  build_if_needed("exercise_checks", sources_of_checks());
  const Scratch scratch(fs::temp_directory_path());
  const std::string compiled = scratch / "yours.so";
  compile_aloud(file, compiled, scratch / "messages");
  std::vector<std::string> words = {(program_folder() / "exercise_checks").string(), exercise.name,
                                    compiled, std::to_string(seconds)};
  if (ascii) words.emplace_back("--ascii");
  const fs::path folder = scratch / "";
  for (const std::string& answer : earlier_answers(exercise, file.parent_path(), folder)) {
    words.push_back(answer);
  }
  const int code = run_program(std::move(words));
  if (code == 128 + SIGPIPE) throw ReaderLeft();
  if (code > 1) fail("exercise_checks ended with {}", code);
  if (code == 0) keep_answer(exercise, compiled);
  return code == 0;
}

}  // namespace vitruvian::lessons
