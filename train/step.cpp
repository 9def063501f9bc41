#include "vitruvian/train/step.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/parallel.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/core/profile.hpp"
#include "vitruvian/vit/model.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

Learner::Learner(const VisionTransformer& model)
    : Learner(named_parameters(model),
              [&model](const Tensor& images, const Pass& pass) { return model(images, pass); }) {
  const ViTConfig& c = model.config;
  name = fmt::format("ViT {} x {} x {}, P {}, D {}, L {}, h {}, M {}", c.H, c.W, c.C, c.P, c.D, c.L,
                     c.h, c.M);
  tokens = c.T();
  vit = &model;
}

std::vector<NamedParameter> copied(const std::vector<NamedParameter>& parameters) {
  std::vector<NamedParameter> result;
  for (const NamedParameter& p : parameters) {
    result.push_back({p.name, p.role, Tensor(p.tensor.value())});
  }
  return result;
}

void broadcast_values(Ranks& ranks, const std::vector<NamedParameter>& parameters) {
  for (const NamedParameter& p : parameters) {
    const WriteGuard w = p.tensor.mutable_value();
    broadcast_bytes(ranks, std::as_writable_bytes(std::span(w->data(), w->size())));
  }
}

Exchanged::Exchanged(const std::vector<NamedParameter>& one,
                     const std::vector<NamedParameter>& other)
    : one_(one), other_(other) {
  exchange();
}
Exchanged::~Exchanged() { exchange(); }

void Exchanged::exchange() const {
  for (std::size_t i = 0; i < one_.size(); ++i) {
    const WriteGuard a = one_[i].tensor.mutable_value();
    const WriteGuard b = other_[i].tensor.mutable_value();
    if (&*a != &*b) std::swap(*a, *b);
  }
}

Reducer::Reducer(std::vector<Tensor> parameters, LaneSum& lanes)
    : parameters_(std::move(parameters)),
      lanes_(lanes),
      sums_(parameters_.size()),
      ahead_(2 * threads()) {
  lanes_.expect(parameters_);
}

void Reducer::add(std::size_t turn, std::size_t i, Array gradient) {
  Sum& its = sums_[i];
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return turn < its.next + ahead_ || turn > failed_; });
  if (turn > failed_) fail("reducer: micro-batch {} failed before {}", failed_, turn);
  its.waiting.emplace(turn, std::move(gradient));
  if (its.adding) return;  // whoever adds will find it
  its.adding = true;
  while (!its.waiting.empty() && its.waiting.begin()->first == its.next) {
    Array next = std::move(its.waiting.extract(its.next).mapped());
    lock.unlock();
    add_next(its, i, std::move(next));
    lock.lock();
    ++its.next;
    changed_.notify_all();
  }
  its.adding = false;
}

void Reducer::add_next(Sum& its, std::size_t i, Array gradient) {
  if (its.sum) {
    add_in_place(*its.sum, gradient);
  } else {
    its.sum = std::move(gradient);
  }
  if (lanes_.ends_lane(its.next)) {
    lanes_.add(i, *std::exchange(its.sum, std::nullopt));
  } else {
    lanes_.move_on();
  }
}

void Reducer::abandon(std::size_t turn) {
  const std::scoped_lock lock(mutex_);
  failed_ = std::min(failed_, turn);
  changed_.notify_all();
}

void Reducer::finish() {
  std::vector<Array> whole = lanes_.finish();
  for (std::size_t i = 0; i < whole.size(); ++i) parameters_[i].set_grad(std::move(whole[i]));
}

std::size_t micro_batches_of(std::size_t tokens, std::size_t images) {
  if (tokens == 0) fail("micro_batches_of: an image has at least one token, not 0");
  constexpr std::size_t rows = 600;
  constexpr std::size_t most_images = 16;
  const std::size_t most = std::clamp<std::size_t>(rows / tokens, 1, most_images);
  const std::size_t fours = (images + 4 * most - 1) / (4 * most);
  return std::clamp<std::size_t>(4 * fours, 1, std::max<std::size_t>(1, images));
}

