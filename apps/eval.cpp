#include "apps/commands.hpp"
#include "core/console.hpp"
#include "core/parallel.hpp"
#include "train/trainer.hpp"

#include <fmt/format.h>

#include <memory>

namespace vitruvian {

void add_eval(CLI::App& app, std::function<void()>& chosen) {
  auto options = std::make_shared<EvalOptions>();
  CLI::App& command =
      *app.add_subcommand("eval", "Measure saved weights on a data set's test images");
  command.add_option("--weights", options->weights, "A safetensors file, or a run directory")
      ->required()
      ->type_name("FILE");
  add_data_flags(command, *options);
  add_machine_flags(command, *options);
  command.callback([options, &chosen] {
    chosen = [options] {
      if (options->threads != 0) set_threads(options->threads);
      const Evaluation result = either::evaluate(*options);
      if (!result.note.empty()) console::print(stderr, "note: {}\n", result.note);
      console::print("{}: {} test images, loss {:.4f}, accuracy {:.2f} %\n", result.dataset,
                     result.images, result.loss, 100 * result.accuracy);
    };
  });
}

}  // namespace vitruvian
