#include "apps/commands.hpp"
#include "vitruvian/core/console.hpp"
#include "vitruvian/core/parallel.hpp"
#include "vitruvian/report/confusion.hpp"
#include "vitruvian/train/trainer.hpp"

#include <fmt/format.h>

#include <memory>

namespace vitruvian {

void add_eval(CLI::App& app, std::function<void()>& chosen) {
  struct Flags {
    EvalOptions options;
    bool json = false;
  };
  auto flags = std::make_shared<Flags>();
  EvalOptions& options = flags->options;
  CLI::App& command = *app.add_subcommand("eval", "Measure saved weights on test images");
  command.add_option("--weights", options.weights, "A safetensors file, or a run directory")
      ->required()
      ->type_name("FILE");
  command
      .add_option("--dataset", options.dataset,
                  "One that `train` knows; without: what the weights were trained on")
      ->type_name("NAME");
  command
      .add_option("--data", options.data,
                  "The folder with the data set's files; without: where the run found them")
      ->type_name("DIR");
  add_count(command, "--test-size", options.test_size,
            "Use the first so many test images; 0 means all; without: as the run did", 100'000'000);
  command.add_flag("--skip-bad", options.skip_bad,
                   "Leave out files of a folder that cannot be used");
  command.add_flag("--json", flags->json, "Everything as one line of JSON");
  add_machine_flags(command, options);
  command.callback([flags, &chosen] {
    chosen = [flags] {
      if (flags->options.threads != 0) set_threads(flags->options.threads);
      const Evaluation result = either::evaluate(flags->options);
      if (!result.note.empty()) console::print(stderr, "note: {}\n", result.note);
      if (flags->json) {
        console::print("{}\n", to_json(result));
        return;
      }
      console::print("{}: {} test images, loss {:.4f}, accuracy {:.2f} %\n", result.dataset,
                     result.predictions.size(), result.loss, 100 * result.accuracy);
      console::print("{}",
                     console::raw(to_text(confusion_of(result.predictions), result.class_names)));
    };
  });
}

}  // namespace vitruvian
