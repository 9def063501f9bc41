#include "vitruvian/train/predict.hpp"
#include "apps/commands.hpp"
#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/safe_file.hpp"
#include "vitruvian/datasets/dataset.hpp"
#include "vitruvian/report/confusion.hpp"
#include "vitruvian/report/figure.hpp"
#include "vitruvian/train/run/run_directory.hpp"
#include "vitruvian/train/trainer.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace vitruvian {
namespace {

void print(const Prediction& prediction) {
  console::print("{}\n", prediction.image);
  for (const Guess& guess : prediction.guesses) {
    console::print("  {:6.2f} %  {:>5}{}{}\n", 100 * guess.probability, guess.index,
                   guess.name.empty() ? "" : "  ", guess.name);
  }
}

struct PredictFlags {
  PredictOptions options;
  bool json = false;
  std::string features, logits;  // files to write
};

constexpr std::size_t most_told = 5;  // pictures that cannot be read, each in a line

using Rows = std::vector<std::pair<std::string, std::vector<double>>>;  // of pictures

// The names of the pictures, beside their numbers in `file`.
std::string names_beside(const std::string& file) {
  return file.substr(0, file.size() - 4) + ".txt";
}

// A row for each picture: as .npy (pictures, numbers), with the pictures' names beside it, a line
// each; or as JSON.
void write_rows(const std::string& path, const char* what, const Rows& rows) {
  const std::size_t width = rows.empty() ? 0 : rows.front().second.size();
  if (path.ends_with(".npy")) {
    Numbers numbers{{rows.size(), width}, {}};
    std::string names;
    for (const auto& [picture, row] : rows) {
      numbers.values.insert(numbers.values.end(), row.begin(), row.end());
      names += console::visible(picture) + "\n";
    }
    write_file_safely(path, npy_of(numbers));
    write_file_safely(names_beside(path), names);
  } else {
    std::vector<std::string> objects;
    for (const auto& [picture, row] : rows) {
      objects.push_back(numbers_to_json(picture, what, row));
    }
    write_file_safely(path, fmt::format("[{}]\n", joined(objects, ",\n ")));
  }
  console::print("{}: {} of {}, {} each\n", path, what, counted(rows.size(), "picture"),
                 counted(width, "number"));
}

// What can be known before the work: a text that lies there alone is the user's.
void check_numbers(const std::string& file) {
  if (!file.ends_with(".npy") && !file.ends_with(".json")) {
    fail(Exit::usage, "{}: numbers are written to a file NAME.npy or NAME.json", file);
  }
  check_no_file_of_run(file);
  check_can_write(file);
  if (!file.ends_with(".npy")) return;
  const std::string names = names_beside(file);
  namespace fs = std::filesystem;
  if (fs::exists(names) && !fs::exists(file)) {
    fail(Exit::usage, "{} is there already, and would get the pictures' names: choose another NAME",
         names);
  }
  check_can_write(names);
}

void run_predict(PredictFlags flags) {
  PredictOptions& options = flags.options;
  const auto place = [](const std::string& file) {
    return std::filesystem::absolute(file).lexically_normal();
  };
  if (!flags.features.empty() && !flags.logits.empty() &&
      place(flags.features) == place(flags.logits)) {
    fail(Exit::usage, "--features and --logits are two files, not {} for both", flags.logits);
  }
  for (const std::string& file : {flags.features, flags.logits}) {
    if (file.empty()) continue;
    options.numbers = true;
    if (!options.labels.empty() && place(names_beside(file)) == place(options.labels)) {
      fail(Exit::usage,
           "{} would get the pictures' names, and --labels reads it: another NAME.npy?",
           options.labels);
    }
    check_numbers(file);
  }
  options.images = pictures_of(options.images);
  std::string error;
  std::size_t failed = 0;
  std::size_t done = 0;
  Rows features;
  Rows logits;
  const bool several = options.images.size() > 1;
  const bool bar = options.numbers && several && console::terminal_of(stdout).there;
  const auto predicted = [&](const Prediction& prediction) {
    ++done;
    if (bar) console::print("\r\033[K{} of {} pictures", done, options.images.size());
    if (bar && done == options.images.size()) console::print("\r\033[K");
    if (options.numbers && prediction.error.empty()) {
      features.emplace_back(prediction.image, prediction.features);
      logits.emplace_back(prediction.image, prediction.logits);
    } else {
      if (flags.json && (several || prediction.error.empty())) {
        console::print("{}\n", prediction.to_json());
      }
      if (!flags.json && prediction.error.empty()) print(prediction);
    }
    console::flush();
    if (prediction.error.empty()) return;
    ++failed;
    error = prediction.error;
    // A folder may be full of what is no picture.
    if (several && failed <= most_told) console::print(stderr, "vitruvian: {}\n", error);
  };
  predict(options, {note, predicted});
  if (!flags.logits.empty() && !logits.empty() && logits.front().second.empty()) {
    fail(Exit::usage, "{}: it has no head, and so no logits; --features has what it sees",
         options.weights);
  }
  if (!flags.features.empty() && failed < done) write_rows(flags.features, "features", features);
  if (!flags.logits.empty() && failed < done) write_rows(flags.logits, "logits", logits);
  if (failed == 0) return;
  if (failed > most_told) console::print(stderr, "vitruvian: and {} more\n", failed - most_told);
  if (!several) fail(Exit::data, "{}", error);
  fail(Exit::data, "{} of {} pictures could not be read", failed, options.images.size());
}

struct EvalFlags {
  EvalOptions options;
  bool json = false;
};

void run_eval(const EvalFlags& flags) {
  const Evaluation result = evaluate(flags.options);
  if (!result.note.empty()) note(result.note);
  if (flags.json) return console::print("{}\n", to_json(result));
  console::print("{}: {} test images, loss {:.4f}, accuracy {:.2f} %\n", result.dataset,
                 result.images, result.loss, 100 * result.accuracy);
  console::print("{}", console::raw(to_text(confusion_of(result.predictions), result.class_names)));
}

}  // namespace

