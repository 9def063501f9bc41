#include "lessons/exercise_check.hpp"

#include "lessons/process.hpp"
#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/error.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <system_error>

namespace vitruvian::lessons {
namespace {

namespace fs = std::filesystem;
using console::visible;

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

std::vector<std::string> lines_of(const fs::path& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

void build_checks_if_needed() {
  const std::string target = "exercise_checks";
  const fs::path program = program_folder() / target;
  std::error_code unknown;
  if (!fs::exists(program, unknown)) return build_target(target, "is not built yet");
  const fs::file_time_type built = fs::last_write_time(program);
  for (const auto& entry :
       fs::directory_iterator(fs::path(VITRUVIAN_SOURCE_DIR) / "lessons/exercises", unknown)) {
    const std::string name = entry.path().filename().string();
    const bool exercise = name.front() >= '0' && name.front() <= '9';  // not part of the program
    if (exercise || !(name.ends_with(".cpp") || name.ends_with(".hpp"))) continue;
    if (entry.last_write_time() > built) return build_target(target, "is older than its source");
  }
}

struct Place {
  std::size_t line = 0;
  std::size_t column = 0;
};

// "FILE:14:9: ..." in what the compiler said: where in the learner's file.
bool names(const std::string& text, const std::string& file, Place& place) {
  const std::size_t at = text.find(file + ":");
  if (at == std::string::npos) return false;
  const std::string rest = text.substr(at + file.size());
  static const std::regex numbers(R"(^:(\d+):(\d+))");
  std::smatch found;
  if (!std::regex_search(rest, found, numbers)) return false;
  place = {std::stoul(found[1]), std::stoul(found[2])};
  return true;
}

struct Complaint {
  std::string text;  // without the place
  Place place;       // line 0: not in the learner's file
  std::size_t count = 0;
};

// The first of a kind (" error: ", " warning: "), and how many there are. One inside a header is
// put where the learner's file led to it.
Complaint first_of(const std::vector<std::string>& said, const std::string& kind,
                   const std::string& file) {
  Complaint result;
  for (std::size_t i = 0; i < said.size(); ++i) {
    const std::size_t at = said[i].find(kind);
    if (at == std::string::npos) continue;
    if (++result.count > 1) continue;
    result.text = said[i].substr(at + kind.size());
    if (names(said[i], file, result.place)) continue;
    for (const std::size_t step : {std::size_t{1}, SIZE_MAX}) {  // clang says it after, g++ before
      for (std::size_t j = i + step; j < said.size() && result.place.line == 0; j += step) {
        if (said[j].find(kind) != std::string::npos) break;
        names(said[j], file, result.place);
      }
    }
  }
  return result;
}

std::string shown(const Complaint& complaint, const fs::path& file, std::string_view kind) {
  const auto [line, column] = complaint.place;
  const std::vector<std::string> source = lines_of(file);
  if (line == 0 || line > source.size()) {
    return fmt::format("{}: {}: {}\n", visible(file.string()), kind, visible(complaint.text));
  }
  std::string text =
      fmt::format("{}, line {}: {}: {}\n{:5} | {}\n", visible(file.string()), line, kind,
                  visible(complaint.text), line, visible(source[line - 1], "\t"));
  // A tab stays a tab, and a code point is one column, though the compiler counts its bytes.
  std::string blanks;
  for (std::size_t i = 0; i + 1 < column && i < source[line - 1].size(); ++i) {
    const auto byte = static_cast<unsigned char>(source[line - 1][i]);
    if (byte == '\t') blanks += '\t';
    if (byte != '\t' && (byte & 0xC0U) != 0x80U) blanks += ' ';
  }
  return text + fmt::format("{:5} | {}^\n", "", blanks);
}

void compile(const fs::path& file, const fs::path& result, const fs::path& messages) {
  const fs::path recorded = program_folder().parent_path() / "lessons/exercises/compiler.txt";
  std::vector<std::string> words;
  for (const std::string& word : lines_of(recorded)) {
    if (!word.empty()) words.push_back(word);
  }
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
  const std::string path = file.string();
  if (code == 0) {
    const Complaint warning = first_of(said, " warning: ", path);
    if (warning.place.line != 0)
      console::print("{}\n", console::raw(shown(warning, file, "warning")));
    return;
  }
  Complaint error = first_of(said, " error: ", path);
  if (error.count == 0) error = first_of(said, " fatal error: ", path);
  if (error.count == 0) {  // not about the source: the linker, or no memory
    const std::string last = said.empty() ? fmt::format("it ended with {}", code) : said.back();
    fail("{} cannot be compiled: {}", path, last);
  }
  console::flush();
  console::print(stderr, "{}", console::raw(shown(error, file, "error")));
  fail("it does not compile yet{}",
       error.count == 1 ? ""
                        : fmt::format(". The first of {} errors is above: the others often follow "
                                      "from it",
                                      error.count));
}

}  // namespace

bool check_exercise(const Exercise& exercise, const fs::path& file, int seconds) {
  build_checks_if_needed();
  const Scratch scratch;
  const fs::path compiled = scratch / "yours.so";
  compile(file, compiled, scratch / "messages");
  const int code = run_program({(program_folder() / "exercise_checks").string(), exercise.name,
                                compiled.string(), std::to_string(seconds)});
  if (code > 1) fail("exercise_checks ended with {}", code);
  return code == 0;
}

}  // namespace vitruvian::lessons
