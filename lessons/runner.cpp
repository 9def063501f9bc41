// lesson: the runner of the course. It finds a lesson, builds its program when that is missing or
// older than its source, and becomes it.

#include "lessons/exercises.hpp"
#include "lessons/process.hpp"
#include "lessons/telling/contents.hpp"
#include "lessons/telling/render.hpp"
#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/error.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace {

using namespace vitruvian;
using namespace vitruvian::lessons;
namespace fs = std::filesystem;

constexpr std::string_view usage =
    R"(usage: lesson list              what there is, and what you have read
       lesson N [FLAG]...       lesson N, by its number or name
       lesson next [FLAG]...    the first that you have not read yet
       lesson N --help          the flags, and the mistakes that N can make on purpose

  --step         wait for Enter after each piece
  --break NAME   make a mistake on purpose, and see which check notices
)";

fs::path source_of(const Entry& entry) { return fs::path(VITRUVIAN_SOURCE_DIR) / entry.source(); }

// --- finding ---------------------------------------------------------------------------------

const Entry& by_number(const std::string& word) {
  const int number = word.size() > 6 ? -1 : std::stoi(word);
  const auto& all = contents();
  if (number < 1 || number > all.back().number) {
    fail(Exit::usage, "there is no lesson {}: they go from 1 to {}; see lesson list", word,
         all.back().number);
  }
  return all[static_cast<std::size_t>(number) - 1];
}

const Entry& by_name(const std::string& word) {
  std::vector<std::string> names;
  for (const Entry& entry : contents()) {
    if (word == entry.name) return entry;
    names.push_back(entry.name);
  }
  fail(Exit::usage, "there is no lesson '{}'; {}", word,
       did_you_mean(word, names, "see lesson list"));
}

const Entry& find(const std::string& word) {
  const bool number =
      std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  return number && !word.empty() ? by_number(word) : by_name(word);
}

const Entry* first_unread() {
  for (const Entry& entry : contents()) {
    if (!is_done(entry)) return &entry;
  }
  return nullptr;
}

// --- listing ---------------------------------------------------------------------------------

void list(bool ascii) {
  std::string text;
  int done = 0;
  const Entry* before = nullptr;
  for (const Entry& entry : contents()) {
    const bool read = is_done(entry);
    done += read ? 1 : 0;
    if (before == nullptr || before->part != entry.part) text += fmt::format("\n{}\n", entry.part);
    before = &entry;
    text += fmt::format("{:4}  {:4}  {:2} min  {}\n{:20}{}\n", entry.number, read ? "done" : "",
                        entry.minutes, entry.title, "", entry.equation);
  }
  text += fmt::format("\n{} of {} done. ", done, contents().size());
  const Entry* const next = first_unread();
  text += next == nullptr ? "You have read them all.\n"
                          : fmt::format("Next: lesson {}\n", next->number);
  console::print("{}", console::raw(ascii ? to_ascii(text) : text));
}

// docs/lessons/README.md
void list_markdown() {
  console::print(
      "# The course\n\n"
      "One program per equation, from a derivative to a trained Vision Transformer. These pages "
      "are\n"
      "what the programs say, written by `scripts/make_pages.sh`; the programs say it in your\n"
      "terminal, wait while you think, and let you break things: `build/bin/lesson 1 --step`.\n");
  const Entry* before = nullptr;
  for (const Entry& entry : contents()) {
    if (before == nullptr || before->part != entry.part) {
      console::print("\n## {}\n\n| | lesson | equation | minutes |\n|---|---|---|---|\n",
                     entry.part);
    }
    before = &entry;
    std::string equation;  // a bar would end the cell, in code too
    for (const char c : entry.equation) equation += c == '|' ? "\\|" : std::string(1, c);
    console::print("| {} | [{}]({}.md) | `{}` | {} |\n", entry.number, entry.title, entry.name,
                   equation, entry.minutes);
  }
}

void check_list_flags(const std::vector<std::string>& words) {
  const std::vector<std::string> flags = {"--ascii", "--markdown"};
  for (const std::string& word : words) {
    if (std::find(flags.begin(), flags.end(), word) != flags.end()) continue;
    fail(Exit::usage, "list: there is no flag '{}'; {}", word, did_you_mean(word, flags));
  }
}

// --- building and becoming -------------------------------------------------------------------

void build_if_needed(const Entry& entry, const fs::path& program) {
  std::error_code ignored;
  const bool missing = !fs::exists(program, ignored);
  if (!missing && fs::last_write_time(program) >= fs::last_write_time(source_of(entry))) return;
  build_target(program.filename().string(),
               missing ? "is not built yet" : "is older than its source");
}

[[noreturn]] void become(const Entry& entry, std::vector<std::string> flags) {
  const fs::path program = program_folder() / ("lesson_" + entry.name);
  build_if_needed(entry, program);
  const fs::path done = done_file(entry);
  std::vector<std::string> words = {program.string()};
  words.insert(words.end(), flags.begin(), flags.end());
  if (!done.empty()) {
    std::error_code told_by_the_lesson;
    fs::create_directories(done.parent_path(), told_by_the_lesson);
    words.insert(words.end(), {"--done-file", done.string()});
  }
  console::flush();
  execv(program.c_str(), pointers(words).data());
  fail("{} cannot be run: {}", program.string(), std::strerror(errno));
}

int run(std::vector<std::string> words) {
  if (words.empty()) words = {"list"};
  const std::string command = words.front();
  const std::vector<std::string> flags(words.begin() + 1, words.end());
  const auto has = [&](std::string_view flag) {
    return std::find(flags.begin(), flags.end(), flag) != flags.end();
  };
  if (command == "--help" || command == "-h" || command == "help") {
    console::print("{}", console::raw(fmt::format("{}{}", usage, exercise_usage())));
  } else if (is_exercise_command(command)) {
    return exercise_command(command, flags);
  } else if (command == "list") {
    check_list_flags(flags);
    has("--markdown") ? list_markdown() : list(has("--ascii"));
  } else if (command == "next") {
    const Entry* const entry = first_unread();
    if (entry == nullptr) {
      console::print("You have read them all. lesson list shows them.\n");
    } else {
      become(*entry, flags);
    }
  } else if (command.starts_with("-")) {
    fail(Exit::usage, "which lesson? Its number comes first: lesson 1 {}", command);
  } else {
    become(find(command), flags);
  }
  return static_cast<int>(Exit::ok);
}

}  // namespace

int main(int argc, char** argv) {
  return console::run("lesson",
                      [&] { return run(std::vector<std::string>(argv + 1, argv + argc)); });
}
