#include "vitruvian/report/run_group.hpp"

#include "vitruvian/train/run/run_directory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

namespace vitruvian {
namespace {

namespace fs = std::filesystem;

// What makes two runs those of one experiment: all but the seed, and what changes no result.
std::string experiment_of(const RunRecord& run) {
  constexpr std::array<const char*, 6> aside{"seed",      "data",       "skip_bad",
                                             "log_every", "save_every", "checkpoint_every"};
  std::string key;
  for (const auto& [name, value] : run.settings) {
    if (std::find(aside.begin(), aside.end(), name) != aside.end()) continue;
    if (name.starts_with("made_by.") && name != "made_by.data_checksum") continue;
    key += fmt::format("{}:{}={}:{};", name.size(), name, value.size(), value);
  }
  return key;
}

std::string name_of(const std::vector<RunRecord>& runs) {
  if (runs.size() == 1) return runs[0].name;
  std::set<fs::path> parents;
  for (const RunRecord& run : runs) {
    const fs::path whole = fs::absolute(run.directory).lexically_normal();
    parents.insert((whole.has_filename() ? whole : whole.parent_path()).parent_path());
  }
  const bool a_set = parents.size() == 1 && runs[0].name.starts_with("seed-");
  return fmt::format("{} ({})", a_set ? parents.begin()->filename().string() : runs[0].name,
                     counted_seeds(runs));
}

}  // namespace

std::string counted_seeds(const std::vector<RunRecord>& runs) {
  const auto tested = std::count_if(runs.begin(), runs.end(), [](const RunRecord& run) {
    return !std::isnan(run.test_accuracy);
  });
  const auto all = static_cast<std::ptrdiff_t>(runs.size());
  if (tested == 0 || tested == all) return fmt::format("{} seeds", all);
  return fmt::format("{} of {} seeds", tested, all);
}

Spread RunGroup::spread(const std::function<double(const RunRecord&)>& value) const {
  std::vector<double> numbers;
  for (const RunRecord& run : runs) numbers.push_back(value(run));
  return spread_of(numbers);
}

std::vector<Spread> RunGroup::spread(double RunRecord::Epoch::*value) const {
  std::size_t epochs = runs[0].epochs.size();
  for (const RunRecord& run : runs) epochs = std::min(epochs, run.epochs.size());
  std::vector<Spread> result;
  for (std::size_t e = 0; e < epochs; ++e) {
    result.push_back(spread([&](const RunRecord& run) { return run.epochs[e].*value; }));
  }
  return result;
}

std::vector<RunGroup> grouped(const std::vector<RunRecord>& runs) {
  std::vector<RunGroup> groups;
  std::vector<std::pair<std::string, std::set<std::string>>> known;  // experiment, seeds
  for (const RunRecord& run : runs) {
    const std::string experiment = experiment_of(run), seed = run.setting("seed");
    std::size_t i = 0;
    while (i < groups.size() &&
           (seed.empty() || known[i].first != experiment || known[i].second.contains(seed))) {
      ++i;
    }
    if (i == groups.size()) {
      groups.emplace_back();
      known.emplace_back(experiment, std::set<std::string>{});
    }
    groups[i].runs.push_back(run);
    known[i].second.insert(seed);
  }
  for (RunGroup& group : groups) group.name = name_of(group.runs);
  return groups;
}

std::vector<RunRecord> read_runs(const std::string& path) {
  std::error_code ignored;
  std::vector<std::pair<std::size_t, std::string>> found;  // by the length: seed-2 before seed-10
  if (!is_run(path) && fs::is_directory(path, ignored)) {
    for (const auto& entry : fs::directory_iterator(path, ignored)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("seed-") && is_run(entry.path())) {
        found.emplace_back(name.size(), entry.path().string());
      }
    }
  }
  if (found.empty()) return {read_run(path)};
  std::sort(found.begin(), found.end());
  std::vector<RunRecord> runs;
  for (const auto& run : found) runs.push_back(read_run(run.second));
  return runs;
}

}  // namespace vitruvian
