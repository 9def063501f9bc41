// The check that trains the learner's own Vision Transformer, and writes what it has learned.

#include "lessons/exercises/own.hpp"
#include "vitruvian/core/base/console.hpp"
#include "vitruvian/datasets/formats/digits.hpp"
#include "vitruvian/nn/tensor_file.hpp"
#include "vitruvian/vit/config.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numbers>

namespace vitruvian::lessons {
inline namespace VITRUVIAN_PRECISION {
namespace {

using Step = double(TrainingState&, const Tensor&, const std::vector<std::size_t>&, std::size_t,
                    const TrainingPlan&);

bool decays(const std::string& name) {
  return name.ends_with("weight") && name.find("norm") == std::string::npos;
}

TrainingState begun(const Parameters& parameters) {
  TrainingState state;
  for (const auto& [name, w] : parameters) {
    state[name] = {w, zeros(w.shape()), zeros(w.shape()), 0};
  }
  return state;
}

Parameters parameters_of(const TrainingState& state) {
  Parameters result;
  for (const auto& [name, one] : state) result[name] = one.w;
  return result;
}

// One step with something wrong: 0 nothing, 1 all decays, 2 nothing clipped, 3 each clipped by
// itself, 4 no schedule, 5 nothing decays, 6 the schedule a step late.
TrainingState stepped(TrainingState state, const LossAndGradients& batch, std::size_t step,
                      const TrainingPlan& plan, int slip) {
  double squares = 0;
  for (const auto& [name, g] : batch.gradients) squares += sum(square(g)).item();
  const auto factor = [&](double length) { return std::min(1.0, plan.max_norm / length); };
  AdamWRates rates = plan.rates;
  const std::size_t at = slip == 6 ? step + 1 : step;
  const double progress =
      static_cast<double>(at - plan.warmup) / static_cast<double>(plan.steps - plan.warmup);
  if (slip != 4) {
    rates.eta *= at < plan.warmup ? static_cast<double>(at + 1) / static_cast<double>(plan.warmup)
                                  : (1 + std::cos(std::numbers::pi * progress)) / 2;
  }
  for (auto& [name, s] : state) {
    const Tensor g0 = batch.gradients.at(name);
    const double own = std::sqrt(sum(square(g0)).item());
    const Tensor g = g0 * (slip == 2 ? 1.0 : slip == 3 ? factor(own) : factor(std::sqrt(squares)));
    const double lambda = slip == 1 || (decays(name) && slip != 5) ? rates.lambda : 0;
    const double t = static_cast<double>(++s.t);
    s.m = s.m * rates.beta1 + g * (1 - rates.beta1);
    s.v = s.v * rates.beta2 + square(g) * (1 - rates.beta2);
    const Tensor root = sqrt(s.v / (1 - std::pow(rates.beta2, t)));
    s.w = s.w * (1 - rates.eta * lambda) -
          s.m / (1 - std::pow(rates.beta1, t)) / (root + rates.eps) * rates.eta;
  }
  return state;
}

void judge_step(Judge& judge, Step* yours, const Tiny& tiny, std::size_t step) {
  TrainingPlan plan{.sizes = tiny.sizes, .steps = 20, .warmup = 4, .max_norm = 0.01, .rates = {}};
  plan.rates = {.eta = 0.05, .eps = 1e-3, .lambda = 0.3};
  judge.in_case(fmt::format("step {} of {}, {}", step, plan.steps, tiny.text()), [&] {
    const TrainingState before = begun(tiny.parameters(5));
    TrainingState state = before;
    const double loss = yours(state, tiny.images(), tiny.labels(), step, plan);
    const Parameters p = parameters_of(before);
    const LossAndGradients batch = gradients(p, tiny.images(), tiny.labels(), tiny.sizes);
    for (const auto& [name, s] : state) {
      if (!s.w) return judge.wrong(fmt::format("{} is empty now. {}", name, open_gap));
    }
    if (loss == 0 && state.begin()->second.t == 0) {
      return judge.wrong(fmt::format("No step was taken: the loss is 0. {}", open_gap));
    }
    judge.compare("the loss", loss, batch.loss, "the equations say");
    const char* const why[] = {
        "",
        "λ is for matrices alone: is_matrix(name) says which.",
        "The gradients are not clipped.",
        "Each parameter is clipped by itself; all together are one gradient, with one length.",
        "The schedule's factor is missing.",
        "Nothing decays: λ is plan.rates.lambda for matrices.",
        "The schedule is a step late: hand it `step` as it came."};
    std::vector<TrainingState> wrong;
    for (int slip = 0; slip < 7; ++slip) wrong.push_back(stepped(before, batch, step, plan, slip));
    for (const auto& [name, s] : wrong[0]) {
      std::vector<Guess> guesses;
      for (std::size_t slip = 1; slip < wrong.size(); ++slip) {
        guesses.push_back({why[slip], wrong[slip].at(name).w});
      }
      judge.compare(name, state[name].w, s.w, "the equations say", guesses);
      judge.compare("m of " + name, state[name].m, s.m, "the equations say",
                    {{why[2], wrong[2].at(name).m}, {why[3], wrong[3].at(name).m}});
    }
  });
}

// The images `which` of a set, as a model takes them.
Tensor images_of(const Dataset& data, const std::vector<std::size_t>& which) {
  Array x = empty({which.size(), 1, data.height, data.width});
  double* to = x.data();
  for (const std::size_t i : which) {
    for (const std::uint8_t pixel : data.image(i)) {
      *to++ = (pixel / 255.0 - data.mean[0]) / data.std[0];
    }
  }
  return x;
}
std::vector<std::size_t> labels_of(const Dataset& data, const std::vector<std::size_t>& which) {
  std::vector<std::size_t> labels;
  for (const std::size_t i : which) labels.push_back(data.labels[i]);
  return labels;
}

// Xavier's matrices, positions and class token of deviation 0.02, a head of zeros.
Parameters fresh_vit(const VitSizes& sizes, std::size_t side) {
  Parameters p;
  std::uint64_t seed = 1;
  for (const auto& [name, shape] : vit_shapes(sizes, 1, side)) {
    double deviation = 0;
    if (decays(name) && name != "head.weight") {
      deviation = std::sqrt(2.0 / static_cast<double>(shape[0] + shape[1]));
    }
    if (name == "pos_embed" || name == "cls_token") deviation = 0.02;
    p[name] = normal(shape, seed++) * deviation;
    if (name.ends_with("weight") && !decays(name)) p[name] = full(shape, 1);
  }
  return p;
}

std::size_t read_right(const Parameters& p, const VitSizes& sizes, const Dataset& data) {
  std::vector<std::size_t> all(data.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  OwnTape tape;
  Weights w;
  for (const auto& [name, value] : p) w[name] = leaf(tape, value);
  const Array logits = vit(w, images_of(data, all), sizes).value().value();
  std::size_t right = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double* const row = logits.data() + i * sizes.K;
    const auto best = std::max_element(row, row + sizes.K) - row;
    right += static_cast<std::size_t>(best) == data.labels[i] ? 1 : 0;
  }
  return right;
}

// Writes the weights as `vitruvian train` does; returns the file's path.
std::string write_weights(const Parameters& p, const VitSizes& sizes, const Dataset& data,
                          const std::string& beside) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(beside).parent_path() / "own_vit";
  fs::create_directories(folder);
  const std::string path = (folder / "model.safetensors").string();
  ViTConfig config;
  config.P = sizes.P, config.D = sizes.D, config.L = sizes.L;
  config.h = sizes.h, config.M = sizes.M, config.K = sizes.K;
  std::vector<StoredTensor> tensors;
  for (const auto& [name, value] : p) {
    Shape shape = value.shape();
    if (name == "patch_embed.proj.weight") shape = {sizes.D, 1, sizes.P, sizes.P};
    const Array& a = value.value();
    tensors.push_back(stored(name, {shape.begin(), shape.end()}, {a.begin(), a.end()}));
  }
  write_safetensors(path, tensors,
                    {{"config", config.to_json()},
                     {"dataset", "digits"},
                     {"format", "pt"},
                     {"mean", fmt::format("[{}]", data.mean[0])},
                     {"std", fmt::format("[{}]", data.std[0])}});
  return path;
}

}  // namespace

void own_training_check(Judge& judge) {
  const auto yours = judge.yours<Step>();
  for (const std::size_t step : {0, 3, 12}) judge_step(judge, yours, tiny_ones()[1], step);
  if (!judge.all_agreed()) return;  // no use in training
  constexpr std::size_t images = 40000, batch = 32, epochs = 2, held_out = 1000, wanted = 950;
  judge.in_case("trained on 40,000 drawn digits, it reads 950 of 1,000 others", [&] {
    TrainingPlan plan{
        .sizes = {}, .steps = images / batch * epochs, .warmup = 30, .max_norm = 1, .rates = {}};
    plan.rates = {.eta = 5e-3, .lambda = 0.05};
    const Dataset train = digits(images, 1, "train");
    const Dataset test = digits(held_out, 1, "test");
    TrainingState state = begun(fresh_vit(plan.sizes, train.height));
    const Rng rng(1);
    std::vector<std::size_t> order;
    for (std::size_t step = 0; step < plan.steps; ++step) {
      const std::size_t of_epoch = step % (images / batch);
      if (of_epoch == 0) order = rng.fork("order", {step}).permutation(images);
      const std::vector<std::size_t> which(
          order.begin() + static_cast<long>(of_epoch * batch),
          order.begin() + static_cast<long>((of_epoch + 1) * batch));
      const double loss =
          yours(state, images_of(train, which), labels_of(train, which), step, plan);
      if (step % 250 == 0 || step + 1 == plan.steps) {
        console::print("            step {:4}  loss {:.3f}\n", step, loss);
        console::flush();
      }
    }
    const Parameters p = parameters_of(state);
    const std::size_t right = read_right(p, plan.sizes, test);
    if (right < wanted) {
      return judge.wrong(
          fmt::format("It reads {} of {} digits that it has never seen.", right, held_out));
    }
    const std::string path = write_weights(p, plan.sizes, train, judge.file());
    console::print(
        "            It reads {} of {} digits that it has never seen. It is yours, and here:\n"
        "              {}\n"
        "            vitruvian predict reads pictures with it; the explorer looks inside.\n",
        right, held_out, console::visible(path));
  });
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian::lessons
