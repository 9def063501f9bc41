// The step of a run, and what happens when it breaks down.

#include "vitruvian/core/anomaly.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/memory.hpp"
#include "vitruvian/core/base/parallel.hpp"
#include "vitruvian/core/profile.hpp"
#include "vitruvian/datasets/batch.hpp"
#include "vitruvian/train/run/run.hpp"
#include "vitruvian/train/weights.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

double Run::schedule() const {
  switch (options_.schedule) {
    case ScheduleKind::linear:
      return linear_schedule(state_.step, steps_, warmup_);
    case ScheduleKind::constant:
      return constant_schedule(state_.step, steps_, warmup_);
    case ScheduleKind::cosine:
      break;
  }
  return cosine_schedule(state_.step, steps_, warmup_);
}

// How a step's images are cut: into batches, and each into micro-batches. Accumulating batches and
// a larger batch with micro-batches of the same sizes are the same list, and give the same bits.
Run::Cut Run::cut(std::span<const std::size_t> indices) const {
  Cut parts;
  for (const auto batch : batches(indices, options_.batch_size)) {
    const auto some = options_.micro_batch == 0
                          ? shares(batch, micro_batches_of(learner_.tokens, batch.size()))
                          : batches(batch, options_.micro_batch);
    parts.insert(parts.end(), some.begin(), some.end());
  }
  return parts;
}

std::size_t Run::turns() const {
  const std::span<const std::size_t> all = data_.indices.train;
  return cut(all.first(std::min(all.size(), options_.batch_size * options_.accumulate))).size();
}

// A picture of an epoch is the same whatever batch it is in: see Loader.
MicroBatch Run::training_batch(std::span<const std::size_t> indices, const Rng& rng) const {
  const Dataset& about = train_.images().about();
  Array images = empty({indices.size(), about.channels, about.height, about.width});
  Labels labels = train_.load(indices, state_.epochs + 1, images.data());
  MicroBatch result{std::move(images), std::move(labels.classes), rng};
  if (!labels.targets.empty()) {
    result.targets = array({indices.size(), about.classes}, labels.targets);
  }
  return result;
}

// The images of some steps that this rank will ask for, in their order.
std::vector<std::size_t> Run::own_images(
    std::span<const std::span<const std::size_t>> steps) const {
  std::vector<std::size_t> result;
  for (const auto indices : steps) {
    const auto parts = cut(indices);
    const LaneSum lanes(parts.size(), {options_.lanes, &ranks_});
    for (const std::size_t i : lanes.turns()) {
      result.insert(result.end(), parts[i].begin(), parts[i].end());
    }
  }
  return result;
}

MicroBatches Run::micro_batches(const Cut& parts) const {
  std::size_t images = 0;
  for (const auto part : parts) images += part.size();
  return {parts.size(), images, [this, &parts](std::size_t i) {
            MicroBatch part = training_batch(parts[i], rng_.fork("dropout", {state_.step, i}));
            part.step = rng_.fork("step", {state_.step});
            for (std::size_t before = 0; before < i; ++before) part.first += parts[before].size();
            return part;
          }};
}

StepReport Run::profiled_step(std::span<const std::size_t> indices) {
  StepReport report;
  ProfileReport profile = vitruvian::profiled([&] { report = step(indices); });
  profile.step = report.step;
  profile.images = indices.size();
  profile.micro_batches = cut(indices).size();
  observer_.profiled(profile);
  return report;
}

StepReport Run::step(std::span<const std::size_t> indices) {
  const auto begin = Clock::now();
  const double waited = ranks_.waited();
  const double lr = options_.lr * schedule();
  const auto parts = cut(indices);
  const MicroBatches micro = micro_batches(parts);
  StepResult result;
  try {
    std::optional<Anomaly> watch;
    if (options_.anomaly) watch.emplace();
    result =
        compute_gradients(learner_, micro, options_.label_smoothing, {options_.lanes, &ranks_});
  } catch (const NotFinite&) {
    broke_down(parts, "anomaly found");
  }
  const double norm =
      clip_grad_norm(learner_.parameters,
                     options_.clip > 0 ? options_.clip : std::numeric_limits<double>::infinity());
  if (!std::isfinite(result.loss) || !std::isfinite(norm)) {
    broke_down(parts, fmt::format("loss {}, gradient norm {}", result.loss, norm));
  }
  Profile::mark("clipping");
  std::visit([lr](auto& optimizer) { optimizer.step(lr); }, optimizer_);
  update_average();
  Profile::mark("optimizer");
  const std::size_t asked = indices.size() * learner_.rows;
  state_.loss_sum += result.loss * static_cast<double>(asked);
  state_.grad_norm_sum += norm;
  state_.lr = lr;
  state_.correct += result.correct;
  state_.seen += asked;
  ++state_.step;
  ++own_steps_;
  stepping_seconds_ += std::chrono::duration<double>(Clock::now() - begin).count();
  waiting_seconds_ += ranks_.waited() - waited;
  const double pace = stepping_seconds_ / static_cast<double>(own_steps_);
  return {state_.epochs + 1,
          options_.epochs,
          state_.step,
          steps_,
          result.loss,
          lr,
          norm,
          static_cast<double>(options_.batch_size * options_.accumulate) / pace,
          pace * static_cast<double>(steps_ - state_.step),
          ranks_.size(),
          waiting_seconds_ / stepping_seconds_};
}

