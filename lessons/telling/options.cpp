#include "lessons/telling/options.hpp"

#include "vitruvian/core/base/error.hpp"

#include <charconv>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>

namespace vitruvian::lessons {
namespace {

std::uint64_t number(std::string_view flag, std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    fail(Exit::usage, "{} takes a whole number, not '{}'", flag, text);
  }
  return value;
}

void check_break(const std::string& name, const Lesson& lesson) {
  std::vector<std::string> names;
  for (const Break& b : lesson.breaks) {
    if (b.name == name) return;
    names.push_back(b.name);
  }
  if (names.empty()) fail(Exit::usage, "this lesson has no mistakes to make");
  fail(Exit::usage, "this lesson has no mistake '{}'; {}", name, did_you_mean(name, names));
}

}  // namespace

Options parse_options(int argc, char** argv, const Lesson& lesson) {
  Options options;
  const std::vector<std::pair<std::string, bool*>> switches = {
      {"--step", &options.step},         {"--ascii", &options.ascii},
      {"--plain", &options.plain},       {"--json", &options.json},
      {"--markdown", &options.markdown}, {"--no-input", &options.no_input},
      {"--help", &options.help},         {"--describe", &options.describe}};
  std::string width;
  std::string seed;
  const std::vector<std::pair<std::string, std::string*>> values = {
      {"--break", &options.broken},
      {"--width", &width},
      {"--seed", &seed},
      {"--fault", &options.fault},
      {"--done-file", &options.done_file},
      {"--forms", &options.forms}};

  for (int i = 1; i < argc; ++i) {
    std::string_view flag = argv[i];
    std::string_view value;
    const std::size_t equals = flag.find('=');
    const bool joined = flag.starts_with("--") && equals != std::string_view::npos;
    if (joined) {
      value = flag.substr(equals + 1);
      flag = flag.substr(0, equals);
    }
    if (flag == "-h") flag = "--help";
    bool known = false;
    std::vector<std::string> names;
    for (const auto& [name, target] : switches) {
      names.push_back(name);
      if (name != flag || joined) continue;
      *target = known = true;
    }
    for (const auto& [name, target] : values) {
      names.push_back(name);
      if (name != flag) continue;
      known = true;
      if (!joined && ++i == argc) fail(Exit::usage, "{} needs a value", name);
      *target = joined ? value : std::string_view(argv[i]);
    }
    if (known) continue;
    fail(Exit::usage, "there is no flag '{}'; {}", flag, did_you_mean(flag, names, "see --help"));
  }
  if (!width.empty()) {
    options.width = number("--width", width);
    if (options.width < 20) fail(Exit::usage, "--width {} is too narrow: at least 20", width);
  }
  if (!seed.empty()) options.seed = number("--seed", seed);
  if (options.json && options.markdown)
    fail(Exit::usage, "--json and --markdown exclude each other");
  if (!options.broken.empty()) check_break(options.broken, lesson);
  return options;
}

std::string help_text(const Lesson& lesson) {
  std::string text = "  --step         wait for Enter after each piece\n"
                     "  --no-input     never wait, not even for an answer\n"
                     "  --width N      columns (the terminal's, at most 80)\n"
                     "  --plain        no colour\n"
                     "  --ascii        no glyph beyond ASCII\n"
                     "  --markdown     the lesson as a page\n"
                     "  --json         its events, one object a line\n"
                     "  --seed N       of what is drawn at random (1)\n"
                     "  --help         this text\n";
  if (!lesson.breaks.empty())
    text += "  --break NAME   make a mistake on purpose; a check must fail:\n";
  for (const Break& b : lesson.breaks) text += fmt::format("      {:24} {}\n", b.name, b.what);
  return text;
}

}  // namespace vitruvian::lessons
