#include "lessons/training.hpp"

#include "core/ops.hpp"
#include "core/parallel.hpp"
#include "datasets/batch.hpp"
#include "nn/init.hpp"
#include "nn/optim.hpp"
#include "nn/schedule.hpp"
#include "train/step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace vitruvian::lessons::inline VITRUVIAN_PRECISION {
namespace {

// Images that one thread carries through the net; fixed, so that the number of threads changes
// nothing.
constexpr std::size_t group = 16;

// The images [begin, end) of a batch.
Batch part_of(const Batch& batch, std::size_t begin, std::size_t end) {
  Shape shape = batch.images.shape();
  const std::size_t image = batch.images.size() / shape[0];
  shape[0] = end - begin;
  Array images = empty(shape);
  std::copy_n(batch.images.data() + begin * image, images.size(), images.data());
  return {std::move(images),
          {batch.labels.begin() + static_cast<std::ptrdiff_t>(begin),
           batch.labels.begin() + static_cast<std::ptrdiff_t>(end)}};
}

}  // namespace

Batch batch_of(const Dataset& data, std::span<const std::size_t> indices) {
  Array images = empty({indices.size(), data.channels, data.height, data.width});
  normalised_images(data, indices, images.data());
  return {std::move(images), batch_labels(data, indices)};
}

Batch all_of(const Dataset& data) { return batch_of(data, natural_order(data.size())); }

double gradients(const Learner& learner, const Batch& batch) {
  const std::vector<Tensor> leaves = trainable(learner.parameters);
  const std::size_t n = batch.labels.size();
  Reducer reducer(leaves);
  std::vector<double> losses((n + group - 1) / group);
  parallel_for(n, group, [&](std::size_t begin, std::size_t end) {
    const std::size_t turn = begin / group;
    try {
      const Batch part = part_of(batch, begin, end);
      const double share = static_cast<double>(end - begin) / static_cast<double>(n);
      const Tensor loss = cross_entropy(learner.logits(part.images), part.labels);
      reducer.add(turn, grad(loss, leaves, scalar(static_cast<real>(share))));
      losses[turn] = share * static_cast<double>(loss.item());
    } catch (...) {
      reducer.abandon(turn);
      throw;
    }
  });
  reducer.finish();
  return std::accumulate(losses.begin(), losses.end(), 0.0);
}

std::vector<double> fit(const Learner& learner, const Dataset& train, const FitOptions& options) {
  AdamWOptions how;
  how.weight_decay = options.weight_decay;
  how.undecayed = all_but_weights;
  AdamW optimizer(learner.parameters, how);
  const Rng rng = Rng(options.seed).fork("order");
  std::vector<double> losses;
  for (std::size_t epoch = 1; losses.size() < options.steps; ++epoch) {
    const std::vector<std::size_t> order = epoch_order(train.size(), rng, epoch);
    for (const auto indices : batches(order, options.batch_size)) {
      const std::size_t step = losses.size();
      if (step == options.steps) break;
      losses.push_back(gradients(learner, batch_of(train, indices)));
      clip_grad_norm(learner.parameters, options.clip);
      optimizer.step(options.lr * cosine_schedule(step, options.steps, options.steps / 20));
    }
  }
  return losses;
}

// [region larger]
// All parameters as they were, but the positions, and a fresh head of zeros.
VisionTransformer larger(const VisionTransformer& trained, std::size_t side,
                         const Array& positions) {
  ViTConfig c = trained.config;
  c.H = c.W = side;
  VisionTransformer model(c, Rng(1).fork("fresh"));
  const auto from = named_parameters(trained), to = named_parameters(model);
  for (std::size_t i = 0; i < to.size(); ++i) {
    const Tensor& parameter = to[i].tensor;
    if (to[i].name == "pos_embed") parameter.mutable_value() = positions;
    if (parameter.shape() == from[i].tensor.shape()) {
      parameter.mutable_value() = from[i].tensor.value();
    }
  }
  init::constant(model.head.weight, 0);
  init::constant(model.head.bias, 0);
  return model;
}

// [region fine-tune]
// Table 4 of the paper: SGD with momentum, cosine, clip 1, no weight decay.
std::vector<double> fine_tune(const Learner& net, const Dataset& data, std::size_t batch_size,
                              const Rng& rng) {
  SgdOptions momentum;
  momentum.momentum = 0.9;
  SGD optimizer(net.parameters, momentum);
  const auto order = epoch_order(data.size(), rng, 1);
  const auto all = batches(order, batch_size);
  std::vector<double> losses;
  for (const auto images : all) {
    const double rate = 0.03 * cosine_schedule(losses.size(), all.size(), 4);
    losses.push_back(gradients(net, batch_of(data, images)));
    clip_grad_norm(net.parameters, 1);
    optimizer.step(rate);
  }
  return losses;
}
// [end]

Diary trained(const TrainOptions& options, std::size_t with_threads) {
  struct Listener : Observer {
    Diary diary;
    void stepped(const StepReport& step) override { diary.losses.push_back(step.loss); }
    void finished_epoch(const EpochReport& report) override { diary.epoch = report; }
  };
  const std::size_t before = threads();
  set_threads(with_threads);
  Listener listener;
  vitruvian::VITRUVIAN_PRECISION::train(options, listener);  // both are declared
  set_threads(before);
  return listener.diary;
}

double accuracy(const Learner& learner, const Dataset& test) {
  const std::vector<std::size_t> order = natural_order(test.size());
  const auto groups = batches(order, group);
  std::vector<std::size_t> correct(groups.size());
  parallel_for(groups.size(), 1, [&](std::size_t begin, std::size_t end) {
    const NoGrad no_grad;
    for (std::size_t i = begin; i < end; ++i) {
      const Batch part = batch_of(test, groups[i]);
      correct[i] = count_correct(learner.logits(part.images).value(), part.labels);
    }
  });
  return static_cast<double>(std::accumulate(correct.begin(), correct.end(), std::size_t{0})) /
         static_cast<double>(test.size());
}

std::string in_fives(double share) { return fmt::format("{:.0f} %", 5 * std::round(20 * share)); }

double rounded(double x, int digits) { return std::stod(fmt::format("{:.{}e}", x, digits - 1)); }

Curves::Series curve_of(std::string name, const std::vector<double>& losses) {
  Curves::Series curve{std::move(name), {}, {}};
  for (const double loss : losses) {
    curve.y.push_back(rounded(loss, 2));
    curve.x.push_back(static_cast<double>(curve.y.size()));
  }
  return curve;
}

}  // namespace vitruvian::lessons::inline VITRUVIAN_PRECISION
