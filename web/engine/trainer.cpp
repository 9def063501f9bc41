#include "web/engine/trainer.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/datasets/batch.hpp"
#include "vitruvian/datasets/formats/digits.hpp"

#include <cmath>
#include <limits>
#include <span>
#include <utility>

namespace vitruvian::web {
namespace {

std::variant<AdamW, Adam, SGD> optimizer_of(const TrainerSettings& s, const Learner& learner) {
  if (s.optimizer == "sgd") {
    return SGD(learner.parameters,
               {.momentum = 0.9, .weight_decay = s.weight_decay, .undecayed = all_but_weights});
  }
  if (s.optimizer == "adam") {
    return Adam(learner.parameters, {.weight_decay = s.weight_decay, .undecayed = all_but_weights});
  }
  return AdamW(learner.parameters, {.weight_decay = s.weight_decay, .undecayed = all_but_weights});
}

MicroBatch micro_batch(const Dataset& data, std::span<const std::size_t> indices, const Rng& rng) {
  Array images = empty({indices.size(), data.channels, data.height, data.width});
  normalised_images(data, indices, images.data());
  return {std::move(images), batch_labels(data, indices), rng};
}

double root_mean_square(const Array& x) {
  double squares = 0;
  for (const float v : x) squares += static_cast<double>(v) * static_cast<double>(v);
  return std::sqrt(squares / static_cast<double>(x.size()));
}

}  // namespace

TrainerSettings TrainerSettings::of(const Json& settings) {
  TrainerSettings s;
  s.optimizer = field(settings, "optimizer", s.optimizer);
  s.learning_rate = field(settings, "learning_rate", s.learning_rate);
  s.weight_decay = field(settings, "weight_decay", s.weight_decay);
  s.images = field(settings, "images", std::uint64_t{s.images});
  s.batch = field(settings, "batch", std::uint64_t{s.batch});
  s.warmup = field(settings, "warmup", std::uint64_t{s.warmup});
  s.seed = field(settings, "seed", s.seed);
  index_of(s.optimizer, {"adamw", "adam", "sgd"}, "optimizer");
  if (s.images < 10 || s.images > 40'000) fail("images: expected 10 to 40000, got {}", s.images);
  if (s.batch < 1 || s.batch > 512 || s.batch > s.images) {
    fail("batch: expected 1 to 512, and no more than there are images, got {}", s.batch);
  }
  if (s.learning_rate < 0 || s.learning_rate > 10) {
    fail("learning_rate: expected 0 to 10, got {}", s.learning_rate);
  }
  if (s.weight_decay < 0 || s.weight_decay > 10) {
    fail("weight_decay: expected 0 to 10, got {}", s.weight_decay);
  }
  return s;
}

Trainer::Trainer(const VisionTransformer& model, const TrainerSettings& settings)
    : settings_(settings),
      learner_(model),
      optimizer_(optimizer_of(settings, learner_)),
      digits_(digits(settings.images, settings.seed, "train")),
      rng_(settings.seed) {}

Trainer::Batch Trainer::next_batch() {
  const std::size_t an_epoch = settings_.images / settings_.batch;  // what is left over waits
  const std::size_t in_epoch = batches_ % an_epoch;
  if (in_epoch == 0) {
    order_ = epoch_order(settings_.images, rng_.fork("order"), batches_ / an_epoch + 1);
  }
  const auto batch =
      std::span<const std::size_t>(order_).subspan(in_epoch * settings_.batch, settings_.batch);
  return {digits_, {batch.begin(), batch.end()}, rng_.fork("dropout", {batches_})};
}

MicroBatches Trainer::micro_batches(const Batch& batch) const {
  auto parts = shares(batch.indices, micro_batches_of(learner_.tokens, batch.indices.size()));
  const std::size_t count = parts.size();
  return {count, batch.indices.size(), [&batch, parts = std::move(parts)](std::size_t i) {
            return micro_batch(batch.data, parts[i], batch.dropout.fork("micro-batch", {i}));
          }};
}

Trainer::Step Trainer::step_on(const Batch& batch, bool keep) {
  Step taken;
  taken.result = compute_gradients(learner_, micro_batches(batch), 0);
  for (const NamedParameter& p : learner_.parameters) {
    if (!keep) break;
    taken.before.push_back(p.tensor.value());
    const Array* const gradient = p.tensor.grad();
    taken.gradients.push_back(gradient != nullptr ? *gradient : zeros(p.tensor.shape()));
  }
  taken.norm = clip_grad_norm(learner_.parameters, 1);
  if (!std::isfinite(taken.result.loss) || !std::isfinite(taken.norm)) {
    fail(
        "training broke down at step {}: the loss is {}, the norm of its gradient {}; a smaller "
        "learning rate may help",
        step() + 1, taken.result.loss, taken.norm);
  }
  taken.lr =
      settings_.learning_rate *
      constant_schedule(step(), std::numeric_limits<std::size_t>::max() / 2, settings_.warmup);
  std::visit([&](auto& optimizer) { optimizer.step(taken.lr); }, optimizer_);
  return taken;
}

double Trainer::loss_of(const Batch& batch) const {
  const NoGrad no_grad;
  const MicroBatches parts = micro_batches(batch);
  double sum = 0;
  for (std::size_t i = 0; i < parts.count; ++i) {
    const MicroBatch part = parts.make(i);
    sum += static_cast<double>(vitruvian::forward(learner_, part, 0).loss.item()) *
           static_cast<double>(part.labels.size());
  }
  return sum / static_cast<double>(parts.images);
}

Json Trainer::train(std::size_t steps) {
  if (steps == 0 || steps > 10'000) fail("expected 1 to 10000 steps, got {}", steps);
  return report(steps, batches_, [this] { return next_batch(); });
}

Json Trainer::learn(const Pixels& picture, std::size_t label) {
  Dataset data = as_dataset(picture);
  data.labels = {static_cast<std::uint32_t>(label)};
  return report(1, learned_, [&] {
    return Batch{data, {0}, rng_.fork("dropout of a picture", {learned_})};
  });
}

Json Trainer::report(std::size_t steps, std::size_t& taken, const std::function<Batch()>& next) {
  Json losses = Json::array();
  Json correct = Json::array();
  Step last;
  std::size_t images = 0;  // of the last step
  double after = 0;
  for (std::size_t i = 0; i < steps; ++i) {
    const bool is_last = i + 1 == steps;
    const Batch batch = next();
    last = step_on(batch, is_last);
    ++taken;
    losses.push_back(last.result.loss);
    correct.push_back(last.result.correct);
    images = batch.indices.size();
    if (is_last) after = loss_of(batch);
  }
  Json changes = Json::array();
  double promised = 0;
  for (std::size_t i = 0; i < learner_.parameters.size(); ++i) {
    const NamedParameter& p = learner_.parameters[i];
    const Array& gradient = last.gradients[i];
    Array update = p.tensor.value();
    for (std::size_t k = 0; k < update.size(); ++k) {
      update.data()[k] -= last.before[i].data()[k];
      promised += static_cast<double>(update.data()[k]) * static_cast<double>(gradient.data()[k]);
    }
    changes.push_back({{"name", p.name},
                       {"value", root_mean_square(p.tensor.value())},
                       {"gradient", root_mean_square(gradient)},
                       {"update", root_mean_square(update)}});
  }
  return {{"step", step()},
          {"images", batches_ * settings_.batch + learned_},
          {"losses", losses},
          {"correct", correct},
          {"learning_rate", last.lr},
          {"grad_norm", last.norm},
          {"batch", images},
          {"effect", {{"before", last.result.loss}, {"after", after}, {"promised", promised}}},
          {"changes", changes}};
}

Json score(const VisionTransformer& model, std::size_t images) {
  if (images == 0 || images > 10'000) fail("expected 1 to 10000 images, got {}", images);
  constexpr std::uint64_t held_out = 1;
  const Dataset data = digits(images, held_out, "test");
  const std::vector<std::size_t> order = natural_order(images);
  const Learner learner(model);
  double loss = 0;
  std::size_t correct = 0;
  const NoGrad no_grad;
  for (const auto part : shares(order, micro_batches_of(learner.tokens, images))) {
    const MicroBatch batch = micro_batch(data, part, Rng(0));
    const Tensor logits = learner.logits(batch.images, {});
    loss += static_cast<double>(cross_entropy(logits, batch.labels, 0, Reduction::sum).item());
    correct += count_correct(logits.value(), batch.labels);
  }
  const auto n = static_cast<double>(images);
  return {{"loss", loss / n}, {"accuracy", static_cast<double>(correct) / n}, {"images", images}};
}

}  // namespace vitruvian::web
