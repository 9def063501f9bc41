#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/datasets/batch.hpp"
#include "vitruvian/nn/init.hpp"
#include "vitruvian/nn/optim.hpp"
#include "vitruvian/train/masked.hpp"
#include "vitruvian/train/step.hpp"
#include "vitruvian/train/train.hpp"
#include "vitruvian/vit/model.hpp"

#include <algorithm>
#include <cmath>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

constexpr std::size_t images_by_heart = 20;

// Equal probabilities for K classes cost ln K.
SanityCheck initial_loss(const Learner& learner, const MicroBatch& part) {
  const std::size_t K = learner.ask(part, {}).front().logits.size(1);
  const double found = static_cast<double>(forward(learner, part, 0).loss.item());
  const double expected = std::log(static_cast<double>(K));
  return {fmt::format("loss at the start {:.4f}, ln K {:.4f}", found, expected),
          std::abs(found - expected) < 0.25 * expected};
}

// A derivative of the loss by some numbers of every parameter, against four-point differences. The
// head of zeros lets no gradient through: it is drawn first.
SanityCheck gradients(const Learner& learner, const MicroBatch& part, const Rng& rng) {
  const std::vector<NamedParameter>& parameters = learner.parameters;
  for (const NamedParameter& p : parameters) {
    const bool begins_as_zeros = p.name.starts_with("head") || p.name.starts_with("mask_head.");
    if (begins_as_zeros) init::normal(p.tensor, rng.fork(p.name), 0.1);
  }
  const auto loss = [&] {
    const NoGrad no_grad;
    return static_cast<double>(forward(learner, part, 0).loss.item());
  };
  const double h = sizeof(real) == 8 ? 1e-3 : 1e-2;
  double worst = 0;
  std::string where;
  std::size_t checked = 0;
  compute_gradients(learner, std::span(&part, 1), 0);
  for (const NamedParameter& p : parameters) {
    if (!p.tensor.requires_grad()) continue;
    const Array analytic = *p.tensor.grad();
    double largest = 0;
    for (std::size_t i = 0; i < analytic.size(); ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(analytic.data()[i])));
    }
    for (std::uint64_t draw = 0; draw < 2; ++draw) {
      const std::size_t i = rng.fork("entry").fork(p.name).below(analytic.size(), draw);
      const WriteGuard value = p.tensor.mutable_value();
      real* const x = value->data() + i;
      const real before = *x;
      const auto at = [&](double step) {
        *x = static_cast<real>(static_cast<double>(before) + step);
        return loss();
      };
      const double numeric = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
      *x = before;
      const double exact = static_cast<double>(analytic.data()[i]);
      const double scale = std::max({std::abs(exact), std::abs(numeric), 1e-3 * largest, 1e-6});
      ++checked;
      const double error = std::abs(exact - numeric) / scale;
      if (!(error <= worst) && !std::isnan(worst)) {  // once NaN, the worst stays it
        worst = error;
        where = p.name;
      }
    }
  }
  zero_grad(parameters);
  return {fmt::format("{} derivatives of this model against differences: worst relative error "
                      "{:.1e}, in {}",
                      checked, worst, where),
          worst < (sizeof(real) == 8 ? 1e-4 : 0.2)};
}

// A model that cannot learn a few images by heart will not learn many.
SanityCheck overfit(const Learner& learner, const MicroBatch& part) {
  constexpr std::size_t steps = 500;
  constexpr double low = 0.01;
  AdamW optimizer(learner.parameters, {.weight_decay = 0});
  double loss = 0;
  std::size_t step = 0;
  std::size_t correct = 0;
  const std::size_t all = part.labels.size() * learner.rows;
  for (; step < steps; ++step) {
    const StepResult result = compute_gradients(learner, std::span(&part, 1), 0);
    loss = result.loss;
    correct = result.correct;
    if (!std::isfinite(loss) || (loss < low && correct == all)) break;
    clip_grad_norm(optimizer.parameters(), 1);
    optimizer.step(1e-3 * linear_schedule(step, 2 * steps, 10));
  }
  return {fmt::format("{} of {} {} learned by heart in {}: loss {:.4f}{}", correct, all,
                      learner.classifies ? "images" : "patches", counted(step, "step"), loss,
                      loss < low ? "" : fmt::format(", not below {}", low)),
          loss < low && correct == all};
}

}  // namespace

std::vector<SanityCheck> sanity(const TrainOptions& options, const Learner& learner,
                                const TrainingData& data) {
  // Without what is drawn at random in training a loss is a function of the weights.
  Learner calm = learner;
  calm.questions = [&learner](const MicroBatch& part, const Pass&) {
    return learner.ask(part, {});
  };
  const std::size_t n = std::min(images_by_heart, data.indices.train.size());
  const Loader train(data.images.train, {.subset = data.indices.train});
  const std::vector<std::size_t> order = natural_order(n);
  const MicroBatch all = micro_batch(train, order);
  const MicroBatch two = micro_batch(train, std::span(order).first(std::min<std::size_t>(2, n)));
  std::vector<SanityCheck> checks{initial_loss(calm, all)};
  const std::vector<NamedParameter> scratch = copied(learner.parameters);
  {
    const Exchanged to_spoil(learner.parameters, scratch);
    checks.push_back(gradients(calm, two, Rng(options.seed).fork("sanity")));
  }
  copy_parameters(learner.parameters, scratch);
  const Exchanged to_spoil(learner.parameters, scratch);
  checks.push_back(overfit(calm, all));
  return checks;
}

std::vector<SanityCheck> sanity(const TrainOptions& options) {
  options.validate();
  if (!options.init.empty()) {
    fail(Exit::usage, "--sanity checks a model as it is drawn, before it learns: not with --init");
  }
  const TrainingData data = training_data(options);
  check_fits_in_memory(options.model, options.model.training_bytes(images_by_heart, sizeof(real)),
                       "to train");
  const VisionTransformer model(options.model, Rng(options.seed).fork("weights"));
  if (options.task != Task::masked) return sanity(options, model, data);
  const Dataset& about = data.images.train->about();
  const MaskedViT masked(model, about.mean, about.std, Rng(options.seed).fork("weights"));
  return sanity(options, learner_of(masked), data);
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
