#include "vitruvian/train/trainer.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/parallel.hpp"
#include "vitruvian/core/composed.hpp"
#include "vitruvian/core/kernels/kernels.hpp"
#include "vitruvian/nn/safetensors.hpp"
#include "vitruvian/train/masked.hpp"
#include "vitruvian/train/run/run.hpp"
#include "vitruvian/train/settings/settings.hpp"
#include "vitruvian/train/step.hpp"
#include "vitruvian/train/teacher.hpp"
#include "vitruvian/train/train.hpp"
#include "vitruvian/train/weights.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <map>
#include <set>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

using Clock = std::chrono::steady_clock;

// The most images of a step whose activations exist at the same time: a micro-batch a thread.
std::size_t images_at_once(const TrainOptions& options, std::size_t available) {
  const std::size_t batch = std::min(options.batch_size, available);
  const std::size_t parts = micro_batches_of(options.model.T(), batch);
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
  const TrainOptions was = settings_of(file.state.settings, file.tensors.source);
  const std::size_t planned = was.epochs;
  if (std::max(options.epochs, options.prolong_to) == planned) {
    TrainOptions as_it_is = options;
    if (options.prolong_to != 0) {  // it was prolonged then, and has the warm-up of its beginning
      as_it_is.epochs = was.epochs;
      as_it_is.warmup = was.warmup;
      as_it_is.warmup_steps = was.warmup_steps;
    }
    check_settings(as_it_is, file, 0);
    return true;
  }
  if (file.state.epochs < planned) {
    fail(Exit::usage,
         "{}: the run stopped early, after {} of {} epochs (patience {}): it is not prolonged",
         options.out, file.state.epochs, planned, options.patience);
  }
  return false;
}

void note_prolonged(const TrainOptions& options, std::size_t before, Observer& observer) {
  observer.noted(fmt::format(
      "prolonged from {} to {}: from here on the learning rate is that of a run of {} after the "
      "same {} of warm-up",
      counted(before, "epoch"), options.epochs, options.epochs,
      counted(options.warmup_steps, "step")));
}

// What there is of a run that goes on, or the folder of a new one while it may be made.
struct Opened {
  Clock::time_point start = Clock::now();
  std::optional<RunDirectory> directory{};
  std::optional<CheckpointFile> checkpoint{};
  std::optional<RunResult> finished{};  // when there is nothing left to do

  // Rank 0 reads, and tells the others.
  Opened(const TrainOptions& options, Observer& observer, Ranks& ranks) {
    if (ranks.rank() == 0) look(options, observer);
    enum class State { fresh, goes_on, ended };
    const State state = all_of(ranks, finished     ? State::ended
                                      : checkpoint ? State::goes_on
                                                   : State::fresh)[0];
    if (state == State::fresh) return;
    if (!checkpoint) checkpoint.emplace();
    broadcast_checkpoint(ranks, *checkpoint);
    if (state == State::ended) finish(options);
  }

 private:
  void look(const TrainOptions& options, Observer& observer) {
    if (options.resume) {
      directory.emplace(options.out);
      checkpoint = newest(*directory, observer);
      std::error_code ignored;
      const bool weights = std::filesystem::exists(directory->weights_path(), ignored);
      if (checkpoint) {
        // A finished run that has lost its weights makes them, and its report, again.
        if (weights && is_finished(options, *checkpoint)) finished.emplace();
      } else if (weights) {
        fail(Exit::checkpoint,
             "{0}: it has weights, but no checkpoint any more to go on from; --init {1} begins a "
             "new run with the weights",
             options.out, shell_word(options.out));
      } else {
        observer.noted("it has no checkpoint yet: it begins anew");
      }
    } else if (!options.out.empty() && !options.dated) {
      RunDirectory::check(options.out, options.overwrite);  // at once, not after the data are read
    }
  }

  void finish(const TrainOptions& options) {
    finished.emplace();
    finished->was_finished = true;
    finished->directory = options.out;
    finished->last.epoch = checkpoint->state.epochs;
    finished->last.step = checkpoint->state.step;
  }
};

void check_lanes(const TrainOptions& options, const Ranks& ranks) {
  if (ranks.size() <= options.lanes) return;
  fail(Exit::usage, "{} ranks, but the sum of a step has {}: {}", ranks.size(),
       options.lanes == 1 ? "one lane" : fmt::format("{} lanes", options.lanes),
       options.resume ? "a run keeps its lanes, so that no more ranks can go on with it"
                      : fmt::format("lanes {} or more, a setting of the run, lets them share it",
                                    ranks.size()));
}

