// The checks of exercises on training, and on looking inside.

#include "lessons/exercises/judge.hpp"
#include "vitruvian/nn/optim.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace vitruvian::lessons {
inline namespace VITRUVIAN_PRECISION {
namespace {

// w after steps down the gradients `g`, entry by entry, with one thing wrong.
enum class Slip { none, coupled, uncorrected, eps_inside, no_root, uphill };
Array adam_by_loops(Array w, const std::vector<Tensor>& g, const AdamWRates& r, Slip slip) {
  for (std::size_t i = 0; i < w.size(); ++i) {
    double x = w.data()[i], m = 0, v = 0;
    for (std::size_t s = 0; s < g.size(); ++s) {
      const double t = static_cast<double>(s + 1);
      const double d = g[s].value().data()[i] + (slip == Slip::coupled ? r.lambda * x : 0);
      if (slip != Slip::coupled) x -= r.eta * r.lambda * x;
      m = r.beta1 * m + (1 - r.beta1) * d;
      v = r.beta2 * v + (1 - r.beta2) * d * d;
      const bool raw = slip == Slip::uncorrected;
      const double m_hat = raw ? m : m / (1 - std::pow(r.beta1, t));
      const double v_hat = raw ? v : v / (1 - std::pow(r.beta2, t));
      const double below = slip == Slip::eps_inside ? std::sqrt(v_hat + r.eps)
                           : slip == Slip::no_root  ? v_hat + r.eps
                                                    : std::sqrt(v_hat) + r.eps;
      x += (slip == Slip::uphill ? 1 : -1) * r.eta * m_hat / below;
    }
    w.data()[i] = x;
  }
  return w;
}

void adamw_step(Judge& judge) {
  const auto yours = judge.yours<AdamWState(AdamWState, const Tensor&, const AdamWRates&)>();
  struct Case {
    std::string label;
    std::size_t steps;
    AdamWRates rates;
  };
  const Case cases[] = {{"the first step", 1, {.eta = 0.1}},
                        {"the first step, λ = 0", 1, {.eta = 0.1, .lambda = 0}},
                        {"two steps", 2, {.eta = 0.1}},
                        {"20 steps, λ = 0.3", 20, {.eta = 0.05, .lambda = 0.3}},
                        {"5 steps, β = 0.5, 0.7, ε = 0.1", 5, {0.1, 0.5, 0.7, 0.1, 0.1}}};
  std::uint64_t seed = 1;
  for (const Case& c : cases) {
    const AdamWRates& r = c.rates;
    const Shape shape{2, 3};
    const Tensor w = normal(shape, seed++);
    std::vector<Tensor> g;
    for (std::size_t s = 0; s < c.steps; ++s) g.push_back(normal(shape, seed++));
    judge.in_case(fmt::format("{}, w {}", c.label, to_string(shape)), [&] {
      AdamWState state{w, zeros(shape), zeros(shape)};
      for (const Tensor& gradient : g) state = yours(state, gradient, r);
      const Parameter parameter(w.value());
      AdamW adamw({{"w", Role::weight, parameter.tensor()}},
                  {.beta1 = r.beta1, .beta2 = r.beta2, .eps = r.eps, .weight_decay = r.lambda});
      for (const Tensor& gradient : g) {
        parameter.tensor().set_grad(gradient.value());
        adamw.step(r.eta);
      }
      const auto with = [&](Slip slip) { return adam_by_loops(w.value(), g, r, slip); };
      judge.compare(
          "w", state.w, parameter.tensor().detach(), "the library says",
          {{"w is as it was: the gap may still be open.", w},
           {"The decay went through m and v, as a part of g: that is Adam with L2, without the W.",
            with(Slip::coupled)},
           {"m̂ and v̂ are missing: both means began at zero and have to be divided.",
            with(Slip::uncorrected)},
           {"ε stands under the root; it belongs outside.", with(Slip::eps_inside)},
           {"The root of v̂ is missing.", with(Slip::no_root)},
           {"The step goes up the gradient.", with(Slip::uphill)},
           {"The decay is missing.",
            adam_by_loops(w.value(), g, {r.eta, r.beta1, r.beta2, r.eps, 0}, Slip::none)}});
      const Moments& kept = adamw.state().at("w");
      judge.compare("m", state.m, *kept.m, "the library says");
      judge.compare("v", state.v, *kept.v, "the library says");
      judge.compare("t", static_cast<double>(state.t), static_cast<double>(c.steps), "we counted");
    });
  }
}

void warmup_cosine(Judge& judge) {
  const auto yours = judge.yours<double(std::size_t, std::size_t, std::size_t)>();
  const std::pair<std::size_t, std::size_t> cases[] = {{10, 0}, {10, 4}, {3, 1}, {7, 6}, {100, 10}};
  for (const auto& [length, first] : cases) {
    const std::size_t steps = length, warmup = first;
    judge.in_case(fmt::format("{} steps, {} of them warm-up", steps, warmup), [&] {
      const auto table = [&](auto&& f) {
        Array a = zeros({steps});
        for (std::size_t s = 0; s < steps; ++s) a(s) = f(s);
        return a;
      };
      const auto wave = [](double p) { return (1 + std::cos(std::numbers::pi * p)) / 2; };
      const double n = static_cast<double>(steps), u = static_cast<double>(warmup);
      const auto with = [&](auto&& rising, auto&& falling) {
        return table([&](std::size_t s) {
          return s < warmup ? rising(static_cast<double>(s)) : falling(static_cast<double>(s));
        });
      };
      const auto rising = [&](double s) { return (s + 1) / u; };
      const auto falling = [&](double s) { return wave((s - u) / (n - u)); };
      judge.compare(
          "the factor, by step", table([&](std::size_t s) { return yours(s, steps, warmup); }),
          table([&](std::size_t s) { return cosine_schedule(s, steps, warmup); }),
          "the equation says",
          {{"It is 0 everywhere: the gap may still be open.", zeros({steps})},
           {"The warm-up is step / warmup: its first step has rate 0. It is (step + 1) / warmup.",
            with([&](double s) { return s / u; }, falling)},
           {"The cosine starts at step 0: p counts from the end of the warm-up.",
            with(rising, [&](double s) { return wave(s / n); })},
           {"p is divided by all the steps; it is those after the warm-up.",
            with(rising, [&](double s) { return wave((s - u) / n); })},
           {"The factor falls in a line: it is half a wave of the cosine.",
            with(rising, [&](double s) { return 1 - (s - u) / (n - u); })},
           {"p is 0 until the end: integers divide without a rest.",
            with(rising, [&](double) { return 1.0; })}});
    });
  }
}

void clip(Judge& judge) {
  const auto yours = judge.yours<double(std::vector<Array>&, double)>();
  struct Case {
    std::string label;
    std::vector<Tensor> gradients;
    double max_norm;
  };
  const std::vector<Case> cases = {
      {"one gradient (2,) = (3, 4), max_norm 1", {Tensor(array({2}, {3, 4}))}, 1},
      {"two gradients, (3) and (4), max_norm 1",
       {Tensor(array({1}, {3})), Tensor(array({1}, {4}))},
       1},
      {"gradients (2, 3) and (4,), max_norm 0.5", {normal({2, 3}, 1), normal({4}, 2)}, 0.5},
      {"short ones, max_norm 100", {normal({2, 3}, 3), normal({4}, 4)}, 100}};
  for (const Case& c : cases) {
    judge.in_case(c.label, [&] {
      std::vector<Array> got;
      for (const Tensor& g : c.gradients) got.push_back(g.value());
      const double norm = yours(got, c.max_norm);
      double squares = 0;
      for (const Tensor& g : c.gradients) squares += sum(square(g)).item();
      const double length = std::sqrt(squares);
      const double factor = std::min(1.0, c.max_norm / length);
      judge.compare("the norm", norm, length, "the equation says",
                    {{"That is its square: the root is missing.", scalar(squares)},
                     {"That is the norm after clipping; asked for is the one before.",
                      scalar(length * factor)},
                     {"It is 0: the gap may still be open.", scalar(0)}});
      for (std::size_t i = 0; i < got.size(); ++i) {
        const Tensor g = c.gradients[i];
        const double own = std::sqrt(sum(square(g)).item());
        // The library's 1e-6 in the denominator is as good: no norm here is below 1, so the
        // tolerance, 1e-6 too, allows it.
        judge.compare(
            fmt::format("gradient {}", i), got[i], g * factor, "the equation says",
            {{"It is as it was; the norm is larger than max_norm, so it has to be shortened.", g},
             {"Scaled by its own norm: it is the norm of all gradients together.",
              (g * std::min(1.0, c.max_norm / own))},
             {"Every entry is cut to max_norm, which changes the direction.",
              clamp(g, -c.max_norm, c.max_norm)},
             {"The gradients were shorter than max_norm: they have to stay as they are.",
              (g * (c.max_norm / length))},
             {"Divided by the squared norm: the root is missing.", (g * (c.max_norm / squares))}});
      }
    });
  }
}

// Row by row as a product with a matrix of hat functions: another way than the exercise's.
Array hats(std::size_t n, std::size_t m, bool aligned) {
  Array w = zeros({m, n});
  for (std::size_t i = 0; i < m; ++i) {
    const double at = static_cast<double>(i), N = static_cast<double>(n),
                 M = static_cast<double>(m);
    const double y =
        aligned ? at * (N - 1) / (M - 1) : std::clamp((at + 0.5) * N / M - 0.5, 0.0, N - 1);
    for (std::size_t j = 0; j < n; ++j) {
      w(i, j) = std::max(0.0, 1 - std::abs(y - static_cast<double>(j)));
    }
  }
  return w;
}

void resize_positions(Judge& judge) {
  const auto yours = judge.yours<Tensor(const Tensor&, std::size_t, std::size_t)>();
  struct Case {
    std::size_t n, m, D;
  };
  const Case cases[] = {{2, 3, 1}, {3, 3, 2}, {3, 5, 2}, {5, 2, 2}, {4, 7, 3}};
  std::uint64_t seed = 1;
  for (const Case& c : cases) {
    const Tensor x = normal({1, 1 + c.n * c.n, c.D}, seed++);
    judge.in_case(fmt::format("{0} x {0} to {1} x {1}, D = {2}", c.n, c.m, c.D), [&] {
      const Tensor token = slice(x, 1, 0, 1);
      const auto n = static_cast<std::ptrdiff_t>(c.n), m = static_cast<std::ptrdiff_t>(c.m);
      // (D, n, n), resized on both sides to (D, m, m).
      const Tensor picture = permute(reshape(slice(x, 1, 1, slice_end), {n, n, -1}), {2, 0, 1});
      const auto joined = [&](const Tensor& resized) {
        const Tensor rows = reshape(permute(resized, {1, 2, 0}), {1, m * m, -1});
        return concat({token, rows}, 1);
      };
      const auto with = [&](const Tensor& hat) {
        return matmul(matmul(hat, picture), transpose(hat));
      };
      const Tensor hat = hats(c.n, c.m, true);
      Array nearest = hat.value();
      for (double& w : nearest) w = w > 0.5 ? 1 : 0;
      const Tensor right = joined(with(hat));
      Array without = right.value();
      for (std::size_t d = 0; d < c.D; ++d) without(0, 0, d) = 0;
      judge.compare(
          "positions", yours(x, c.n, c.m), right, "the equation says",
          {{"The class token's row is empty: it is copied as it is.", without},
           {"Corners do not stay corners here: that is the other convention, in which a pixel is a "
            "square and the grid is scaled by n / m.",
            joined(with(hats(c.n, c.m, false)))},
           {"Rows and columns are exchanged.", joined(transpose(with(hat)))},
           {"That is the nearest neighbour: mix the four around the point.",
            joined(with(nearest))}});
    });
  }
}

void rollout(Judge& judge) {
  const auto yours = judge.yours<Tensor(const std::vector<Tensor>&)>();
  struct Case {
    std::size_t L, h, T;
  };
  const Case cases[] = {{1, 1, 3}, {1, 2, 3}, {2, 1, 3}, {3, 4, 5}};
  std::uint64_t seed = 1;
  for (const Case& c : cases) {
    std::vector<Tensor> maps;
    for (std::size_t l = 0; l < c.L; ++l) {
      maps.push_back(softmax(normal({c.h, c.T, c.T}, seed++) * 2));
    }
    judge.in_case(
        fmt::format("{} layer{}, attention ({}, {}, {})", c.L, c.L == 1 ? "" : "s", c.h, c.T, c.T),
        [&] {
          Array eye = zeros({c.T, c.T});
          for (std::size_t t = 0; t < c.T; ++t) eye(t, t) = 1;
          // Row i of R, one vector carried down from the last layer: eᵢᵀ Â_L ⋯ Â₁.
          const auto carried = [&](double identity, double divisor, bool reversed) {
            Array R = eye;
            for (std::size_t i = 0; i < c.T; ++i) {
              for (std::size_t step = 0; step < c.L; ++step) {
                const Array& A = maps[reversed ? step : c.L - 1 - step].value();
                std::vector<double> row(c.T, 0);
                for (std::size_t s = 0; s < c.T; ++s)
                  for (std::size_t t = 0; t < c.T; ++t) {
                    double mean = 0;
                    for (std::size_t head = 0; head < c.h; ++head) mean += A(head, s, t);
                    mean /= static_cast<double>(c.h);
                    row[t] += R(i, s) * (mean + identity * eye(s, t)) / divisor;
                  }
                for (std::size_t t = 0; t < c.T; ++t) R(i, t) = row[t];
              }
            }
            return R;
          };
          judge.compare("R", yours(maps), carried(1, 2, false), "the equation says",
                        {{"The identity is missing: every token also keeps its own state.",
                          carried(0, 1, false)},
                         {"The layers are multiplied in the wrong order: later ones from the left.",
                          carried(1, 2, true)},
                         {"The halving is missing: rows have to sum to 1.", carried(1, 1, false)}});
        });
  }
}

}  // namespace

std::vector<NamedCheck> training_checks() {
  return {{"adamw", adamw_step},
          {"schedule", warmup_cosine},
          {"clipping", clip},
          {"resize_positions", resize_positions},
          {"rollout", rollout}};
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian::lessons
