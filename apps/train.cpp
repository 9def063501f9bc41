#include "apps/commands.hpp"
#include "core/parallel.hpp"
#include "train/progress.hpp"
#include "train/trainer.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>

namespace vitruvian {
namespace {

// What the user said; the rest is the data set's own default.
struct Flags {
  TrainOptions options;
  std::optional<std::size_t> P, D, L, h, M, epochs, batch_size;
  std::optional<double> lr, dropout, attention_dropout;
};

TrainOptions settle(const Flags& flags) {
  const auto keep = [](auto& setting, const auto& said) {
    if (said) setting = *said;
  };
  const TrainOptions defaults = default_options(flags.options.dataset);
  TrainOptions result = flags.options;
  result.model = defaults.model;
  result.epochs = defaults.epochs;
  result.batch_size = defaults.batch_size;
  result.lr = defaults.lr;
  keep(result.model.P, flags.P);
  keep(result.model.D, flags.D);
  keep(result.model.L, flags.L);
  keep(result.model.h, flags.h);
  if (flags.D) result.model.M = 4 * *flags.D;  // the paper's proportion
  keep(result.model.M, flags.M);
  keep(result.model.dropout, flags.dropout);
  keep(result.model.attention_dropout, flags.attention_dropout);
  keep(result.epochs, flags.epochs);
  keep(result.batch_size, flags.batch_size);
  keep(result.lr, flags.lr);
  return result;
}

void run(const Flags& flags) {
  const TrainOptions options = settle(flags);
  options.validate();
  if (options.threads != 0) set_threads(options.threads);
  print_machine(options.precision);
  Progress progress;
  const RunResult result = train(options, progress);
  fmt::print("test accuracy {:.2f} % in {}\n", 100 * result.last.test_accuracy,
             clock_time(result.seconds));
  if (!result.weights.empty()) fmt::print("weights  {}\n", result.weights);
}

}  // namespace

void add_train(CLI::App& app, std::function<void()>& chosen) {
  auto flags = std::make_shared<Flags>();
  TrainOptions& options = flags->options;
  CLI::App& command = *app.add_subcommand("train", "Train a Vision Transformer");
  add_data_flags(command, options);
  add_count(command, "--train-size", options.train_size,
            "Use the first so many training images; 0 means all");
  command
      .add_option("--out", options.out,
                  "The run directory: config.json, metrics.jsonl, model.safetensors, report.html")
      ->type_name("DIR");

  const std::string run_group = "The run (defaults depend on the data set)";
  add_count(command, "--epochs", flags->epochs, "Passes over the training images")
      ->group(run_group);
  add_count(command, "--batch-size", flags->batch_size, "Images of a step")->group(run_group);
  add_count(command, "--micro-batch", options.micro_batch,
            "Images that a thread carries through the net at once; the gradients are summed. 0\n"
            "means as many as suit the model")
      ->group(run_group);
  command
      .add_flag("--composed", options.composed,
                "Compute with the readable twins of the fused ops: slower, equal to rounding")
      ->group(run_group);
  command.add_option("--lr", flags->lr, "The highest learning rate")->group(run_group);
  command.add_option("--warmup", options.warmup, "The share of the steps in which it rises from 0")
      ->capture_default_str()
      ->group(run_group);
  command.add_option("--weight-decay", options.weight_decay, "AdamW's, on weight matrices only")
      ->capture_default_str()
      ->group(run_group);
  command.add_option("--clip", options.clip, "The largest norm of a gradient; 0 means none")
      ->capture_default_str()
      ->group(run_group);
  command
      .add_option("--label-smoothing", options.label_smoothing, "The share spread over all classes")
      ->capture_default_str()
      ->group(run_group);
  add_count(command, "--seed", options.seed, "Of the weights, the order of the images, and dropout")
      ->capture_default_str()
      ->group(run_group);
  add_machine_flags(command, options);
  command
      .add_flag("--profile", options.profile,
                "Run the fourth step on one thread and print its time, bytes and GFLOP/s by op\n"
                "and by module; the run goes on, with the results that it has without")
      ->group(run_group);

  const std::string model_group = "The model (defaults depend on the data set)";
  add_count(command, "--patch-size", flags->P, "P, the side of a patch")->group(model_group);
  add_count(command, "--width", flags->D, "D, the length of a token")->group(model_group);
  add_count(command, "--depth", flags->L, "L, encoder blocks")->group(model_group);
  add_count(command, "--heads", flags->h, "h, attention heads")->group(model_group);
  add_count(command, "--mlp-width", flags->M, "M, hidden width of the MLP; 4 D unless given")
      ->group(model_group);
  command.add_option("--dropout", flags->dropout, "At the paper's places")->group(model_group);
  command
      .add_option("--attention-dropout", flags->attention_dropout, "Of the attention probabilities")
      ->group(model_group);
  command.callback([flags, &chosen] { chosen = [flags] { run(*flags); }; });
}

}  // namespace vitruvian