// Where ranks of a machine have more threads than processors they take turns, and others wait.
void note_crowding(Ranks& ranks, Observer& observer) {
  const std::vector<std::string> hosts = all_texts(ranks, ranks.host());
  const std::vector<std::size_t> wanted = all_of(ranks, threads());
  const std::vector<std::size_t> granted = all_of(ranks, processors());
  const std::vector<std::size_t> there = all_of(ranks, processors_of_machine());
  if (ranks.size() == 1) return;
  for (const std::string& host : std::set<std::string>(hosts.begin(), hosts.end())) {
    std::size_t threads = 0, bound = 0, machine = 0;
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      if (hosts[i] != host) continue;
      threads += wanted[i];
      bound += granted[i];
      machine = there[i];
    }
    const std::size_t processors = std::min(bound, machine);
    if (threads <= processors) continue;
    observer.noted(fmt::format(
        "{}: its ranks have {} threads on {} processors, which slows all down: fewer threads or "
        "ranks, or another binding (mpirun --bind-to none)",
        host, threads, processors));
  }
}

// Weights that a run learns from must outlive it: it may have to begin anew.
void check_not_overwritten(const char* flag, const std::string& weights,
                           const TrainOptions& options) {
  if (weights.empty() || !options.overwrite || options.out.empty()) return;
  std::error_code ignored;
  const std::string run = run_of(weights);
  if (run.empty() || !std::filesystem::equivalent(run, options.out, ignored)) return;
  fail(Exit::usage, "{} {} is of the run {}, which --overwrite would remove: another --out?", flag,
       weights, options.out);
}

// Every rank must compute the same: rank 0 says which does not.
void check_agreement(Ranks& ranks, const std::string& config) {
  const std::vector<std::string> configs = all_texts(ranks, config);
  const std::vector<std::string> names = all_texts(ranks, name_of(ranks));
  for (std::size_t i = 1; i < configs.size(); ++i) {
    const std::string differs = disagreement(configs[i], configs[0]);
    if (differs.empty()) continue;
    fail(Exit::usage, "{} is not as {}: its {}; all ranks must compute the same", names[i],
         names[0], differs);
  }
}

// A module of one's own may have any mistake: better one sentence now than a strange loss later.
void check_learner(const Learner& learner, const TrainingData& data) {
  std::set<std::string> names;
  for (const NamedParameter& p : learner.parameters) {
    if (!names.insert(p.name).second) {
      fail(Exit::usage, "{}: two parameters are called '{}'", learner.name, p.name);
    }
  }
  if (trainable(learner.parameters).empty()) {
    fail(Exit::usage, "{}: it has no parameter to train", learner.name);
  }
  const Dataset& train = data.images.train->about();
  const Dataset& test = data.images.test->about();
  const std::size_t named = std::min(train.class_names.size(), test.class_names.size());
  for (std::size_t k = 0; k < named; ++k) {
    if (train.class_names[k] == test.class_names[k]) continue;
    fail(Exit::data, "{}: class {} is '{}' in the training images and '{}' in the test images",
         train.name, k, train.class_names[k], test.class_names[k]);
  }
  if (train.classes != test.classes || train.channels != test.channels ||
      train.height != test.height || train.width != test.width) {
    fail(Exit::data, "{}: training and test images differ in shape or classes", train.name);
  }
  if (learner.vit != nullptr) check_shapes(learner.vit->config, train);
  const NoGrad no_grad;
  const MicroBatch one = micro_batch(Loader(data.images.train), std::array<std::size_t, 1>{0});
  const Tensor logits = learner.logits(one.images, {});
  if (logits.shape() != Shape{1, train.classes}) {
    fail(Exit::usage, "{}: of an image {} it makes {}, not logits {} for {} classes", learner.name,
         to_string(one.images.shape()), to_string(logits.shape()),
         to_string(Shape{1, train.classes}), train.classes);
  }
}

// Whom a rank tells: one observer hears of all of them, by rank 0.
Observer& heard(Observer& rank_0s, const Ranks& ranks) {
  static Observer nobody;
  return ranks.rank() == 0 ? rank_0s : nobody;
}

