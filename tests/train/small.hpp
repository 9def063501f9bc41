#pragma once

#include "tests/folder.hpp"
#include "vitruvian/nn/init.hpp"
#include "vitruvian/train/run/run.hpp"
#include "vitruvian/train/run/stop.hpp"
#include "vitruvian/train/settings/options.hpp"
#include "vitruvian/train/trainer.hpp"
#include "vitruvian/train/weights.hpp"

#include <csignal>

// A tiny run on tiny data, which tests of runs change to their ends.

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

inline TrainOptions small_options(const std::string& out = "") {
  TrainOptions o = default_options("digits");
  o.train_size = 60, o.test_size = 30, o.batch_size = 20, o.epochs = 2;  // 3 steps an epoch
  o.model.D = 8, o.model.L = 2, o.model.h = 2, o.model.M = 12;
  o.out = out;
  return o;
}

/// Whether this build has no threads, which might stand for ranks. Where it has, two are set.
inline bool one_thread_only() {
  set_threads(2);
  return threads() == 1;
}

/// A run of such options, before its first step.
struct SmallRun {
  TrainOptions options;
  TrainingData data;
  VisionTransformer vit;
  Run run;
  SmallRun(TrainOptions o, Observer& observer, RunDirectory* directory = nullptr)
      : options(std::move(o)),
        data(training_data(options)),
        vit(initial_model(options, observer)),
        run(options, vit, data, observer, directory) {}
};

/// Keeps the sentences that a run tells.
struct Listener : Observer {
  std::vector<std::string> said;
  void noted(const std::string& sentence) override { said.push_back(sentence); }
  [[nodiscard]] bool heard(const std::string& part) const {
    return std::any_of(said.begin(), said.end(),
                       [&part](const std::string& one) { return says(one, part); });
  }
};

/// Somebody presses Ctrl-C in a step.
struct StopAt : Observer {
  const StopSignals signals;
  std::size_t at;
  explicit StopAt(std::size_t step) : at(step) {}
  void stepped(const StepReport& step) override {
    if (step.step == at) std::raise(SIGINT);
  }
};

/// Looks at nothing. Runs may share it, and their ranks.
inline Observer nobody_looks;

inline RunResult train_here(const TrainOptions& options, Observer& observer = nobody_looks) {
  return VITRUVIAN_PRECISION::train(options, observer);  // both are declared
}

/// What is said of a run that somebody stops in this step.
inline std::string stop_in(std::size_t step, const TrainOptions& options) {
  StopAt stop(step);
  return error_of(Exit::interrupted, [&] { train_here(options, stop); });
}

/// What a run leaves that no clock decides.
inline std::map<std::string, std::string> files_of(const std::string& run) {
  std::map<std::string, std::string> all = contents(run);
  all.erase("timing.jsonl"), all.erase("report.html");
  return all;
}

inline std::vector<Array> values_of(const std::vector<NamedParameter>& parameters) {
  std::vector<Array> result;
  for (const NamedParameter& p : parameters) result.push_back(p.tensor.value());
  return result;
}

inline std::vector<Array> gradients_of(const VisionTransformer& model) {
  std::vector<Array> result;
  for (const NamedParameter& p : named_parameters(model)) result.push_back(*p.tensor.grad());
  return result;
}

/// With parameters of order one half, so that all of them matter.
inline VisionTransformer of_order_half(const ViTConfig& config, const Rng& rng) {
  VisionTransformer model(config, Rng(1));
  for (const NamedParameter& p : named_parameters(model)) {
    init::normal(p.tensor, rng.fork(p.name), 0.5, p.role == Role::norm ? 1 : 0);
  }
  return model;
}

inline Array value_of(const VisionTransformer& model, const std::string& name) {
  for (const NamedParameter& p : named_parameters(model)) {
    if (p.name == name) return p.tensor.value();
  }
  FAIL(name);
  return {};
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