void add_eval(const Parser& app, std::function<void()>& chosen) {
  auto [command, flags] =
      add_command<EvalFlags>(app, chosen, "eval", "Measure saved weights on test images", run_eval);
  EvalOptions& options = flags.options;
  command.add_value("--weights", "FILE", options.weights, "A safetensors file, or a run directory")
      .required();
  command
      .add_value("--dataset", "NAME", options.dataset,
                 "One that `train` knows; without: what the weights were trained on")
      .offers(dataset_names());
  command.add_value("--data", "DIR", options.data,
                    "The folder with the data set's files; without: where the run found them");
  command.add_count("--test-size", options.test_size,
                    "Use the first so many test images; 0 means all; without: as the run did",
                    100'000'000);
  command.add_flag("--skip-bad", options.skip_bad,
                   "Leave out files of a folder that cannot be used");
  command.add_flag("--json", flags.json, "Everything as one line of JSON");
  add_machine_flags(command);
}

void add_predict(const Parser& app, std::function<void()>& chosen) {
  auto [command, flags] =
      add_command<PredictFlags>(app, chosen, "predict", "Say what pictures show", run_predict);
  PredictOptions& options = flags.options;
  command
      .add_value("--weights", "FILE", options.weights,
                 "safetensors, .npz, .pth, or a run directory")
      .required();
  command
      .add_value("images", "IMAGE", options.images,
                 "PNG, JPEG, PGM or PPM, or a folder of such, at any depth")
      .required();
  command.add_value("--labels", "FILE", options.labels, "Names of the classes, one a line");
  command.add_count("--top", options.top, "How many classes to print: probability, number, name",
                    most_counted, 1);
  command.add_flag("--json", flags.json, "One line of JSON a picture");
  const std::string numbers = "Numbers instead of classes, of all pictures in one file";
  command
      .add_value("--features", "FILE", flags.features,
                 "y, what the head sees, as .npy (with the pictures' names in a .txt beside it)\n"
                 "or .json; of models without a head, too")
      .group(numbers);
  command.add_value("--logits", "FILE", flags.logits, "What the head makes of it, likewise")
      .group(numbers);
  add_picture_flags(command, options);
  add_weights_flags(command, options.request);
  add_machine_flags(command);
}

}  // namespace vitruvian
