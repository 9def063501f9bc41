// The checks of exercises on layers.

#include "lessons/exercises/judge.hpp"
#include "vitruvian/core/base/text.hpp"
#include "vitruvian/core/check/gradcheck.hpp"

#include <cmath>
#include <numbers>

namespace vitruvian::lessons {
inline namespace VITRUVIAN_PRECISION {
namespace {

// Every axis but the last.
Axes rows_of(const Tensor& x) {
  Axes axes;
  for (int i = 0; i + 1 < static_cast<int>(x.rank()); ++i) axes.push_back(i);
  return axes;
}

void softmax_vjp(Judge& judge) {
  const auto yours = judge.yours<Tensor(const Tensor&, const Tensor&)>();
  const Shape cases[] = {{3}, {3, 1}, {2, 3}, {2, 3}, {4, 2}, {2, 3, 4}};
  std::uint64_t seed = 1;
  for (const Shape& shape : cases) {
    const Tensor x = normal(shape, seed++);
    const Tensor g = normal(shape, seed++);
    judge.in_case(fmt::format("y, g {}, seed {}", to_string(shape), seed - 2), [&] {
      const Tensor y = softmax(x);
      std::vector<Guess> guesses = {
          {"That is y g: the term that every output of the row shares is missing.", (y * g)},
          {"That is y (1 − y) g, the diagonal of the Jacobian alone: every x moves the others "
           "too.",
           (y * (-y + 1) * g)},
          {"The shared term is Σ g y, with the y inside.", (y * (g - sum(g, {-1}, true)))},
          {"The sum runs over the whole array; each row has its own.", (y * (g - sum(g * y)))},
          {"The sum runs along another axis than the last.", (y * (g - sum(g * y, {0}, true)))},
          {"The factor y is missing in front.", (g - sum(g * y, {-1}, true))}};
      if (shape == Shape{3, 1}) {  // elsewhere it does not fit
        guesses.push_back({"The sum has lost its axis, and (3,) fits beside (3, 1) in another way: "
                           "sum(t, {-1}, true) keeps it, with length 1.",
                           y * (g - sum(g * y, {-1}))});
      }
      judge.compare_gradient(
          "dx", yours(y, g), [](auto& t) { return softmax(t); }, x, g, guesses);
    });
  }
}

void cross_entropy_gradient(Judge& judge) {
  using Labels = std::vector<std::size_t>;
  const auto yours = judge.yours<Tensor(const Tensor&, const Labels&)>();
  const std::vector<std::pair<Shape, Labels>> cases = {{{1, 3}, {2}},
                                                       {{2, 1}, {0, 0}},
                                                       {{2, 3}, {0, 2}},
                                                       {{4, 2}, {1, 1, 0, 1}},
                                                       {{3, 5}, {4, 0, 4}}};
  std::uint64_t seed = 1;
  for (const auto& [shape, chosen] : cases) {
    const Labels labels = chosen;
    const Tensor x = normal(shape, seed++);
    judge.in_case(
        fmt::format("logits {}, labels {}", to_string(x.shape()), joined(labels, " ")), [&] {
          const auto loss = [&](const Tensor& t) { return cross_entropy(t, labels); };
          const Tensor right = differences(loss, x, scalar(1));
          const double B = static_cast<double>(labels.size());
          judge.compare(
              "dlogits", yours(x, labels), right, "differences say",
              {{"The loss is the mean over the B rows: divide by B.", (right * B)},
               {"That is the softmax alone: at each row's label, 1 goes off.", (softmax(x) / B)},
               {"That is the softmax alone, and not divided by B.", softmax(x)},
               {"That is the logits, not their softmax, minus the one-hot labels.",
                (right + (x - softmax(x)) / B)},
               {"Divided by all the entries; the loss is a mean over rows.",
                (right / static_cast<double>(x.size(1)))}});
        });
  }
}

void gelu_vjp(Judge& judge) {
  const auto yours = judge.yours<Tensor(const Tensor&, const Tensor&)>();
  const Shape cases[] = {{5}, {2, 3}, {2, 2, 3}};
  std::uint64_t seed = 1;
  const auto check = [&](const std::string& label, const Tensor& x) {
    const Tensor g = normal(x.shape(), seed++);
    judge.in_case(label, [&] {
      const Tensor Phi = (erf(x / std::sqrt(2.0)) + 1) / 2;
      const Tensor bell = exp(-square(x) / 2);
      const Tensor phi = bell / std::sqrt(2 * std::numbers::pi);
      judge.compare_gradient(
          "dx", yours(x, g), [](auto& t) { return gelu(t); }, x, g,
          {{"That is g Φ(x): x stands inside Φ too, which gives a second term.", (g * Phi)},
           {"That is g x φ(x): the x in front of Φ gives a first term.", (g * x * phi)},
           {"The second term is x φ(x), not φ(x).", (g * (Phi + phi))},
           {"φ is not divided by √(2π).", (g * (Phi + x * bell))},
           {"That is the derivative alone: it has to be multiplied by g.", (Phi + x * phi)},
           {"That is GELU itself, times g.", (g * x * Phi)}});
    });
  };
  check("x from -3 to 3", counting({7}) - 4);
  for (const Shape& shape : cases) {
    check(fmt::format("x, g {}, seed {}", to_string(shape), seed), normal(shape, seed));
  }
}

void layer_norm_vjp(Judge& judge) {
  const auto yours =
      judge.yours<LayerNormGradients(const Tensor&, const Tensor&, const Tensor&, double)>();
  struct Case {
    Shape shape;
    double eps;
  };
  const Case cases[] = {
      {{1, 4}, 1e-6}, {{2, 3}, 0.5}, {{3, 5}, 1e-6}, {{4, 4}, 1e-5}, {{2, 3, 5}, 1e-6}};
  std::uint64_t seed = 1;
  for (const Case& c : cases) {
    const Tensor x = normal(c.shape, seed++);
    const Tensor gamma = random_uniform({c.shape.back()}, 0.5, 1.5, seed++);
    const Tensor beta = normal({c.shape.back()}, seed++);
    const Tensor g = normal(c.shape, seed++);
    judge.in_case(fmt::format("x {}, ε = {}", to_string(c.shape), c.eps), [&] {
      const LayerNormGradients got = yours(g, x, gamma, c.eps);
      const auto norm = [&](const Tensor& t, const Tensor& weight, const Tensor& bias) {
        return layer_norm(t, {c.shape.back()}, weight, bias, c.eps);
      };
      const Tensor rstd = rsqrt(var(x, {-1}, 0, true) + c.eps);
      const Tensor hat = (x - mean(x, {-1}, true)) * rstd;
      const Tensor u = g * gamma;
      const Tensor level = mean(u, {-1}, true);
      const Tensor size = hat * mean(u * hat, {-1}, true);
      const Tensor bare = g - mean(g, {-1}, true) - hat * mean(g * hat, {-1}, true);
      judge.compare_gradient(
          "dx", got.dx, [&](auto& t) { return norm(t, gamma, beta); }, x, g,
          {{"That is what comes out when mean and variance are constants: two terms are missing.",
            (rstd * u)},
           {"The term of the variance is missing: x̂ mean(u x̂).", (rstd * (u - level))},
           {"The term of the mean is missing: mean(u).", (rstd * (u - size))},
           {"γ is missing: the cotangent of x̂ is u = g γ.", (rstd * bare)},
           {"It has to be divided by σ.", (u - level - size)}});
      const Axes rows = rows_of(x);
      judge.compare_gradient("dγ", got.dgamma, [&](auto& t) { return norm(x, t, beta); }, gamma, g,
                             {{"γ is multiplied with x̂, not with x.", sum(g * x, rows)},
                              {"γ is shared by all rows: sum over them.", (g * hat)}});
      judge.compare_gradient("dβ", got.dbeta, [&](auto& t) { return norm(x, gamma, t); }, beta, g,
                             {{"β is shared by all rows: sum over them.", g}});
    });
  }
}

void dropout_vjp(Judge& judge) {
  const auto yours = judge.yours<Tensor(const Tensor&, const Tensor&, double)>();
  struct Case {
    Shape shape;
    double p;
  };
  const Case cases[] = {{{6}, 0.5}, {{2, 5}, 0}, {{3, 4}, 0.25}, {{2, 3, 4}, 0.1}};
  std::uint64_t seed = 1;
  for (const Case& c : cases) {
    const Tensor x = normal(c.shape, seed++);
    const Tensor g = normal(c.shape, seed++);
    const Rng stream(seed);
    judge.in_case(fmt::format("mask, g {}, p = {}", to_string(c.shape), c.p), [&] {
      const Tensor mask = dropout(full(c.shape, 1), c.p, stream) * (1 - c.p);
      judge.compare_gradient(
          "dx", yours(mask, g, c.p), [&](auto& t) { return dropout(t, c.p, stream); }, x, g,
          {{"The factor 1 / (1 − p) is missing: what stayed was enlarged.", (g * mask)},
           {"The mask is missing: what was dropped hears nothing.", (g / (1 - c.p))},
           {"Multiplied by 1 − p: it has to be divided.", (g * mask * (1 - c.p))},
           {"g comes back unchanged: neither the mask nor the factor is there.", g}});
    });
  }
}

void residual(Judge& judge) {
  const auto yours = judge.yours<Tensor(const Tensor&, const std::vector<Way>&)>();
  for (const std::size_t L : {1, 2, 5}) {
    judge.in_case(fmt::format("L = {}, g (2, 3)", L), [&] {
      std::vector<Tensor> matrices;
      for (std::size_t l = 0; l < L; ++l) matrices.push_back(normal({3, 3}, 10 + l) * 0.5);
      std::vector<Way> ways;
      for (const Tensor& A : matrices) {
        ways.emplace_back([A](const Tensor& g) { return matmul(g, transpose(A)); });
      }
      const Tensor g = normal({2, 3}, 3);
      const auto forward = [&](Tensor z) {
        for (const Tensor& A : matrices) z = z + matmul(z, A);
        return z;
      };
      Tensor alone = g, first = g, beside = g;
      for (std::size_t l = L; l-- > 0;) {
        alone = ways[l](alone);
        beside = beside + ways[l](g);
      }
      for (std::size_t l = 0; l < L; ++l) first = first + ways[l](first);
      judge.compare_gradient(
          "dz_0", yours(g, ways), forward, zeros({2, 3}), g,
          {{"That went through the f's alone: the sum beside each is missing.", alone},
           {"The layers are walked from the first to the last.", first},
           {"Each f got g itself; it gets what has come back so far.", beside},
           {"That is g: what the f's hand back is missing.", g}});
    });
  }
}

}  // namespace

std::vector<NamedCheck> layer_checks() {
  return {{"softmax", softmax_vjp}, {"cross_entropy", cross_entropy_gradient},
          {"gelu", gelu_vjp},       {"layer_norm", layer_norm_vjp},
          {"dropout", dropout_vjp}, {"residual", residual}};
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian::lessons
