// lesson check N --watch: judges again whenever the learner's file changes.

#include "lessons/exercises.hpp"
#include "lessons/process.hpp"
#include "vitruvian/core/base/console.hpp"

#include <poll.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

namespace vitruvian::lessons {
namespace {

namespace fs = std::filesystem;

// What tells whether a file has changed. An editor may take it away for a moment: nothing then.
using Stamp = std::pair<fs::file_time_type, std::uintmax_t>;

Stamp stamp_of(const fs::path& file) {
  std::error_code gone;
  const Stamp stamp = {fs::last_write_time(file, gone), fs::file_size(file, gone)};
  return gone ? Stamp() : stamp;
}

// All that `lesson WORDS...` says.
std::string said_by(std::vector<std::string> words) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> out(std::tmpfile(), std::fclose);
  if (out == nullptr) fail("no file can be made for what is said");
  words.insert(words.begin(), (program_folder() / "lesson").string());
  run_program(std::move(words), {.output = fileno(out.get()), .errors = fileno(out.get())});
  std::rewind(out.get());
  std::string text;
  for (int c = 0; (c = std::fgetc(out.get())) != EOF;) text += static_cast<char>(c);
  return text;
}

void show(const std::string& text) {
  console::write_out(text);
  console::flush();
}

// In place of what was there before, in one piece, so that nothing flickers.
void show_anew(const std::string& text) {
  const char* const terminal = std::getenv("TERM");
  const bool plain = terminal == nullptr || std::string_view(terminal) == "dumb";
  show((plain ? "\n" : "\x1b[H\x1b[J") + text);
}

// What was typed before Enter, 'q' where nothing more can come; 0 when the file has changed.
char key_or_change(const fs::path& file, const Stamp& before) {
  for (;;) {
    pollfd keys = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    if (poll(&keys, 1, 250) > 0) {
      char typed[256];
      return read(STDIN_FILENO, typed, sizeof typed) > 0 ? typed[0] : 'q';
    }
    const Stamp now = stamp_of(file);
    if (now != before && now != Stamp()) return 0;
  }
}

}  // namespace

void watch_exercise(const fs::path& file, const std::vector<std::string>& check,
                    const std::vector<std::string>& hint) {
  if (!console::terminal_of(stdin).there || !console::terminal_of(stdout).there) {
    fail(Exit::usage,
         "--watch waits at a terminal for your file to change, and this is none: without "
         "it your file is judged once");
  }
  constexpr const char* keys =
      "\nSave the file, and it is judged again. [Enter] again  [h]int  [q]uit ";
  for (int times = 1;; ++times) {
    const Stamp stamp = stamp_of(file);
    if (times == 1) show("Judging " + console::visible(file.string()) + " ...\n");
    std::string text = said_by(check);
    if (times > 1) text += fmt::format("\nJudged {} times.", times);  // or nothing seems to happen
    show_anew(text + keys);
    char key = 0;
    while ((key = key_or_change(file, stamp)) == 'h') show_anew(text + "\n" + said_by(hint) + keys);
    if (key == 'q') return;
    show("\nJudging ...");
  }
}

}  // namespace vitruvian::lessons
