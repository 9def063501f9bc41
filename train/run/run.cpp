#include "vitruvian/train/run/run.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/parallel.hpp"
#include "vitruvian/datasets/batch.hpp"
#include "vitruvian/nn/safetensors.hpp"
#include "vitruvian/train/run/stop.hpp"
#include "vitruvian/train/settings/options.hpp"
#include "vitruvian/train/weights.hpp"

#include <algorithm>
#include <csignal>
#include <limits>
#include <utility>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

constexpr std::chrono::seconds between_checkpoints{60};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::variant<AdamW, Adam, SGD, Muon> optimizer_of(const TrainOptions& o,
                                                  std::vector<NamedParameter> parameters) {
  switch (o.optimizer) {
    case OptimizerKind::adam:
      return Adam(std::move(parameters), {.beta1 = o.beta1,
                                          .beta2 = o.beta2,
                                          .weight_decay = o.weight_decay,
                                          .undecayed = all_but_weights});
    case OptimizerKind::sgd:
      return SGD(
          std::move(parameters),
          {.momentum = o.momentum, .weight_decay = o.weight_decay, .undecayed = all_but_weights});
    case OptimizerKind::muon:
      return Muon(std::move(parameters), {.momentum = o.momentum,
                                          .weight_decay = o.weight_decay,
                                          .undecayed = all_but_weights,
                                          .beta1 = o.beta1,
                                          .beta2 = o.beta2});
    case OptimizerKind::adamw:
      break;
  }
  return AdamW(std::move(parameters), {.beta1 = o.beta1,
                                       .beta2 = o.beta2,
                                       .weight_decay = o.weight_decay,
                                       .undecayed = all_but_weights});
}

}  // namespace

Run::Run(const TrainOptions& options, Learner learner, const TrainingData& data, Observer& observer,
         RunDirectory* directory, Ranks& ranks)
    : options_(options),
      learner_(std::move(learner)),
      data_(data),
      observer_(observer),
      directory_(directory),
      ranks_(ranks),
      rng_(options.seed),
      train_(data.images.train,
             {.augment = options.augment, .seed = options.seed, .subset = data.indices.train}),
      test_(test_images_of(data)),
      metadata_(learner_.vit != nullptr ? to_metadata(learner_.vit->config, data_config_of(data))
                                        : to_metadata(data_config_of(data))),
      optimizer_(optimizer_of(options, learner_.parameters)),
      steps_an_epoch_(steps_an_epoch(options, data.indices.train.size())),
      steps_(options.epochs * steps_an_epoch_),
      warmup_(warmup_steps(options, steps_)),
      log_every_(options.log_every != 0 ? options.log_every
                                        : std::max<std::size_t>(1, steps_ / 300)) {
  if (!data.indices.validation.empty()) {
    validation_.emplace(data.images.train, LoaderOptions{.subset = data.indices.validation});
  }
  if (learner_.vit != nullptr) {
    const auto factors = rate_factors(*learner_.vit, options.layer_decay, options.head_lr);
    std::visit([&factors](Optimizer& o) { o.set_rate_factors(factors); }, optimizer_);
  }
  if (options.ema > 0) average_ = copied(learner_.parameters);
  if (options.patience > 0) best_ = copied(learner_.parameters);
  state_.settings = options.to_json();
  state_.data = data.checksum;
  state_.key = rng_.key();
}

RunArrays Run::arrays() {
  RunArrays result;
  result.model = learner_.parameters;
  std::visit([&](Optimizer& o) { result.optimizer = &o; }, optimizer_);
  result.ema = average_;
  return result;
}

void check_settings(const TrainOptions& options, const CheckpointFile& file,
                    std::size_t steps_an_epoch) {
  const std::string& path = file.tensors.source;
  TrainOptions was = settings_of(file.state.settings, path);
  const std::size_t planned = was.epochs;
  const bool longer = planned < options.epochs;
  if (longer) was = prolonged(was, options.epochs, steps_an_epoch);
  const std::string differs = difference(options.to_json(), was.to_json());
  if (differs.empty()) return;
  std::string hint;  // the length alone was changed, and with it the warm-up
  if (longer && differs.starts_with("'warmup")) {
    hint =
        !options.own_model.empty()
            ? "; prolong_to makes a run longer"
            : fmt::format("; with its 'epochs' {} again, --resume with --epochs {} makes it longer",
                          planned, options.epochs);
  }
  fail(Exit::checkpoint, "{}: made with other settings than config.json's, where {}{}", path,
       differs, hint);
}

