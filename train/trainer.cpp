#include "train/trainer.hpp"

#include "core/composed.hpp"
#include "core/error.hpp"
#include "core/ops.hpp"
#include "core/parallel.hpp"
#include "core/profile.hpp"
#include "datasets/batch.hpp"
#include "datasets/dataset.hpp"
#include "nn/optim.hpp"
#include "train/evaluation.hpp"
#include "train/html_report.hpp"
#include "train/profiled.hpp"
#include "train/run_directory.hpp"
#include "train/step.hpp"
#include "train/weights.hpp"
#include "vit/model.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

namespace vitruvian::inline VITRUVIAN_PRECISION {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The built-in digits are one data set, whatever seed a run has: results can be compared.
constexpr std::uint64_t digits_seed = 1;

Source source_of(const TrainOptions& options) {
  return {.name = options.dataset,
          .directory = options.data,
          .seed = digits_seed,
          .train_size = options.train_size,
          .test_size = options.test_size};
}

void check_shapes(const ViTConfig& model, const Dataset& data) {
  if (model.C != data.channels || model.H != data.height || model.W != data.width ||
      model.K != data.classes) {
    fail(Exit::data,
         "{}: images of {} x {} x {} in {} classes, but the model takes {} x {} x {} in {}",
         data.name, data.channels, data.height, data.width, data.classes, model.C, model.H, model.W,
         model.K);
  }
}

MicroBatch micro_batch(const Dataset& data, std::span<const std::size_t> indices, const Rng& rng) {
  Array images = empty({indices.size(), data.channels, data.height, data.width});
  normalised_images(data, indices, images.data());
  return {std::move(images), batch_labels(data, indices), rng};
}

struct Score {
  double loss = 0;
  double accuracy = 0;
};

// Groups of images, each carried through the net by one thread.
Score score(const VisionTransformer& model, const Dataset& data) {
  const std::vector<std::size_t> order = natural_order(data.size());
  const auto groups = shares(order, micro_batches_of(model.config, data.size()));
  std::vector<double> losses(groups.size());
  std::vector<std::size_t> correct(groups.size());
  const bool composed = Composed::active();
  parallel_for(groups.size(), 1, [&](std::size_t begin, std::size_t end) {
    const NoGrad no_grad;
    const Composed as_the_caller(composed);
    for (std::size_t i = begin; i < end; ++i) {
      const MicroBatch group = micro_batch(data, groups[i], Rng(0));
      const Tensor logits = model(group.images);
      losses[i] =
          static_cast<double>(cross_entropy(logits, group.labels, 0, Reduction::sum).item());
      correct[i] = count_correct(logits.value(), group.labels);
    }
  });
  const auto n = static_cast<double>(data.size());
  return {std::accumulate(losses.begin(), losses.end(), 0.0) / n,
          static_cast<double>(std::accumulate(correct.begin(), correct.end(), std::size_t{0})) / n};
}

// How a step's images are cut into micro-batches.
std::vector<std::span<const std::size_t>> cut(const TrainOptions& options,
                                              std::span<const std::size_t> images) {
  return options.micro_batch == 0 ? shares(images, micro_batches_of(options.model, images.size()))
                                  : batches(images, options.micro_batch);
}

// The most images of a step whose activations exist at the same time: a micro-batch a thread.
std::size_t images_at_once(const TrainOptions& options, std::size_t available) {
  const std::size_t batch = std::min(options.batch_size, available);
  const std::size_t parts = micro_batches_of(options.model, batch);
  const std::size_t each =
      options.micro_batch == 0 ? (batch + parts - 1) / parts : options.micro_batch;
  return std::min(batch, threads() * each);
}

std::string describe(const ViTConfig& c) {
  return fmt::format("ViT {} x {} x {}, P {}, D {}, L {}, h {}, M {}", c.H, c.W, c.C, c.P, c.D, c.L,
                     c.h, c.M);
}

// One run: what its epochs share.
class Run {
 public:
  Run(const TrainOptions& options, const Split& data, Observer& observer)
      : options_(options),
        data_(data),
        observer_(observer),
        rng_(options.seed),
        model_(options.model, rng_.fork("weights")),
        optimizer_(named_parameters(model_), adamw_options(options)),
        steps_an_epoch_((data.train.size() + options.batch_size - 1) / options.batch_size),
        steps_(options.epochs * steps_an_epoch_),
        warmup_(
            static_cast<std::size_t>(std::lround(options.warmup * static_cast<double>(steps_)))) {}

  [[nodiscard]] const VisionTransformer& model() const { return model_; }
  [[nodiscard]] std::size_t steps() const { return steps_; }

  EpochReport epoch(std::size_t epoch) {
    const std::vector<std::size_t> order =
        epoch_order(data_.train.size(), rng_.fork("order"), epoch);
    const auto begin = Clock::now();
    EpochReport report;
    std::size_t seen = 0;
    for (const auto indices : batches(order, options_.batch_size)) {
      const StepReport step = options_.profile && step_ == profiled_step()
                                  ? profiled(epoch, indices)
                                  : this->step(epoch, indices);
      seen += indices.size();
      report.train_loss += step.loss * static_cast<double>(indices.size());
      report.grad_norm += step.grad_norm;
      report.lr = step.lr;
    }
    const double training_seconds = seconds_since(begin);
    const Score test = score(model_, data_.test);
    report.epoch = epoch;
    report.epochs = options_.epochs;
    report.train_loss /= static_cast<double>(seen);
    report.train_accuracy =
        static_cast<double>(std::exchange(correct_, 0)) / static_cast<double>(seen);
    report.grad_norm /= static_cast<double>(steps_an_epoch_);
    report.test_loss = test.loss;
    report.test_accuracy = test.accuracy;
    report.images_per_second = static_cast<double>(seen) / training_seconds;
    report.seconds = seconds_since(start_);
    return report;
  }

