#include "apps/commands.hpp"
#include "apps/train_seeds.hpp"
#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/wrapping.hpp"
#include "vitruvian/datasets/dataset.hpp"
#if VITRUVIAN_HAS_MPI
#include "vitruvian/mpi/mpi_ranks.hpp"
#endif
#include "vitruvian/report/progress.hpp"
#include "vitruvian/report/report.hpp"
#include "vitruvian/train/run/stop.hpp"
#include "vitruvian/train/seeds.hpp"
#include "vitruvian/train/settings/settings.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace vitruvian {
namespace {

// What the user said; the rest is the data set's own default.
struct Flags {
  SettingSources said;
  std::string out, resume, seeds;
  bool print_recipe = false, sanity = false, profile = false, anomaly = false;
  bool overwrite = false, quiet = false;
};

// What a run wants to be known all the same goes to standard error.
class Quiet : public Observer {
  void noted(const std::string& sentence) override { note(sentence); }
};

void list_recipes() {
  for (const Recipe& recipe : recipes()) {
    console::print("{}\n",
                   console::entry(stdout, fmt::format("{:20} ", recipe.name), recipe.about));
  }
}

void check_seeds(const Flags& flags) {
  if (!flags.resume.empty()) {
    fail(Exit::usage,
         "--resume goes on with one run; the command that began the runs of --seeds goes on with "
         "them");
  }
  if (flags.said.flags.contains("seed")) fail(Exit::usage, "--seed or --seeds: which?");
  if (flags.sanity) fail(Exit::usage, "--sanity trains nothing: --seed, not --seeds");
  if (flags.out.empty()) {
    fail(Exit::usage, "--seeds needs --out DIR, in which each run has a folder");
  }
}

TrainOptions resolve_settings(const Flags& flags) {
  const bool resumes = !flags.resume.empty();
  if (resumes && (!flags.said.recipe.empty() || !flags.said.config.empty() || !flags.out.empty() ||
                  flags.overwrite)) {
    fail(Exit::usage,
         "--resume goes on with a run as it is: no --recipe, --config, --out or --overwrite");
  }
  if (!flags.seeds.empty()) check_seeds(flags);
  if (flags.overwrite && flags.out.empty()) {
    fail(Exit::usage, "--overwrite needs --out DIR: without it a run has a new folder");
  }
  TrainOptions options = resumes ? resumed_settings(flags.resume, flags.said)
                                 : vitruvian::resolve_settings(flags.said);
  if (!resumes) {
    options.dated = flags.out.empty();
    options.out = options.dated ? "runs/" + options.dataset : flags.out;
    options.overwrite = flags.overwrite;
  }
  options.profile = flags.profile;
  options.anomaly = flags.anomaly;
  return options;
}

void check_sanity(const TrainOptions& options) {
  std::size_t failed = 0;
  for (const SanityCheck& check : sanity(options)) {
    console::print("{}  {}\n", check.passed ? "ok   " : "FAIL ", check.text);
    failed += check.passed ? 0 : 1;
  }
  if (failed > 0) fail(Exit::failure, "{} of the checks failed", failed);
}

// The whole of a run, on one rank or on several, of which rank 0 speaks.
void train_on(Ranks& ranks, const TrainOptions& options, const Flags& flags) {
  const bool speaks = ranks.rank() == 0;
  const bool quiet = flags.quiet || !speaks;
  if (!quiet) print_machine();
  if (flags.sanity && speaks) check_sanity(options);
  if (flags.sanity) return;
  if (!flags.said.recipe.empty() && speaks) {
    const Recipe& recipe = recipe_named(flags.said.recipe);
    if (!quiet) {
      console::print("{}\n",
                     console::entry(stdout, "recipe   ", recipe.name + ": " + recipe.about));
    }
    if (recipe.fine_tunes && options.init.empty()) {
      note(
          "without --init FILE nothing has learned that could be fine-tuned: all begins at "
          "random");
    }
  }
  const StopSignals stop;
  Progress progress;
  Quiet notes;
  const RunResult result =
      train(options, quiet ? static_cast<Observer&>(notes) : progress, write_report, ranks);
  if (!speaks) return;
  if (result.was_finished) {
    const bool early = result.last.epoch < options.epochs;
    console::print("the run in {} is finished: {}, {}{}\n", result.directory,
                   counted(result.last.epoch, "epoch"), counted(result.last.step, "step"),
                   early ? ", stopped early (--patience)" : "; --epochs N prolongs it");
  } else {
    const double accuracy = result.test ? result.test->accuracy : result.last.test_accuracy;
    if (result.test || result.last.epoch > 0) {
      console::print("test accuracy {:.2f} % in {}\n", 100 * accuracy,
                     console::clock_time(result.seconds));
    }
  }
  const std::filesystem::path directory(result.directory);
  console::print("weights  {}\n", (directory / "model.safetensors").string());
  console::print("report   {}\n", (directory / "report.html").string());
}

void run_train(const Flags& flags) {
  if (flags.said.recipe == "list") return list_recipes();
  if (!flags.seeds.empty()) seeds_of("--seeds", flags.seeds);
  TrainOptions options;
  const auto prepare = [&] {
    options = resolve_settings(flags);
    if (flags.print_recipe) return;
    options.validate();
    // Checks are in double, so that derivatives are known to many digits.
    if (flags.sanity) {
      in_precision(Precision::float64, "--sanity checks in double: ");
    } else {
      in_precision(options.precision);
    }
  };
  const auto train = [&](Ranks& ranks) {
    if (flags.print_recipe) {
      if (ranks.rank() != 0) return;
      if (!flags.said.recipe.empty())
        console::print(stderr, "{}\n", recipe_named(flags.said.recipe).about);
      console::print("{}", console::lines(options.to_json()));
      return;
    }
    if (flags.seeds.empty()) return train_on(ranks, options, flags);
    train_seeds(ranks, options, seeds_of("--seeds", flags.seeds), flags.quiet,
                [&](const TrainOptions& one) { train_on(ranks, one, flags); });
  };
#if VITRUVIAN_HAS_MPI
  with_mpi_ranks("vitruvian", prepare, train);
#else
  prepare();
  train(one_rank());
#endif
}

// A flag for every setting, from their list. What is said is kept as text: recipes and files come
// first, and what was not said must not hide them.
void add_settings(const Parser& command, Flags& flags) {
  const TrainOptions usual;
  const std::map<std::string, std::string> values = flag_values(usual);
  for_each_setting(usual, [&](const auto& field, const Setting& s) {
    using T = std::decay_t<decltype(field)>;
    const std::string name = s.name;
    const std::string flag = flag_name(name);
    if constexpr (std::is_same_v<T, bool>) {
      const auto take = [&flags, name](bool on) { flags.said.flags[name] = on ? "true" : "false"; };
      command.add_switch(flag, take, s.help).group(s.group);
    } else {
      std::string help = s.help;
      if (name == "dataset") help = fmt::format("{}\n  {}", joined(dataset_names()), help);
      if constexpr (std::is_enum_v<T>) help += joined(names_of(field));
      const auto take = [&flags, name](const std::string& text) { flags.said.flags[name] = text; };
      const char* const type = name == "data"                        ? "DIR"
                               : name == "init" || name == "teacher" ? "FILE"
                               : is_rate<T>                          ? "X"
                               : std::is_integral_v<T>               ? "N"
                                                                     : "TEXT";
      Option option = command.add_text(flag, type, take, help).group(s.group);
      if (const auto found = values.find(name); found != values.end()) option.usual(found->second);
      if constexpr (std::is_enum_v<T>) option.offers(names_of(field));
      if (name == "dataset") option.offers(dataset_names());
      if (name == "pos_resize") option.offers(pos_resize_names());
    }
  });
}

}  // namespace

