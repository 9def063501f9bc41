#include "apps/train_seeds.hpp"

#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/safe_file.hpp"
#include "vitruvian/report/compare.hpp"
#include "vitruvian/report/run_group.hpp"
#include "vitruvian/train/run/run_directory.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <system_error>

namespace vitruvian {
namespace {

namespace fs = std::filesystem;

constexpr const char* page_name = "report.html";

TrainOptions options_of(const TrainOptions& set, std::uint64_t seed) {
  TrainOptions options = set;
  options.seed = seed;
  options.out = (fs::path(set.out) / fmt::format("seed-{}", seed)).string();
  return options;
}

// Whether the run of a seed was begun; throws where another one lies in its place.
bool begun(const TrainOptions& options) {
  if (options.overwrite || !is_run(options.out)) return false;
  const TrainOptions its = settings_of_run(options.out);
  std::string differs = difference(options.to_json(), its.to_json());
  if (differs.empty() && options.teacher != its.teacher) {
    differs = fmt::format("'teacher' is \"{}\", not \"{}\"", options.teacher, its.teacher);
  }
  if (differs.empty()) return true;
  fail(Exit::usage,
       "{} holds a run with other settings, for here {}: --overwrite puts the new one in its "
       "place, another --out leaves it alone",
       options.out, differs);
}

// What can be known before the first run: better now than after it.
void check(const TrainOptions& set, const std::vector<std::uint64_t>& seeds) {
  for (const std::uint64_t seed : seeds) {
    const TrainOptions options = options_of(set, seed);
    if (!begun(options)) RunDirectory::check(options.out, options.overwrite);
  }
  std::error_code ignored;
  const fs::path page = fs::path(set.out) / page_name;
  if (runs_in(set.out).empty() && fs::exists(fs::symlink_status(page, ignored))) {
    fail(Exit::usage, "{} is there already, and no report of such runs: choose another --out",
         page.string());
  }
}

void print_table(const RunGroup& group) {
  const bool validated = group.runs[0].validated();
  const auto best = [](const RunRecord& run) {
    const auto* epoch = run.best();
    return epoch == nullptr ? not_recorded : epoch->val_accuracy;
  };
  const auto line = [&](const std::string& name, double accuracy, double loss, double val) {
    const auto percent = [](double share) { return percent_text({1, share, not_recorded}); };
    console::print("{:<9}  {:>13}  {:>9}{}\n", name, percent(accuracy),
                   std::isfinite(loss) ? fmt::format("{:.4f}", loss) : "-",
                   validated ? fmt::format("  {:>15}", percent(val)) : "");
  };
  console::print("{:<9}  {:>13}  {:>9}{}\n", "seed", "test accuracy", "test loss",
                 validated ? "  best validation" : "");
  for (const RunRecord& run : group.runs) {
    line(run.setting("seed"), run.test_accuracy, run.test_loss, best(run));
  }
  const Spread accuracy = group.spread(&RunRecord::test_accuracy);
  const Spread loss = group.spread(&RunRecord::test_loss);
  const Spread val = group.spread(best);
  line("mean", accuracy.mean, loss.mean, val.mean);
  line("deviation", accuracy.deviation, loss.deviation, val.deviation);
}

}  // namespace

void train_seeds(Ranks& ranks, const TrainOptions& set, const std::vector<std::uint64_t>& seeds,
                 bool quiet, const std::function<void(const TrainOptions&)>& train_one) {
  const bool first = ranks.rank() == 0;
  if (first) check(set, seeds);
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    TrainOptions options = options_of(set, seeds[i]);
    // Rank 0 looks, and all do the same.
    options.resume = all_of(ranks, first && begun(options) ? 1 : 0)[0] != 0;
    if (first && !quiet)
      console::print("seed     {}, run {} of {}\n", seeds[i], i + 1, seeds.size());
    try {
      train_one(options);
    } catch (const Error& error) {
      if (seeds.size() == 1) throw;
      throw Error(
          error.exit(),
          fmt::format("seed {}: {}; the same command{} goes on with the {} seeds", seeds[i],
                      error.what(), set.overwrite ? " without --overwrite" : "", seeds.size()));
    }
  }
  if (!first) return;
  RunGroup group;
  for (const std::uint64_t seed : seeds) group.runs.push_back(read_run(options_of(set, seed).out));
  print_table(group);
  const std::string page = (fs::path(set.out) / page_name).string();
  write_file_safely(page, html_comparison(read_runs(set.out)));
  console::print("report   {}\n", page);
}

}  // namespace vitruvian
