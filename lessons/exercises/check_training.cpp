// The checks of exercises on training.

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

void one_batch(Judge& judge) {
  const auto yours =
      judge.yours<Tensor(const Tensor&, const Tensor&, Tensor, std::size_t, double)>();
  for (const std::size_t steps : {1, 2, 50}) {
    const std::size_t B = 4, n = 3, K = 2;
    const Tensor x = normal({B, n}, 1), W = normal({K, n}, 2);
    Array Y = zeros({B, K});
    for (std::size_t b = 0; b < B; ++b) Y(b, b % K) = 1;
    judge.in_case(fmt::format("{} steps", steps), [&] {
      // 1: the softmax's axis; 2: uphill; 4: gradients that pile up
      const auto run = [&](int slips) {
        Tensor w = W, dW = W * 0.0;
        for (std::size_t step = 0; step < steps; ++step) {
          const Tensor P = softmax(matmul(x, transpose(w)), (slips & 1) != 0 ? 0 : -1);
          const Tensor fresh = matmul(transpose(P - Tensor(Y)), x) / static_cast<double>(B);
          dW = (slips & 4) != 0 ? dW + fresh : fresh;
          w = (slips & 2) != 0 ? w + dW * 0.5 : w - dW * 0.5;
        }
        return w;
      };
      judge.compare(
          "W", yours(x, Y, W, steps, 0.5), run(0), "the equations say",
          {{fmt::format("All three mistakes are there. {}", open_gap), run(7)},
           {"One is left: over what does the softmax run?", run(1)},
           {"One is left: the step leads uphill.", run(2)},
           {"One is left: the gradients of all steps pile up.", run(4)},
           {"Two are left: the softmax's axis and the direction of the step.", run(3)},
           {"Two are left: the softmax's axis, and gradients that pile up.", run(5)},
           {"Two are left: the direction of the step, and gradients that pile up.", run(6)}});
    });
  }
}

void momentum_steps(Judge& judge) {
  const auto yours = judge.yours<Tensor(Tensor, const std::vector<Tensor>&, double, double)>();
  struct Case {
    std::size_t steps;
    double eta, mu;
  };
  for (const auto& [count, rate, kept] : {Case{1, 0.1, 0.9}, Case{3, 0.1, 0}, Case{6, 0.2, 0.7}}) {
    const std::size_t steps = count;
    const double eta = rate, mu = kept;
    judge.in_case(fmt::format("{} steps, η = {}, μ = {}", steps, eta, mu), [&] {
      const Tensor w = normal({2, 2}, 1);
      std::vector<Tensor> g;
      for (std::size_t s = 0; s < steps; ++s) g.push_back(normal({2, 2}, 2 + s));
      const auto run = [&](int slip) {
        Tensor at = w, v = zeros({2, 2});
        for (const Tensor& gradient : g) {
          const Tensor before = v;
          v = v * mu + gradient * (slip == 1 ? 1 - mu : 1);
          const Tensor direction = slip == 2   ? gradient
                                   : slip == 3 ? before
                                   : slip == 5 ? gradient + v * mu
                                               : v;
          at = at - direction * (slip == 4 ? -eta : eta);
        }
        return at;
      };
      judge.compare("w", yours(w, g, eta, mu), run(0), "the equations say",
                    {{"That is Adam's running mean; here g is added whole.", run(1)},
                     {"That is plain descent: w moves by v, not by g.", run(2)},
                     {"w moves by the v of the step before.", run(3)},
                     {"That leads uphill.", run(4)},
                     {"That is Nesterov's momentum, which looks a step ahead.", run(5)}});
    });
  }
}

void label_smoothing(Judge& judge) {
  const auto yours = judge.yours<Tensor(const Tensor&, const std::vector<std::size_t>&, double)>();
  struct Case {
    Shape shape;
    double epsilon;
  };
  for (const auto& [size, share] : {Case{{1, 2}, 0.1}, Case{{3, 4}, 0}, Case{{4, 10}, 0.2}}) {
    const Shape shape = size;
    const double epsilon = share;
    judge.in_case(fmt::format("logits {}, ε = {}", to_string(shape), epsilon), [&] {
      const Tensor logits = normal(shape, 1);
      const double K = static_cast<double>(shape[1]), B = static_cast<double>(shape[0]);
      std::vector<std::size_t> labels;
      for (std::size_t b = 0; b < shape[0]; ++b) labels.push_back((3 * b + 1) % shape[1]);
      const auto target = [&](double others, double extra) {
        Array t = full(shape, others);
        for (std::size_t b = 0; b < labels.size(); ++b) t(b, labels[b]) += extra;
        return Tensor(t);
      };
      const Tensor t = target(epsilon / K, 1 - epsilon), P = softmax(logits);
      const Tensor rest = target(epsilon / (K - 1), 1 - epsilon - epsilon / (K - 1));
      judge.compare_gradient(
          "dL/dlogits", yours(logits, labels, epsilon),
          [&](const Tensor& z) { return sum(t * log_softmax(z)) / -B; }, logits, scalar(1),
          {{"Divide by B: the loss is a mean over the batch.", P - t},
           {"ε is shared by the K − 1 others; here all K have their ε / K.", (P - rest) / B},
           {"The label's entry is (1 − ε) + ε / K.",
            (P - target(epsilon / K, 1 - epsilon - epsilon / K)) / B},
           {"That is the gradient without smoothing.", (P - target(0, 1)) / B}});
    });
  }
}

void accumulation(Judge& judge) {
  const auto yours =
      judge.yours<Tensor(const std::vector<Tensor>&, const std::vector<std::size_t>&)>();
  for (const std::vector<std::size_t>& n :
       {std::vector<std::size_t>{4}, {3, 3}, {30, 30, 4}, {1, 2, 3, 4}}) {
    judge.in_case(fmt::format("parts of {} images", fmt::join(n, ", ")), [&] {
      std::vector<Tensor> means;
      double B = 0;
      Tensor total = zeros({2, 3}), plain = zeros({2, 3});
      for (std::size_t i = 0; i < n.size(); ++i) {
        means.push_back(normal({2, 3}, 1 + i));
        for (std::size_t image = 0; image < n[i]; ++image) total = total + means.back();
        B += static_cast<double>(n[i]);
        plain = plain + means.back();
      }
      judge.compare("the gradient", yours(means, n), total / B, "counting images says",
                    {{"A mean of means: a part of 4 images counts as much as one of 30.",
                      plain / static_cast<double>(n.size())},
                     {"That is the sum of the means: it is too long.", plain},
                     {"That is the sum over all images: divide by how many they are.", total}});
    });
  }
}

}  // namespace

std::vector<NamedCheck> training_checks() {
  return {{"adamw", adamw_step},
          {"schedule", warmup_cosine},
          {"clipping", clip},
          {"one_batch", one_batch},
          {"momentum", momentum_steps},
          {"label_smoothing", label_smoothing},
          {"accumulation", accumulation}};
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian::lessons
