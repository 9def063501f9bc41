#pragma once

#include "vitruvian/report/run_record.hpp"
#include "vitruvian/train/seeds.hpp"

#include <functional>
#include <string>
#include <vector>

namespace vitruvian {

/// Runs that differ in nothing but the seed, or a run by itself: what is told of them is a mean.
struct RunGroup {
  std::string name;  ///< a run's own, or of several what their paths share, and how many they are
  std::vector<RunRecord> runs;  ///< at least one

  [[nodiscard]] bool several() const { return runs.size() > 1; }
  [[nodiscard]] Spread spread(const std::function<double(const RunRecord&)>& value) const;
  /// A number of every epoch, over the runs: of those epochs that all of them have.
  [[nodiscard]] std::vector<Spread> spread(double RunRecord::Epoch::*value) const;
};

/// "3 seeds"; "2 of 3 seeds" where only so many have been tested: a mean of accuracies is theirs.
std::string counted_seeds(const std::vector<RunRecord>& runs);

/// The runs in groups, in the order of their first ones. Runs of the same settings and data go
/// together, whatever machine they were made on and however often they were saved; two of the same
/// seed do not, for they say nothing new.
std::vector<RunGroup> grouped(const std::vector<RunRecord>& runs);

/// The runs that a path names: itself, or, where it is a folder of runs such as `train --seeds`
/// makes, those in it, by their names. Throws as read_run does.
std::vector<RunRecord> read_runs(const std::string& path);

}  // namespace vitruvian