RunResult carry_out(TrainOptions options, const Learner& learner, const TrainingData& data,
                    Opened& opened, std::uint64_t bytes, Observer& observer, const AtEnd& at_end,
                    Ranks& ranks, std::map<std::string, std::string> made = {}) {
  const bool first = ranks.rank() == 0;
  if (options.precision == Precision::float64 && !std::is_same_v<real, double>) {
    fail(Exit::usage,
         "precision: this library computes in float32; that of float64 is "
         "vitruvian::vitruvian_f64");
  }
  const Composed composed(options.composed);
  const kernels::GemmPrecisionScope products(options.precision == Precision::bfloat16
                                                 ? kernels::GemmPrecision::bfloat16
                                                 : kernels::GemmPrecision::float32);
  std::optional<RunDirectory>& directory = opened.directory;
  if (!data.images.note.empty()) observer.noted(data.images.note);
  const std::size_t an_epoch = steps_an_epoch(options, data.indices.train.size());
  if (opened.checkpoint) check_settings(options, *opened.checkpoint, an_epoch);
  const std::size_t before = options.epochs;
  // What was said of more epochs is the run's setting from here on.
  if (options.prolong_to != 0) options = prolonged(options, options.prolong_to, an_epoch);
  if (!options.data.empty()) {  // who reads the run may stand in another folder
    options.data = std::filesystem::absolute(options.data).lexically_normal().string();
  }
  made["matrix_product"] = kernels::gemm_description();
  made["instruction_set"] = kernels::simd_description();
  made["data_checksum"] = data.checksum;
  const std::string config = options.to_json(made);
  check_agreement(ranks, config);
  note_crowding(ranks, observer);
  if (options.resume && first) {
    const std::string begun = maker_of(directory->config(), "data_checksum");
    if (!opened.checkpoint && !begun.empty()) check_data(options.out, begun, data.checksum);
    if (!same_machine(directory->config(), config)) {
      observer.noted(
          "the run began with another matrix product or instruction set: from here on its bits may "
          "differ from those of an undisturbed run");
    }
  } else if (!options.out.empty() && first) {
    directory.emplace(options.out, config, NewRun{options.overwrite, options.dated});
    options.out = directory->path().string();
  }
  Run run(options, learner, data, observer, directory ? &*directory : nullptr, ranks);
  if (opened.checkpoint) {
    run.resume(*opened.checkpoint);
    opened.checkpoint.reset();
  } else if (directory) {
    directory->rewind(0, 0);
  }
  if (options.prolong_to != 0 && directory) {
    note_prolonged(options, before, observer);
    directory->write_config(with_settings(directory->config(), options));
  }
  RunStart begun = run.start(bytes);
  begun.directory = options.out;
  observer.started(begun);
  for (const std::string& warning : warnings_of(options)) observer.noted(warning);
  if (const std::size_t turns = run.turns(); ranks.size() > turns) {
    observer.noted(
        fmt::format("a step has {} for {} ranks, and those beyond have nothing to do: fewer "
                    "ranks, a larger batch size or a smaller micro-batch",
                    counted(turns, "micro-batch"), ranks.size()));
  }

  RunResult result;
  while (run.goes_on()) result.last = run.epoch();
  if (run.state().epochs < options.epochs) {
    observer.noted(fmt::format(
        "stopped early, after {} of {} epochs: no better validation accuracy since epoch {}, whose "
        "weights are kept (patience {})",
        run.state().epochs, options.epochs, run.state().best_epoch, options.patience));
  }
  Predictions predictions;
  result.test = run.finish(predictions);
  if (result.test) observer.tested(*result.test);
  const Loader& test = run.test_images();
  {
    const Exchanged to_look_at(learner.parameters, run.kept());
    observer.predicted(predictions, test.images().about().class_names);
    if (directory) result.directory = options.out;
    if (at_end && first) at_end({learner, test, predictions, result.directory});
  }
  run.close();
  copy_parameters(run.kept(), learner.parameters);
  result.seconds = std::chrono::duration<double>(Clock::now() - opened.start).count();
  return result;
}

}  // namespace

