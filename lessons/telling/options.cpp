#include "apps/command_line.hpp"
#include "lessons/telling/stage.hpp"
#include "vitruvian/core/base/error.hpp"

#include <algorithm>

namespace vitruvian::lessons {
namespace {

void check_break(const std::string& name, const Lesson& lesson) {
  std::vector<std::string> names;
  for (const Break& b : lesson.breaks) names.push_back(b.name);
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  if (names.empty()) fail(Exit::usage, "this lesson has no mistakes to make");
  fail(Exit::usage, "this lesson has no mistake '{}'; {}", name, did_you_mean(name, names));
}

}  // namespace

std::optional<Options> parse_options(int argc, char** argv, const Entry& entry,
                                     const Lesson& lesson) {
  Options o;
  CLI::App app(fmt::format("Lesson {}. {}", entry.number, lesson.title), "lesson_" + entry.name);
  const auto flag = [&](const char* name, bool& value, const char* text) {
    return app.add_flag(name, value, text)->disable_flag_override();
  };
  flag("--step", o.step, "Wait for Enter after each piece");
  flag("--no-input", o.no_input, "Never wait, not even for an answer");
  app.add_option("--width", o.width, "Columns (the terminal's, at most 80)")
      ->check(CLI::Range(20, 1000));
  flag("--plain", o.plain, "No colour");
  flag("--ascii", o.ascii, "No glyph beyond ASCII");
  CLI::Option* const markdown = flag("--markdown", o.markdown, "The lesson as a page");
  flag("--json", o.json, "Its events, one object a line")->excludes(markdown);
  app.add_option("--seed", o.seed, "Of what is drawn at random (1)")->check(CLI::NonNegativeNumber);
  std::string mistakes = "Make a mistake on purpose; a check must fail:";
  for (const Break& b : lesson.breaks) mistakes += fmt::format("\n  {}: {}", b.name, b.what);
  app.add_option("--break", o.broken, mistakes)->group(lesson.breaks.empty() ? "" : "Mistakes");
  flag("--describe", o.describe, "")->group("");
  app.add_option("--fault", o.fault)->group("");
  app.add_option("--done-file", o.done_file)->group("");
  app.add_option("--forms", o.forms)->group("");
  bool parsed = false;
  run_command_line(app, argc, argv, [&] { parsed = true; });
  if (!parsed) return {};
  if (!o.broken.empty()) check_break(o.broken, lesson);
  return o;
}

}  // namespace vitruvian::lessons