std::vector<Question> Learner::ask(const MicroBatch& part, const Pass& pass) const {
  if (questions) {
    std::vector<Question> asked = questions(part, pass);
    if (asked.empty()) fail("{}: nothing is asked of a micro-batch", name);
    return asked;
  }
  return {{logits(part.images, pass), part.labels, part.targets}};
}

Forward forward(const Learner& learner, const MicroBatch& part, double label_smoothing) {
  const std::vector<Question> asked = learner.ask(part, {.rng = &part.rng});
  Tensor loss;
  for (const Question& q : asked) {
    const double smoothing = q.smoothed ? label_smoothing : 0;
    const Tensor cost = q.targets ? cross_entropy(q.logits, *q.targets, smoothing)
                                  : cross_entropy(q.logits, q.labels, smoothing);
    const Tensor term = q.weight == 1 ? cost : q.weight * cost;
    loss = loss ? loss + term : term;
  }
  return {std::move(loss), count_correct(asked.front().logits.value(), asked.front().labels)};
}

StepResult compute_gradients(const Learner& learner, std::span<const MicroBatch> micro_batches,
                             double label_smoothing, const Sharing& sharing) {
  std::size_t images = 0;
  for (const MicroBatch& part : micro_batches) images += part.labels.size();
  return compute_gradients(
      learner, {micro_batches.size(), images, [&](std::size_t i) { return micro_batches[i]; }},
      label_smoothing, sharing);
}

StepResult compute_gradients(const Learner& learner, const MicroBatches& micro_batches,
                             double label_smoothing, const Sharing& sharing) {
  if (micro_batches.images == 0) fail("compute_gradients: a step of no images");
  const std::vector<Tensor> parameters = trainable(learner.parameters);
  LaneSum lanes(micro_batches.count, sharing);
  Reducer reducer(parameters, lanes);
  std::vector<StepResult> results(micro_batches.count);
  const auto run = [&](std::size_t position) {
    const std::size_t i = lanes.turns()[position];
    const MicroBatch part = micro_batches.make(i);
    Profile::mark("images");
    const double weight =
        static_cast<double>(part.labels.size()) / static_cast<double>(micro_batches.images);
    const auto [loss, correct] = forward(learner, part, label_smoothing);
    grad_as_ready({loss}, parameters, {scalar(static_cast<real>(weight))}, false,
                  [&](std::size_t parameter, Array gradient) {
                    Profile::mark("tape");
                    reducer.add(position, parameter, std::move(gradient));
                    Profile::mark("sum of gradients");
                  });
    results[i] = {weight * static_cast<double>(loss.item()), correct};
  };
  parallel_for(lanes.turns().size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      try {
        run(i);
      } catch (...) {
        reducer.abandon(i);
        throw;
      }
    }
  });
  reducer.finish();
  exchange(*sharing.ranks, results, [&](std::size_t i) { return lanes.owner(i); });

  StepResult sum;
  for (const StepResult& result : results) {
    sum.loss += result.loss;
    sum.correct += result.correct;
  }
  return sum;
}

std::size_t count_correct(const Array& logits, std::span<const std::size_t> labels) {
  if (logits.dimension() != 2 || logits.shape()[0] != labels.size()) {
    fail("count_correct: logits {} and {} labels; expected (B, K) and B", to_string(logits.shape()),
         labels.size());
  }
  const std::size_t K = logits.shape()[1];
  std::size_t correct = 0;
  for (std::size_t b = 0; b < labels.size(); ++b) {
    const real* const row = logits.data() + b * K;
    const auto guess = static_cast<std::size_t>(std::max_element(row, row + K) - row);
    const bool numbers = std::none_of(row, row + K, [](real x) { return std::isnan(x); });
    correct += numbers && guess == labels[b] ? 1 : 0;
  }
  return correct;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