 private:
  static AdamWOptions adamw_options(const TrainOptions& options) {
    AdamWOptions result;
    result.weight_decay = options.weight_decay;
    result.undecayed = all_but_weights;
    return result;
  }

  [[nodiscard]] double clip() const {
    return options_.clip > 0 ? options_.clip : std::numeric_limits<double>::infinity();
  }

  // The fourth, if there are so many: by then memory has been taken and branches are known.
  [[nodiscard]] std::size_t profiled_step() const { return std::min<std::size_t>(3, steps_ - 1); }

  StepReport profiled(std::size_t epoch, std::span<const std::size_t> indices) {
    StepReport step;
    ProfileReport profile = vitruvian::profiled([&] { step = this->step(epoch, indices); });
    profile.step = step.step;
    profile.images = indices.size();
    profile.micro_batches = cut(options_, indices).size();
    observer_.profiled(profile);
    return step;
  }

  StepReport step(std::size_t epoch, std::span<const std::size_t> indices) {
    const auto begin = Clock::now();
    const double lr = options_.lr * cosine_schedule(step_, steps_, warmup_);
    const auto images = cut(options_, indices);
    std::vector<MicroBatch> parts(images.size(), MicroBatch{Array(), {}, Rng(0)});
    parallel_for(images.size(), 1, [&](std::size_t first, std::size_t end) {
      for (std::size_t i = first; i < end; ++i) {
        parts[i] = micro_batch(data_.train, images[i], rng_.fork("dropout", {step_, i}));
      }
    });
    Profile::mark("images");
    const StepResult result = compute_gradients(model_, parts, options_.label_smoothing);
    const double norm = clip_grad_norm(optimizer_.parameters(), clip());
    if (!std::isfinite(result.loss) || !std::isfinite(norm)) {
      fail(Exit::failure,
           "training broke down: loss {}, gradient norm {} at step {} of {} (epoch {}, "
           "lr {:.2e}); a smaller --lr or a longer --warmup helps",
           result.loss, norm, step_ + 1, steps_, epoch, lr);
    }
    Profile::mark("clipping");
    optimizer_.step(lr);
    Profile::mark("AdamW");
    correct_ += result.correct;
    ++step_;
    stepping_seconds_ += seconds_since(begin);
    const double pace = stepping_seconds_ / static_cast<double>(step_);
    StepReport report{epoch,
                      options_.epochs,
                      step_,
                      steps_,
                      result.loss,
                      lr,
                      norm,
                      static_cast<double>(options_.batch_size) / pace,
                      pace * static_cast<double>(steps_ - step_)};
    observer_.stepped(report);
    return report;
  }

  const TrainOptions& options_;
  const Split& data_;
  Observer& observer_;
  Clock::time_point start_ = Clock::now();
  Rng rng_;
  VisionTransformer model_;
  AdamW optimizer_;
  std::size_t steps_an_epoch_;
  std::size_t steps_;
  std::size_t warmup_;
  std::size_t step_ = 0;
  std::size_t correct_ = 0;
  double stepping_seconds_ = 0;
};

}  // namespace

RunResult train(const TrainOptions& options, Observer& observer) {
  const auto start = Clock::now();
  options.validate();
  const Composed composed(options.composed);
  check_fits_in_memory(options.model, options.model.training_bytes(1, sizeof(real)), "to train");
  const Split data = load(source_of(options));
  check_shapes(options.model, data.train);
  const std::size_t resident = images_at_once(options, data.train.size());
  const std::uint64_t bytes = options.model.training_bytes(resident, sizeof(real));
  check_fits_in_memory(options.model, bytes,
                       fmt::format("to train on {} images at once", resident));

  std::optional<RunDirectory> directory;
  if (!options.out.empty()) directory.emplace(options.out, options.to_json());
  Run run(options, data, observer);
  observer.started({describe(options.model), options.model.parameters(), bytes, options.dataset,
                    data.train.size(), data.test.size(), options.epochs, run.steps()});
  RunResult result;
  for (std::size_t epoch = 1; epoch <= options.epochs; ++epoch) {
    result.last = run.epoch(epoch);
    if (directory) directory->append_metrics(result.last.to_json());
    observer.finished_epoch(result.last);
  }
  if (directory) {
    result.weights = directory->weights_path();
    save_weights(run.model(), {options.dataset, data.train.mean, data.train.std}, result.weights);
  }
  const Predictions predictions = predict_all(run.model(), data.test);
  observer.predicted(predictions, data.test.class_names);
  if (directory) {
    const ReportExamples examples{predictions, data.test};
    write_report(options.out, &examples);
  }
  result.seconds = seconds_since(start);
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
  Dataset data = load_test({.name = options.dataset,
                            .directory = options.data,
                            .seed = digits_seed,
                            .test_size = options.test_size});
  check_shapes(model.config, data);
  data.mean = trained.data.mean;
  data.std = trained.data.std;
  const Score result = score(model, data);
  return {options.dataset, data.size(), result.loss, result.accuracy};
}

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