void check_data(const std::string& source, const std::string& before, const std::string& checksum) {
  if (before == checksum) return;
  const auto images = [](const std::string& sum) {
    return sum.substr(0, sum.find(TrainingData::of_teacher));
  };
  const bool taught = images(checksum) == images(before);
  fail(Exit::checkpoint, "{}: {} of the run: checksum {}, not {}", source,
       taught ? "the teacher is not that" : "the data are not those", checksum, before);
}

void Run::resume(const CheckpointFile& checkpoint) {
  check_data(checkpoint.tensors.source, checkpoint.state.data, state_.data);
  if (!best_.empty() && checkpoint.state.best_epoch > 0) {
    if (directory_ != nullptr) load(best_, read_safetensors(directory_->checkpoint("best")));
    broadcast_values(ranks_, best_);
  }
  restore(checkpoint, arrays());
  // What does not matter may have changed.
  const std::string settings = std::exchange(state_.settings, {});
  state_ = checkpoint.state;
  state_.settings = settings;
  tested_ = checkpoint.state.finished && !goes_on();
  state_.finished = tested_;
  if (directory_ != nullptr) directory_->rewind(state_.metrics_size, state_.epochs);
}

bool Run::goes_on() const {
  const bool tired = options_.patience > 0 && state_.best_epoch > 0 &&
                     state_.epochs >= state_.best_epoch + options_.patience;
  return state_.epochs < options_.epochs && !tired;
}

const std::vector<NamedParameter>& Run::evaluated() const {
  return average_.empty() ? learner_.parameters : average_;
}
const std::vector<NamedParameter>& Run::kept() const {
  return !best_.empty() && state_.best_epoch > 0 ? best_ : evaluated();
}

// A signal is not kept waiting for the rest of the images, which may take minutes.
Score Run::score_of(const std::vector<NamedParameter>& parameters, const Loader& images,
                    Predictions* predictions) {
  Score result;
  {
    const Exchanged for_now(learner_.parameters, parameters);
    result =
        score(learner_, images, predictions, ranks_, [] { return StopSignals::received() != 0; });
  }
  stop_if_asked();
  return result;
}

RunStart Run::start(std::uint64_t bytes) {
  // Some of a step's micro-batches, the same for each thread: their pace is the step's.
  const std::size_t batch = options_.batch_size * options_.accumulate;
  const std::vector<std::size_t> order = natural_order(std::min(batch, train_.size()));
  auto parts = cut(order);
  parts.resize(std::min(parts.size(), 2 * threads()));
  const MicroBatches some = micro_batches(parts);
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3; ++i) {
    const auto begin = Clock::now();
    compute_gradients(learner_, some, options_.label_smoothing);
    best = std::min(best, seconds_since(begin));
  }
  zero_grad(learner_.parameters);
  RunStart result;
  result.model = learner_.name;
  for (const NamedParameter& p : learner_.parameters) result.parameters += p.tensor.size();
  if (learner_.vit != nullptr) result.macs = learner_.vit->config.macs();
  result.training_bytes = bytes;
  // A forward pass is a third of a step.
  const std::size_t evaluated_images = validation_ ? validation_->size() : test_.size();
  result.seconds_an_epoch =
      best / static_cast<double>(some.images * ranks_.size()) *
      (static_cast<double>(train_.size()) + static_cast<double>(evaluated_images) / 3);
  result.dataset = options_.dataset;
  result.train_images = train_.size();
  result.validation_images = data_.indices.validation.size();
  result.test_images = test_.size();
  result.epochs = options_.epochs;
  result.steps = steps_;
  result.warmup = warmup_;
  result.done = state_.step;
  result.ranks = ranks_.size();
  compare_weights();
  start_ = saved_ = Clock::now();
  return result;
}