void add_train(const Parser& app, std::function<void()>& chosen) {
  auto [command, flags] =
      add_command<Flags>(app, chosen, "train",
                         "Train a Vision Transformer (defaults depend on the data set)", run_train);
  std::vector<std::string> names{"list"};
  for (const Recipe& recipe : recipes()) names.push_back(recipe.name);
  command
      .add_value("--recipe", "NAME", flags.said.recipe,
                 "A complete set of settings; flags override it. 'list' names them")
      .offers(names);
  command.add_flag("--print-recipe", flags.print_recipe,
                   "Print all settings, as a config file holds them, and end");
  command.add_value(
      "--config", "FILE", flags.said.config,
      "A JSON file of settings, named as the flags with _ for -; a run's config.json is "
      "one");
  command.add_value(
      "--out", "DIR", flags.out,
      "The run directory; without: a new one under runs/, named after data set and date");
  command.add_flag(
      "--overwrite", flags.overwrite,
      "Put the new run in the place of one that is in --out already; other files stay");
  command.add_value("--resume", "DIR", flags.resume,
                    "Go on with the run in this directory; more --epochs than it has prolong it");
  command.add_value(
      "--seeds", "N[,N]", flags.seeds,
      "Train a run for each seed, in OUT/seed-1 and so on: how many, or a list (1,2,5);\n"
      "then print mean and deviation. Said again, it goes on with what is unfinished");
  command.add_flag("--quiet", flags.quiet, "Print no progress, only what came of the run");
  add_threads(command);
  command.add_flag("--profile", flags.profile,
                   "Run the fourth step on one thread and print its time, bytes and GFLOP/s by op\n"
                   "and by module; the run goes on, with the results that it has without");
  command.add_flag(
      "--sanity", flags.sanity,
      "Do not train, but check: the loss at the start against ln K, derivatives of this\n"
      "model against differences, and 20 images learned by heart");
  command.add_flag(
      "--anomaly", flags.anomaly,
      "Look for NaN and infinity in every op, forward and backward: slower. Without it\n"
      "a step that breaks down is computed again so");
  add_settings(command, flags);
}

}  // namespace vitruvian