// a = d a + (1 - d) w, with a smaller d at the start: then the first weights are forgotten.
void Run::update_average() {
  if (average_.empty()) return;
  const auto t = static_cast<double>(state_.step + 1);
  const double d = std::min(options_.ema, (1 + t) / (10 + t));
  const std::vector<NamedParameter>& from = learner_.parameters;
  parallel_for(from.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Array& w = from[i].tensor.value();
      const WriteGuard a = average_[i].tensor.mutable_value();
      std::transform(a->begin(), a->end(), w.begin(), a->begin(),
                     [c = static_cast<real>(1 - d)](real x, real y) { return x + c * (y - x); });
    }
  });
}

// The gradients were finite, so what is not in the weights came of the step's size.
void Run::check_weights() const {
  for (const NamedParameter& p : learner_.parameters) {
    const Array& w = p.tensor.value();
    if (std::all_of(w.begin(), w.end(), [](real x) { return std::isfinite(x); })) continue;
    fail(Exit::failure,
         "training broke down: '{}' holds NaN or infinity after step {} of {} (lr {:.2e})", p.name,
         state_.step, steps_, state_.lr);
  }
}

// Every rank has computed them from the same sums. Where one has others, most are right.
void Run::compare_weights() const {
  if (ranks_.size() == 1) return;
  const std::vector<std::uint32_t> sums = all_of(ranks_, checksum_of(learner_.parameters));
  const auto votes = [&](std::uint32_t s) { return std::count(sums.begin(), sums.end(), s); };
  std::uint32_t right = sums[0];
  for (const std::uint32_t s : sums) right = votes(s) > votes(right) ? s : right;
  const std::vector<std::string> names = all_texts(ranks_, name_of(ranks_));
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (sums[i] == right) continue;
    fail(Exit::failure,
         "after step {} the weights of {} have the checksum {:08x}, those of the others {:08x}: "
         "its machine computes wrongly, or it began with others",
         state_.step, names[i], sums[i], right);
  }
}

// The weights are still those before the step: it is computed again, with every number looked at.
void Run::broke_down(const Cut& parts, const std::string& what) const {
  const MicroBatches micro = micro_batches(parts);
  std::string found = "every op's numbers are finite: their sum is not";
  for (std::size_t i = 0; i < micro.count; ++i) {
    const MicroBatch part = micro.make(i);
    try {
      const Anomaly watch;
      const Forward pass = forward(learner_, part, options_.label_smoothing);
      grad(pass.loss, trainable(learner_.parameters),
           scalar(static_cast<real>(static_cast<double>(part.labels.size()) /
                                    static_cast<double>(micro.images))));
    } catch (const NotFinite& first) {
      std::vector<std::size_t> images;
      if (first.finding.axis0 == part.labels.size()) {
        for (const std::size_t row : first.finding.rows) images.push_back(parts[i][row]);
      } else {
        images.assign(parts[i].begin(), parts[i].end());
      }
      if (images.size() > 8) images.resize(8);
      for (std::size_t& image : images) image = data_.indices.train[image];
      found = fmt::format("the first is {}, training images {}", first.finding.to_text(),
                          joined(images));
      break;
    }
  }
  fail(Exit::failure,
       "training broke down at step {} of {} (epoch {}, lr {:.2e}), {}: {}; a smaller lr or a "
       "longer warmup helps",
       state_.step + 1, steps_, state_.epochs + 1, options_.lr * schedule(), what, found);
}

namespace {

// y = x, again and again, and back.
double seconds_of_chain(std::size_t length) {
  const auto begin = std::chrono::steady_clock::now();
  {
    const Tensor x(scalar(1), true);
    Tensor y = x;
    for (std::size_t i = 0; i < length; ++i) {
      y = record("same", Array(y.value()), {y},
                 [](const Node&, Array& g) { return cotangents(std::move(g)); });
    }
    y.backward();
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

double seconds_a_node() {
  constexpr std::size_t length = 2000;
  double best = seconds_of_chain(length);
  for (int i = 0; i < 10; ++i) best = std::min(best, seconds_of_chain(length));
  return best / static_cast<double>(length);
}

ProfileReport profiled(const std::function<void()>& step) {
  const OneThread one;
  ProfileReport report;
  memory::reset_peak();
  report.bytes_before = memory::bytes();
  {
    const Profile profile;
    step();
    report.ops = profile.ops();
    report.paths = profile.paths();
    report.others = profile.others();
  }
  report.peak_bytes = memory::peak_bytes();
  report.node_seconds = seconds_a_node();
  return report;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
