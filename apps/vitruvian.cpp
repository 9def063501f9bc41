// The command line: it parses, calls a room, and prints.

#include "apps/command_line.hpp"
#include "apps/commands.hpp"
#include "vitruvian/core/console.hpp"
#include "vitruvian/core/error.hpp"

namespace {

using namespace vitruvian;

int run(int argc, char** argv) {
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
  add_data(app, command);
  run_command_line(app, argc, argv, [&] {
    if (version) {
      print_version();
    } else if (command) {
      command();
    } else {
      console::print("{}", console::raw(app.help()));
    }
  });
  return static_cast<int>(Exit::ok);
}

}  // namespace

int main(int argc, char** argv) {
  return console::run("vitruvian", [&] { return run(argc, argv); });
}
