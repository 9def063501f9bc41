// The command line: it parses, calls a room, and prints.

#include "apps/command_line.hpp"
#include "apps/commands.hpp"

#include <fmt/format.h>

int main(int argc, char** argv) {
  using namespace vitruvian;
  CLI::App app("Vitruvian: a Vision Transformer drawn from first principles", "vitruvian");
  app.require_subcommand(0, 1);
  app.footer("'vitruvian COMMAND --help' tells the flags of a command.");
  bool version = false;
  app.add_flag("--version", version, "Versions, and what this program runs on");
  std::function<void()> command;
  add_train(app, command);
  add_eval(app, command);
  add_models(app, command);
  add_predict(app, command);
  add_inspect(app, command);
  add_convert(app, command);
  add_trace(app, command);
  add_report(app, command);
  add_compare(app, command);
  return run_command_line(app, argc, argv, [&] {
    if (version) {
      print_version();
    } else if (command) {
      command();
    } else {
      fmt::print("{}", app.help());
    }
  });
}
