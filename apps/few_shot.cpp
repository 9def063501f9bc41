#include "vitruvian/train/few_shot.hpp"
#include "apps/commands.hpp"
#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/train/seeds.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace vitruvian {
namespace {

struct FewShotFlags {
  FewShotOptions options;
  std::string shots = "1,5,10", seeds = "3";
  bool json = false;
};

void run_few_shot(FewShotFlags flags) {
  FewShotOptions& options = flags.options;
  check_safetensors_name("--out", options.out);
  const std::vector<std::uint64_t> shots = numbers_in("--shots", flags.shots);
  options.shots.assign(shots.begin(), shots.end());
  options.seeds = seeds_of("--seeds", flags.seeds);
  const FewShotResult result = few_shot(options, note);
  if (flags.json) return console::print("{}\n", result.to_json());
  console::print("{}: {} in {}, {}, {}\n", result.dataset,
                 counted(result.test_images, "test image"), counted(result.classes, "class"),
                 counted(result.features, "feature"), counted(options.seeds.size(), "draw"));
  console::print("{:>5}  {:>6}  {:<17}  each\n", "shots", "images", "mean +- deviation");
  for (const FewShotResult::Row& row : result.rows) {
    std::vector<std::string> each;
    for (const double accuracy : row.accuracies)
      each.push_back(fmt::format("{:.2f}", 100 * accuracy));
    console::print("{:>5}  {:>6}  {:<17}  {}\n", row.shots, row.shots * result.classes,
                   percent_text(spread_of(row.accuracies)), joined(each, " "));
  }
  if (!options.out.empty()) console::print("weights  {}\n", options.out);
}

}  // namespace

void add_few_shot(const Parser& app, std::function<void()>& chosen) {
  auto [command, flags] = add_command<FewShotFlags>(
      app, chosen, "few-shot",
      "Read a few images of each class by the features of saved weights: least squares,\n"
      "in closed form, as the paper's section 4.1",
      run_few_shot);
  FewShotOptions& options = flags.options;
  command
      .add_value("--weights", "FILE", options.weights,
                 "safetensors, .npz, .pth, or a run directory")
      .required();
  command.add_value("--dataset", "NAME", options.dataset, "One that `train` knows");
  command.add_value("--data", "DIR", options.data, "The folder with the data set's files");
  command.add_value("--shots", "N[,N]", flags.shots,
                    "Training images of each class, or several numbers of them: 1,5,10");
  command.add_value("--seeds", "N[,N]", flags.seeds,
                    "How many draws of these images, or their seeds: 1,2,3");
  command.add_value("--ridge", "X", options.ridge,
                    "How strongly the weights are held back, for features of variance 1");
  command.add_count("--train-size", options.train_size,
                    "Draw from the first so many training images; 0 means all", 100'000'000);
  command.add_count("--test-size", options.test_size,
                    "Use the first so many test images; 0 means all", 100'000'000);
  command.add_flag("--skip-bad", options.skip_bad,
                   "Leave out files of a folder that cannot be used");
  command.add_value(
      "--out", "FILE", options.out,
      "Write the model with the head of the most shots and the first draw, for eval,\n"
      "predict and train --init --keep-head");
  command.add_flag("--json", flags.json, "Everything as one line of JSON");
  command.add_numbers(
      "--mean", options.mean,
      "Of pixels in [0, 1]: one number, or R,G,B; without: as the weights say, or as\n"
      "the names' project has it");
  command.add_numbers("--std", options.std, "Likewise");
  add_weights_flags(command, options.request);
  add_machine_flags(command);
}

}  // namespace vitruvian
