#include "train/trainer.hpp"

#include "core/composed.hpp"
#include "core/error.hpp"
#include "core/kernels/kernels.hpp"
#include "core/parallel.hpp"
#include "datasets/batch.hpp"
#include "train/html_report.hpp"
#include "train/report_figures.hpp"
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

RunResult already_finished(const TrainOptions& options, const RunState& state) {
  RunResult result;
  result.was_finished = true;
  result.last.epoch = state.epochs;
  result.last.step = state.step;
  result.weights = (std::filesystem::path(options.out) / "model.safetensors").string();
  return result;
}

// Settings that have changed in config.json since the checkpoint was made make another run.
void check_same_run(const TrainOptions& options, const CheckpointFile& file) {
  const std::string differs = difference(options.to_json(), file.state.settings);
  if (differs.empty()) return;
  fail(Exit::checkpoint, "{}: made with other settings than config.json's, where {}",
       file.tensors.source, differs);
}

}  // namespace

RunResult train(const TrainOptions& options, Observer& observer) {
  const auto start = Clock::now();
  options.validate();
  const Composed composed(options.composed);
  check_fits_in_memory(options.model, options.model.training_bytes(1, sizeof(real)), "to train");

  std::optional<RunDirectory> directory;
  std::optional<CheckpointFile> checkpoint;
  if (options.resume) {
    directory.emplace(options.out);
    checkpoint = newest(*directory, observer);
    if (checkpoint) check_same_run(options, *checkpoint);
    if (checkpoint && checkpoint->state.finished) {
      return already_finished(options, checkpoint->state);
    }
  }

  const TrainingData data = training_data(options);
  if (!data.images.note.empty()) observer.noted(data.images.note);
  const std::size_t resident = images_at_once(options, data.indices.train.size());
  const std::uint64_t bytes = options.model.training_bytes(resident, sizeof(real));
  check_fits_in_memory(options.model, bytes,
                       fmt::format("to train on {} images at once", resident));
  const std::string config = options.to_json({{"matrix_product", kernels::gemm_description()},
                                              {"instruction_set", kernels::simd_description()},
                                              {"data_checksum", data.checksum}});
  if (options.resume) {
    if (difference(directory->config(), config).empty() &&
        !same_machine(directory->config(), config)) {
      observer.noted(
          "the run began with another matrix product or instruction set: from here on its bits may "
          "differ from those of an undisturbed run");
    }
  } else if (!options.out.empty()) {
    directory.emplace(options.out, config);
  }
  Run run(options, data, observer, directory ? &*directory : nullptr);
  if (checkpoint) {
    run.resume(*checkpoint);
    checkpoint.reset();
  } else if (directory) {
    directory->rewind(0, 0);
  }
  observer.started(run.start(bytes));
  for (const std::string& trap : traps(options)) observer.noted(trap);
  if (data.indices.validation.empty() && options.epochs > 1) {
    observer.noted(
        "the test set is looked at after every epoch; --val-fraction keeps it unread to the end");
  }

  RunResult result;
  while (run.goes_on()) result.last = run.epoch();
  result.test = run.finish();
  if (result.test) observer.tested(*result.test);
  const Loader& test = run.test_images();
  const Predictions predictions = predict_all(run.kept(), test);
  observer.predicted(predictions, test.images().about().class_names);
  if (directory) {
    result.weights = directory->weights_path();
    const ReportExamples examples{predictions, test};
    write_report(options.out, &examples, report_figures(run.kept(), test, options.out));
  }
  run.close();
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return result;
}

Evaluation evaluate(const EvalOptions& options) {
  check_data_given(options.dataset, options.data);
  const TrainedModel trained = load_weights(weights_file(options.weights));
  const VisionTransformer& model = trained.model;
  if (trained.data.mean.empty() || trained.data.std.empty()) {
    fail(Exit::checkpoint,
         "{}: its metadata has no 'mean' and 'std'; weights made by 'vitruvian train' have them",
         options.weights);
  }
  std::string note;
  const Loader data = test_data({.name = options.dataset,
                                 .directory = options.data,
                                 .seed = data_seed,
                                 .test_size = options.test_size,
                                 .skip_bad = options.skip_bad},
                                model.config, trained.data, note);
  const Score result = score(model, data);
  return {options.dataset, data.size(), result.loss, result.accuracy, note};
}

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
