#include "train/trainer.hpp"

#include "core/composed.hpp"
#include "core/error.hpp"
#include "core/kernels/kernels.hpp"
#include "core/parallel.hpp"
#include "datasets/batch.hpp"
#include "train/run.hpp"
#include "train/score.hpp"
#include "train/traps.hpp"
#include "train/weights.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>

namespace vitruvian::inline VITRUVIAN_PRECISION {
namespace {

using Clock = std::chrono::steady_clock;

// The most images of a step whose activations exist at the same time: a micro-batch a thread.
std::size_t images_at_once(const TrainOptions& options, std::size_t available) {
  const std::size_t batch = std::min(options.batch_size, available);
  const std::size_t parts = micro_batches_of(options.model, batch);
  const std::size_t each =
      options.micro_batch == 0 ? (batch + parts - 1) / parts : options.micro_batch;
  return std::min(batch, threads() * each);
}

// The newest checkpoint that is whole; none where none was written yet. What is damaged is said.
std::optional<CheckpointFile> newest(const RunDirectory& directory, Observer& observer) {
  std::string damage;
  for (const char* name : {"last", "last.previous"}) {
    const std::string path = directory.checkpoint(name);
    if (!std::filesystem::exists(path)) continue;
    try {
      CheckpointFile file = read_checkpoint(path);
      if (!damage.empty()) {
        observer.noted(
            fmt::format("{}; going on from {}, of step {}", damage, path, file.state.step));
      }
      return file;
    } catch (const Error& error) {
      damage += (damage.empty() ? "" : "; ") + std::string(error.what());
    }
  }
  if (!damage.empty()) fail(Exit::checkpoint, "{}", damage);
  return std::nullopt;
}

// What there is to do for a run whose last checkpoint is this one: nothing, where it is finished
// and shall have no more epochs than it had.
bool is_finished(const TrainOptions& options, const CheckpointFile& file) {
  if (!file.state.finished) return false;
  const std::size_t planned = settings_of(file.state.settings, file.tensors.source).epochs;
  if (std::max(options.epochs, options.prolong_to) == planned) {
    check_settings(options, file, 0);
    return true;
  }
  if (file.state.epochs < planned) {
    fail(Exit::usage,
         "{}: the run stopped early, after {} of {} epochs (--patience {}): it is not prolonged",
         options.out, file.state.epochs, planned, options.patience);
  }
  return false;
}

// A run that goes on, and what was said of more epochs is its setting from here on.
void prolong(TrainOptions& options, std::size_t images, Observer& observer) {
  if (options.prolong_to == 0) return;
  const std::size_t before = options.epochs;
  options = prolonged(options, options.prolong_to, steps_an_epoch(options, images));
  observer.noted(
      fmt::format("prolonged from {} epochs to {}: from here on the learning rate is that of a run "
                  "of {} after the same {} steps of warm-up",
                  before, options.epochs, options.epochs, options.warmup_steps));
}

}  // namespace

RunResult train(const TrainOptions& wanted, Observer& observer, const AtEnd& at_end) {
  const auto start = Clock::now();
  wanted.validate();
  TrainOptions options = wanted;
  const Composed composed(options.composed);
  check_fits_in_memory(options.model, options.model.training_bytes(1, sizeof(real)), "to train");

  std::optional<RunDirectory> directory;
  std::optional<CheckpointFile> checkpoint;
  if (options.resume) {
    directory.emplace(options.out);
    checkpoint = newest(*directory, observer);
    if (checkpoint && is_finished(options, *checkpoint)) {
      RunResult result;
      result.was_finished = true;
      result.directory = options.out;
      result.last.epoch = checkpoint->state.epochs;
      result.last.step = checkpoint->state.step;
      return result;
    }
  } else if (!options.out.empty() && !options.dated) {
    RunDirectory::check(options.out, options.overwrite);  // at once, not after the data are read
  }

  const TrainingData data = training_data(options);
  if (!data.images.note.empty()) observer.noted(data.images.note);
  prolong(options, data.indices.train.size(), observer);
  const std::size_t resident = images_at_once(options, data.indices.train.size());
  const std::uint64_t bytes =
      options.model.training_bytes(resident, sizeof(real)) + data.resident_bytes();
  check_fits_in_memory(options.model, bytes,
                       fmt::format("to train on {} images at once", resident));
  const std::string config = options.to_json({{"matrix_product", kernels::gemm_description()},
                                              {"instruction_set", kernels::simd_description()},
                                              {"data_checksum", data.checksum}});
  if (options.resume) {
    if (!same_machine(directory->config(), config)) {
      observer.noted(
          "the run began with another matrix product or instruction set: from here on its bits may "
          "differ from those of an undisturbed run");
    }
  } else if (!options.out.empty()) {
    directory.emplace(options.out, config, NewRun{options.overwrite, options.dated});
    options.out = directory->path().string();
  }
  Run run(options, data, observer, directory ? &*directory : nullptr);
  if (checkpoint) {
    run.resume(*checkpoint);
    checkpoint.reset();
  } else if (directory) {
    directory->rewind(0, 0);
  }
  if (options.prolong_to != 0) {
    directory->write_config(with_settings(directory->config(), options));
  }
  RunStart begun = run.start(bytes);
  begun.directory = options.out;
  observer.started(begun);
  for (const std::string& trap : traps(options)) observer.noted(trap);

  RunResult result;
  while (run.goes_on()) result.last = run.epoch();
  result.test = run.finish();
  if (result.test) observer.tested(*result.test);
  const Loader& test = run.test_images();
  const Predictions predictions = predict_all(run.kept(), test);
  observer.predicted(predictions, test.images().about().class_names);
  if (directory) result.directory = options.out;
  if (at_end) at_end({run.kept(), test, predictions, result.directory});
  run.close();
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return result;
}

Evaluation evaluate(const EvalOptions& options) {
  const TrainedModel trained = load_weights(weights_file(options.weights));
  const VisionTransformer& model = trained.model;
  if (trained.data.mean.empty() || trained.data.std.empty()) {
    fail(Exit::checkpoint,
         "{}: its metadata has no 'mean' and 'std'; weights made by 'vitruvian train' have them",
         options.weights);
  }
  Evaluation result;
  const Loader data = test_data(options, options.weights, model.config, trained.data, result.note);
  const Score found = score(model, data, &result.predictions);
  const Dataset& about = data.images().about();
  result.dataset = about.name;
  result.class_names = about.class_names;
  result.loss = found.loss;
  result.accuracy = found.accuracy;
  return result;
}

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
