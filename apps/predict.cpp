#include "vitruvian/train/predict.hpp"
#include "apps/commands.hpp"
#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/report/confusion.hpp"
#include "vitruvian/train/trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace vitruvian {
namespace {

void print(const Prediction& prediction) {
  console::print("{}\n", prediction.image);
  std::size_t longest = 0;
  for (const Guess& guess : prediction.guesses) longest = std::max(longest, guess.name.size());
  for (const Guess& guess : prediction.guesses) {
    console::print("  {:6.2f} %  {:>5}{}{}\n", 100 * guess.probability, guess.index,
                   longest == 0 ? "" : "  ", guess.name);
  }
}

struct PredictFlags {
  PredictOptions options;
  bool json = false;
};

void run_predict(const PredictFlags& flags) {
  const PredictOptions& options = flags.options;
  const bool json = flags.json;
  std::string error;
  std::size_t failed = 0;
  const bool several = options.images.size() > 1;
  const auto note = [](const std::string& text) { console::print(stderr, "note: {}\n", text); };
  const auto predicted = [&](const Prediction& prediction) {
    if (json && (several || prediction.error.empty())) console::print("{}\n", prediction.to_json());
    if (!json && prediction.error.empty()) print(prediction);
    console::flush();
    if (prediction.error.empty()) return;
    ++failed;
    error = prediction.error;
    if (several) console::print(stderr, "vitruvian: {}\n", prediction.error);
  };
  predict(options, {note, predicted});
  if (failed == 0) return;
  if (!several) fail(Exit::data, "{}", error);
  fail(Exit::data, "{} of {} pictures could not be read", failed, options.images.size());
}

struct EvalFlags {
  EvalOptions options;
  bool json = false;
};

void run_eval(const EvalFlags& flags) {
  const Evaluation result = evaluate(flags.options);
  if (!result.note.empty()) console::print(stderr, "note: {}\n", result.note);
  if (flags.json) return console::print("{}\n", to_json(result));
  console::print("{}: {} test images, loss {:.4f}, accuracy {:.2f} %\n", result.dataset,
                 result.predictions.size(), result.loss, 100 * result.accuracy);
  console::print("{}", console::raw(to_text(confusion_of(result.predictions), result.class_names)));
}

}  // namespace

void add_eval(CLI::App& app, std::function<void()>& chosen) {
  auto [command, flags] =
      add_command<EvalFlags>(app, chosen, "eval", "Measure saved weights on test images", run_eval);
  EvalOptions& options = flags.options;
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
  command.add_flag("--json", flags.json, "Everything as one line of JSON");
  add_machine_flags(command);
}

void add_predict(CLI::App& app, std::function<void()>& chosen) {
  auto [command, flags] =
      add_command<PredictFlags>(app, chosen, "predict", "Say what pictures show", run_predict);
  PredictOptions& options = flags.options;
  command.add_option("--weights", options.weights, "safetensors, .npz, .pth, or a run directory")
      ->required()
      ->type_name("FILE");
  command.add_option("images", options.images, "PNG, JPEG, PGM or PPM")
      ->required()
      ->type_name("IMAGE");
  command.add_option("--labels", options.labels, "Names of the classes, one a line")
      ->type_name("FILE");
  add_count(command, "--top", options.top, "How many classes to print")->capture_default_str();
  command.add_flag("--json", flags.json, "One line of JSON a picture");
  add_picture_flags(command, options);
  add_weights_flags(command, options.request);
  add_machine_flags(command);
}

}  // namespace vitruvian
