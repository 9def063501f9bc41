// The checks of exercises that stand by themselves: a chain, a claimed gradient, counting, recipes.

#include "lessons/exercises/judge.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace vitruvian::lessons {
inline namespace VITRUVIAN_PRECISION {
namespace {

constexpr const char* gap_open = "The gap may still be open; look for \"Yours\" in the file.";

// Indices as numbers to compare, in the words of the exercise where their count is wrong.
void compare_indices(Judge& judge, const std::string& name, const std::vector<std::size_t>& yours,
                     const std::vector<std::size_t>& right,
                     const std::vector<std::pair<std::string, std::vector<std::size_t>>>& guesses) {
  if (yours == right) return;
  const auto text = [](const std::vector<std::size_t>& list) {
    return list.empty() ? std::string("none") : fmt::format("{}", fmt::join(list, ", "));
  };
  std::string why;
  for (const auto& [reason, guess] : guesses) {
    if (why.empty() && yours == guess) why = "\n" + reason;
  }
  if (yours.empty()) why = fmt::format("\n{}", gap_open);
  judge.wrong(fmt::format("{}: yours {}, right {}.{}", name, text(yours), text(right), why));
}

void chain_rule(Judge& judge) {
  const auto yours = judge.yours<double(const std::vector<Link>&, double)>();
  const Link square_it = {[](double x) { return x * x; }, [](double x) { return 2 * x; }};
  const Link wave = {[](double x) { return std::sin(x); }, [](double x) { return std::cos(x); }};
  const Link grow = {[](double x) { return std::exp(x); }, [](double x) { return std::exp(x); }};
  const Link three = {[](double x) { return 3 * x; }, [](double) { return 3.0; }};
  struct Case {
    std::string label;
    std::vector<Link> links;
    double x;
  };
  for (const Case& c :
       {Case{"y = 3 x", {three}, 2}, Case{"y = x²", {square_it}, 3},
        Case{"y = sin(x²)", {square_it, wave}, 1.3},
        Case{"y = exp(sin(3 x))", {three, wave, grow}, 0.4}, Case{"an empty chain", {}, 5}}) {
    judge.in_case(c.label, [&] {
      const auto run = [&](double x) {
        for (const Link& link : c.links) x = link.f(x);
        return x;
      };
      constexpr double h = 1e-3;
      const double right =
          (8 * (run(c.x + h) - run(c.x - h)) - (run(c.x + 2 * h) - run(c.x - 2 * h))) / (12 * h);
      double at_x = 1, after = 1, at = c.x;
      for (const Link& link : c.links) {
        at_x *= link.df(c.x);
        at = link.f(at);
        after *= link.df(at);
      }
      const double got = yours(c.links, c.x);
      judge.compare("dy/dx", got, right, "differences say",
                    {{fmt::format("A derivative is not 0 here. {}", gap_open), Tensor(scalar(0))},
                     {"Every derivative is taken at x; link i's at what it got, x_{i−1}.",
                      Tensor(scalar(at_x))},
                     {"Each derivative is taken at its link's result; it belongs at what went in.",
                      Tensor(scalar(after))},
                     {"That is y itself, not its derivative.", Tensor(scalar(run(c.x)))}});
    });
  }
}

void wrong_entries(Judge& judge) {
  using List = std::vector<double>;
  const auto yours =
      judge.yours<std::vector<std::size_t>(const OfNumbers&, const List&, const List&)>();
  const OfNumbers f = [](const List& x) {
    return x[0] * x[0] * x[1] + std::sin(x[2]) + 1000 * x[3];
  };
  const List x = {1.5, -0.5, 0.25, 2};
  const List right = {2 * x[0] * x[1], x[0] * x[0], std::cos(x[2]), 1000};
  struct Case {
    std::string label;
    List errors;
    std::vector<std::size_t> wrong, absolute, relative;
  };
  for (const Case& c :
       {Case{"one entry of the wrong sign", {0, -2 * right[1], 0, 0}, {1}, {1}, {1}},
        Case{"all right", {0, 0, 0, 0}, {}, {}, {}},
        Case{"the first and the last are wrong", {1e-3, 0, 0, 1}, {0, 3}, {0, 3}, {0, 3}},
        Case{"a derivative of 1000 that is off by 5e-4", {0, 0, 1e-5, 5e-4}, {2}, {2, 3}, {2}}}) {
    judge.in_case(c.label, [&] {
      List claimed = right;
      for (std::size_t i = 0; i < x.size(); ++i) claimed[i] += c.errors[i];
      compare_indices(judge, "the wrong entries", yours(f, x, claimed), c.wrong,
                      {{"The allowed error grows with |d_i|: 10⁻⁶ · max(1, |d_i|).", c.absolute}});
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

void parameter_count(Judge& judge) {
  const auto yours = judge.yours<std::size_t(const CountedSizes&)>();
  struct Case {
    std::string label;
    CountedSizes sizes;
  };
  for (const Case& c :
       {Case{"no block: C = 1, S = 2, P = 1, D = 2, K = 3", {1, 2, 1, 2, 0, 2, 3}},
        Case{"one block: C = 1, S = 4, P = 2, D = 2, M = 3, K = 2", {1, 4, 2, 2, 1, 3, 2}},
        Case{"the digits' ViT: D = 64, L = 4, M = 256", {1, 28, 7, 64, 4, 256, 10}},
        Case{"ViT-Base/16", {}}}) {
    judge.in_case(c.label, [&] {
      const CountedSizes& s = c.sizes;
      const std::size_t N = (s.S / s.P) * (s.S / s.P), D = s.D;
      const std::size_t biases = 3 * D + D + s.M + D;
      const std::size_t block = 4 * D + 3 * D * D + D * D + 2 * D * s.M + biases;
      const std::size_t rest = s.C * s.P * s.P * D + D + D + (1 + N) * D + 2 * D + D * s.K + s.K;
      const std::size_t right = rest + s.L * block;
      const std::size_t got = yours(s);
      if (got == right) return;
      const std::pair<std::size_t, const char*> guesses[] = {
          {0, gap_open},
          {right - D, "The class token is missing, or its position."},
          {right - 2 * D, "The last layer norm, or the class token and its position, is missing."},
          {right - s.L * biases, "The biases of the blocks are missing."},
          {right - s.L * biases - D - s.K, "The biases are missing."},
          {right - s.L * 2 * D, "A block has two layer norms."},
          {right - (N + 1) * D, "The positions are missing."},
          {right - D * s.K - s.K, "The head is missing."},
          {rest + block, "There are L blocks, not one."}};
      std::string why;
      for (const auto& [value, reason] : guesses) {
        if (why.empty() && got == value) why = fmt::format("\n{}", reason);
      }
      judge.wrong(fmt::format("yours {}, counted {}.{}", got, right, why));
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
          {{fmt::format("All three mistakes are there. {}", gap_open), run(7)},
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

void convolution_matrix(Judge& judge) {
  const auto yours = judge.yours<Tensor(const std::vector<double>&, std::size_t)>();
  struct Case {
    std::vector<double> w;
    std::size_t n;
  };
  for (const Case& c :
       {Case{{2}, 2}, Case{{1, 2, 3}, 4}, Case{{1, 2, 3, 4, 5}, 7}, Case{{1, 2, 3, 4, 5}, 2}}) {
    judge.in_case(fmt::format("m = {}, n = {}", c.w.size(), c.n), [&] {
      const std::ptrdiff_t n = static_cast<std::ptrdiff_t>(c.n), m = std::ssize(c.w);
      const auto filled = [&](std::ptrdiff_t middle, bool turned, bool around) {
        Array A = zeros({c.n, c.n});
        for (std::ptrdiff_t i = 0; i < n; ++i) {
          for (std::ptrdiff_t j = 0; j < m; ++j) {
            std::ptrdiff_t k = i + j - middle;
            if (around) k = (k % n + n) % n;
            if (k < 0 || k >= n) continue;
            A(i, k) += c.w[static_cast<std::size_t>(turned ? m - 1 - j : j)];
          }
        }
        return Tensor(A);
      };
      const std::ptrdiff_t middle = (m - 1) / 2;
      judge.compare(
          "A", yours(c.w, c.n), filled(middle, false, false), "the equation says",
          {{"The kernel is turned round: here w_j meets x_{i+j−c}.", filled(middle, true, false)},
           {"The kernel begins at i; its middle should stand there.", filled(0, false, false)},
           {"It goes on at the other end; beyond the ends is zero.", filled(middle, false, true)}});
    });
  }
}

void relative_index(Judge& judge) {
  const auto yours = judge.yours<std::vector<std::size_t>(std::size_t)>();
  for (const std::size_t g : {1, 2, 3, 4}) {
    judge.in_case(fmt::format("g = {}", g), [&] {
      // Each pair's offset is looked up in the list of all of them.
      const auto list = [&](int slip) {
        std::vector<std::pair<int, int>> offsets;
        const int reach = static_cast<int>(g) - 1;
        for (int a = -reach; a <= reach; ++a) {
          for (int b = -reach; b <= reach; ++b) offsets.emplace_back(a, b);
        }
        std::vector<std::size_t> index;
        for (std::size_t i = 0; i < g * g; ++i) {
          for (std::size_t j = 0; j < g * g; ++j) {
            int y = static_cast<int>(i / g) - static_cast<int>(j / g);
            int x = static_cast<int>(i % g) - static_cast<int>(j % g);
            if (slip == 1) y = -y, x = -x;
            if (slip == 2) std::swap(y, x);
            const auto at = std::find(offsets.begin(), offsets.end(), std::pair(y, x));
            index.push_back(static_cast<std::size_t>(at - offsets.begin()));
          }
        }
        return index;
      };
      compare_indices(
          judge, "the numbers", yours(g), list(0),
          {{"The offset is turned round: i's place minus j's.", list(1)},
           {"Rows and columns are exchanged: raster order runs along the rows.", list(2)}});
    });
  }
}

}  // namespace

std::vector<NamedCheck> more_checks() {
  return {{"chain_rule", chain_rule},
          {"wrong_entries", wrong_entries},
          {"residual", residual},
          {"parameter_count", parameter_count},
          {"one_batch", one_batch},
          {"momentum", momentum_steps},
          {"label_smoothing", label_smoothing},
          {"accumulation", accumulation},
          {"convolution_matrix", convolution_matrix},
          {"relative_index", relative_index}};
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian::lessons