RunResult train(const TrainOptions& options, Observer& rank_0s, const AtEnd& at_end, Ranks& ranks) {
  Observer& observer = heard(rank_0s, ranks);
  options.validate();
  check_lanes(options, ranks);
  check_not_overwritten("--init", options.init, options);
  check_not_overwritten("--teacher", options.teacher, options);
  check_fits_in_memory(options.model, options.model.training_bytes(1, sizeof(real)), "to train");
  Opened opened(options, observer, ranks);
  if (opened.finished) return *opened.finished;
  TrainingData data = training_data(options);
  const std::size_t resident = images_at_once(options, data.indices.train.size());
  const std::uint64_t bytes =
      options.model.training_bytes(resident, sizeof(real)) + data.resident_bytes();
  check_fits_in_memory(options.model, bytes,
                       fmt::format("to train on {} images at once", resident));
  TrainOptions begun = options;
  if (opened.checkpoint) begun.init.clear();  // its values are those of the checkpoint
  const VisionTransformer model =
      initial_model(begun, observer, data.images.train->about().class_names);
  const std::string warning =
      options.resume ? "" : warning_of_resolution(options, data.indices.train.size());
  if (!warning.empty()) observer.noted(warning);
  if (!options.teacher.empty()) {
    const Teacher teacher = open_teacher(options, data_config_of(data),
                                         [&](const std::string& s) { observer.noted(s); });
    data.checksum += TrainingData::of_teacher + teacher.checksum;
    const std::uint64_t both = bytes + teacher.model.config.forward_bytes(resident, sizeof(real));
    check_fits_in_memory(options.model, both, "to train beside its teacher");
    return carry_out(options, learner_of(model, teacher), data, opened, both, observer, at_end,
                     ranks);
  }
  if (options.task == Task::masked) {
    const Dataset& about = data.images.train->about();
    const MaskedViT masked(model, about.mean, about.std, Rng(options.seed).fork("weights"));
    const double guess = commonest_colour(masked, test_images_of(data));
    observer.noted(fmt::format(
        "accuracy is the share of hidden patches whose mean colour, one of {}, is said right: "
        "{:.2f} % of the test images' are of the commonest",
        colours_of(model.config.C), 100 * guess));
    return carry_out(options, learner_of(masked), data, opened, bytes, observer, at_end, ranks,
                     {{commonest_colour_key, fmt::format("{:.4f}", guess)}});
  }
  return carry_out(options, model, data, opened, bytes, observer, at_end, ranks);
}

RunResult train(const TrainOptions& wanted, const Learner& learner, const ImageSplit& images,
                Observer& rank_0s, const AtEnd& at_end, Ranks& ranks) {
  Observer& observer = heard(rank_0s, ranks);
  TrainOptions options = wanted;
  options.own_model = learner.name;
  check_there(images);
  options.dataset = images.train->about().name;
  options.validate();
  check_lanes(options, ranks);
  const TrainingData data = training_data(options, images);
  check_learner(learner, data);
  Opened opened(options, observer, ranks);
  if (opened.finished) {
    check_data(opened.checkpoint->tensors.source, opened.checkpoint->state.data, data.checksum);
    if (opened.directory) {
      load(learner.parameters, read_safetensors(opened.directory->weights_path()));
    }
    broadcast_values(ranks, learner.parameters);
    return *opened.finished;
  }
  return carry_out(options, learner, data, opened, 0, observer, at_end, ranks);
}

namespace {

// Of a model that knows no classes: what it says of hidden patches, where that is what it learned.
Score score_of(const TrainedModel& trained, const std::string& weights, const Loader& data,
               Evaluation& result) {
  const VisionTransformer& model = trained.model;
  if (model.config.head != Head::none) return score(model, data, &result.predictions);
  const TensorFile file = read_tensor_file(weights_file(weights));
  if (file.find("mask_token") == nullptr) {
    fail(Exit::usage, "{}: it has no head, and names no classes that could be right", weights);
  }
  const MaskedViT masked(model, trained.data.mean, trained.data.std, Rng(0));
  load(named_parameters(masked), file);
  result.note += fmt::format(
      "{}it learned the mean colours of hidden patches: what is counted are those, and {:.2f} % of "
      "them are of the commonest",
      result.note.empty() ? "" : "; ", 100 * commonest_colour(masked, data));
  return score(learner_of(masked), data);
}

}  // namespace

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
  const Score found = score_of(trained, options.weights, data, result);
  const Dataset& about = data.images().about();
  result.dataset = about.name;
  result.class_names = about.class_names;
  result.images = data.size();
  result.loss = found.loss;
  result.accuracy = found.accuracy;
  return result;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