EpochReport Run::epoch() {
  const auto begin = Clock::now();
  const std::size_t epoch = state_.epochs + 1;
  const std::vector<std::size_t> order = epoch_order(train_.size(), rng_.fork("order"), epoch);
  const std::size_t images_a_step = options_.batch_size * options_.accumulate;
  const auto steps = batches(order, images_a_step);
  const std::size_t first = state_.step - state_.epochs * steps_an_epoch_;
  if (first < steps.size()) {
    train_.announce(own_images(std::span(steps).subspan(first)), epoch);
  }
  const std::size_t seen_before = state_.seen;
  for (std::size_t i = first; i < steps.size(); ++i) {
    // The fourth, if there are so many: by then memory has been taken and branches are known.
    const bool profile = options_.profile && state_.step == std::min<std::size_t>(3, steps_ - 1);
    const StepReport report = profile ? profiled_step(steps[i]) : step(steps[i]);
    const bool last = i + 1 == steps.size();
    if (directory_ != nullptr && (report.step % log_every_ == 0 || last)) {
      directory_->append_metrics(report.to_json());
    }
    observer_.stepped(report);
    const bool due = options_.checkpoint_every != 0 ? state_.step % options_.checkpoint_every == 0
                                                    : Clock::now() - saved_ >= between_checkpoints;
    if (due && !last) checkpoint();
    stop_if_asked();
  }
  const double training_seconds = seconds_since(begin);
  check_weights();
  compare_weights();

  const Score held_out = score_of(evaluated(), validation_ ? *validation_ : test_);
  const auto seen = static_cast<double>(state_.seen);
  EpochReport report;
  report.epoch = epoch;
  report.epochs = options_.epochs;
  report.step = state_.step;
  report.train_loss = state_.loss_sum / seen;
  report.train_accuracy = static_cast<double>(state_.correct) / seen;
  report.validation = validation_.has_value();
  report.test_loss = held_out.loss;
  report.test_accuracy = held_out.accuracy;
  report.lr = state_.lr;
  report.grad_norm = state_.grad_norm_sum / static_cast<double>(steps_an_epoch_);
  const std::size_t images = (state_.seen - seen_before) / learner_.rows;
  report.images_per_second = static_cast<double>(images) / training_seconds;
  report.seconds = seconds_since(start_);
  report.after_step = state_.step - own_steps_;

  state_.epochs = epoch;
  state_.loss_sum = state_.grad_norm_sum = 0;
  state_.correct = state_.seen = 0;
  keep_best(held_out.accuracy, held_out.loss);
  if (directory_ != nullptr) {
    directory_->append_metrics(report.to_json());
    directory_->append_timing(report.timing_to_json());
    if (options_.save_every != 0 && epoch % options_.save_every == 0) {
      save(evaluated(), directory_->checkpoint(fmt::format("epoch-{:04}", epoch)), metadata_);
    }
  }
  checkpoint();
  observer_.finished_epoch(report);
  stop_if_asked();
  return report;
}

void Run::keep_best(double accuracy, double loss) {
  if (state_.best_epoch > 0 && accuracy <= state_.best_accuracy) return;
  state_.best_epoch = state_.epochs;
  state_.best_accuracy = accuracy;
  state_.best_loss = loss;
  if (!best_.empty()) copy_parameters(evaluated(), best_);
  if (directory_ != nullptr) {
    save(evaluated(), directory_->checkpoint("best"), metadata_);
  }
}

std::optional<TestReport> Run::finish(Predictions& predictions) {
  const Score found = score_of(kept(), test_, &predictions);
  std::optional<TestReport> test;
  if (validation_) {
    test =
        TestReport{!best_.empty() ? state_.best_epoch : state_.epochs, found.loss, found.accuracy};
    if (directory_ != nullptr && !tested_) directory_->append_metrics(test->to_json());
  }
  if (directory_ != nullptr) {
    save(kept(), directory_->weights_path(), metadata_);
  }
  return test;
}

void Run::close() {
  state_.finished = true;
  checkpoint();
}

void Run::checkpoint() {
  if (directory_ == nullptr) return;
  directory_->sync_metrics();
  state_.metrics_size = directory_->metrics_size();
  directory_->keep_last();
  save_checkpoint(directory_->checkpoint("last"), state_, arrays());
  saved_ = Clock::now();
}

void Run::stop_if_asked() {
  // All stop after the same step, whichever got the signal, and when rank 0 has saved it.
  const std::vector<int> signals = all_of(ranks_, StopSignals::received());
  const int signal = *std::max_element(signals.begin(), signals.end());
  if (signal == 0) return;
  if (directory_ != nullptr) checkpoint();
  all_of(ranks_, 0);
  const Exit exit = signal == SIGINT   ? Exit::interrupted
                    : signal == SIGHUP ? Exit::hung_up
                                       : Exit::terminated;
  const std::string next = directory_ == nullptr
                               ? "it writes no run directory: there is nothing to resume"
                           : options_.own_model.empty()
                               ? "to go on: vitruvian train --resume " + shell_word(options_.out)
                               : "its program goes on with `resume` and out = " + options_.out;
  fail(exit, "stopped after step {} of {}; {}", state_.step, steps_, next);
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
