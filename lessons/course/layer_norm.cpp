#include "lessons/telling/lesson.hpp"

using namespace vitruvian::lessons;

const Lesson about = {
    .title = "Layer norm, and batch norm beside it",
    .equation = "y = γ (x − μ) / √(σ² + ε) + β",
    .minutes = 15,
    .rows = "1-9 1-15 4-9",
    .teaches = {"layer_norm", "batch_norm"},
    .breaks = {{"constants", "the tape takes mean and variance for constants",
                "moving one x moves mean and variance: two shares are missing."},
               {"unbiased", "divides the variance by D − 1",
                "layer norm's output has standard deviation 1, whatever D."}},
    .play = {"How small must x become before ε shows, and what do a shift and a scale of x change?",
             {{"scale of x, log₁₀", -5, 3, 0, 0.5},
              {"shift of x", -10, 10, 0, 1},
              {"ε, log₁₀", -12, 0, -6, 1}}},
};

constexpr std::size_t B = 2, T = 3, D = 5;

// [region loops]
// Every token (b, t) by itself: its own mean, its own variance.
Array by_loops(const Array& x, const Array& gamma, const Array& beta, double eps) {
  Array y = empty(x.shape());
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t t = 0; t < T; ++t) {
      double mu = 0, sigma2 = 0;
      for (std::size_t d = 0; d < D; ++d) mu += x(b, t, d) / D;
      for (std::size_t d = 0; d < D; ++d) sigma2 += (x(b, t, d) - mu) * (x(b, t, d) - mu) / D;
      for (std::size_t d = 0; d < D; ++d) {
        y(b, t, d) = gamma(d) * (x(b, t, d) - mu) / std::sqrt(sigma2 + eps) + beta(d);
      }
    }
  }
  return y;
}

// [region by hand]
std::vector<Leaf> by_hand(const Tensor& g, const Tensor& x, const Tensor& gamma, double eps) {
  const Tensor rstd = rsqrt(var(x, {-1}, 0, true) + eps);  // 1 / sigma
  const Tensor hat = (x - mean(x, {-1}, true)) * rstd;
  const Tensor u = g * gamma;  // the cotangent of hat
  return {{"dx", rstd * (u - mean(u, {-1}, true) - hat * mean(u * hat, {-1}, true))},
          {"dγ", sum(g * hat, {0, 1})},
          {"dβ", sum(g, {0, 1})}};
}

// [region mistakes]
// The same y, but mean and variance are copies that are not on the tape.
Tensor constants(const Tensor& x, const Tensor& gamma, const Tensor& beta, double eps) {
  const Tensor rstd = rsqrt(var(x, {-1}, 0, true) + eps).detach();
  return (x - mean(x, {-1}, true).detach()) * rstd * gamma + beta;
}
// The variance of statistics courses: divided by D - 1.
Tensor unbiased(const Tensor& x, double eps) {
  return (x - mean(x, {-1}, true)) * rsqrt(var(x, {-1}, 1, true) + eps);
}
// [end]

Tensor plain(const Tensor& x, double eps) { return layer_norm(x, {x.size(-1)}, {}, {}, eps); }

// One token of five numbers, scaled and shifted, through the norm and back.
void play(Narrator& say, const std::vector<double>& at) {
  const double scale = std::pow(10, at[0]), eps = std::pow(10, at[2]);
  const std::vector<double> token = {-1.2, 0.3, 0.5, 0.9, 2};
  Array x = empty({1, 5});
  for (std::size_t d = 0; d < 5; ++d) x(0, d) = scale * token[d] + at[1];
  const Tensor leaf(x, true);
  const Tensor y = plain(leaf, eps);
  const Array dx = grad(y, {leaf}, array({1, 5}, {1, 0, 0, 0, 0}))[0];
  Rows rows;
  for (std::size_t d = 0; d < 5; ++d) {
    rows.push_back(row(fmt::format("{:.3g}", x(0, d)), fmt::format("{:.3f}", y.value()(0, d)),
                       fmt::format("{:.3g}", dx(0, d))));
  }
  say.curves("The five numbers of a token, before the norm and after it.",
             {{"x", places(0, 4), numbers_of(x)}, {"y", places(0, 4), numbers_of(y)}});
  say.table({"x", "y", "dx, when only the first y matters"}, rows);
  say.text("Standard deviation of y: {:.4f}.", std::sqrt(var(y, {-1}, 0).value()(0)));
}

void lesson(Narrator& say) {
  say.heading("What we want to know");
  say.text("A thick stroke and a thin one are the same digit. Yet through a deep network numbers "
           "grow or die, and a token that is ten times as loud drowns the others in attention. "
           "So before each of its layers a ViT brings every token back to mean 0 and standard "
           "deviation 1.");

  say.heading("The equation");
  say.symbols({{"B", B}, {"T", T}, {"D", D}});
  say.equation(
      R"(\mu = \frac1D \sum_d x_d, \quad \sigma^2 = \frac1D \sum_d (x_d - \mu)^2, \quad)"
      R"( \hat x = \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}}, \quad y = \gamma\,\hat x + \beta)",
      "μ = mean(x),  σ² = mean((x − μ)²)\nx̂ = (x − μ) / √(σ² + ε),  y = γ x̂ + β");
  say.in_words("take off the mean of one token's D numbers and divide by their standard deviation; "
               "then give each feature a learned scale γ and shift β, shared by all tokens. ε is "
               "for a token whose numbers are all equal.");

  say.heading("The equation as code");
  say.code("loops");
  say.code_of("core/composed.cpp", "Tensor layer_norm(");
  const double eps = 1e-6;
  const Tensor x(random_normal({B, T, D}, say.seed()), true);
  const Tensor gamma(random_uniform({D}, 0.5, 1.5, say.seed() + 1), true);
  const Tensor beta(random_normal({D}, say.seed() + 2), true);
  const auto normalised = [&] {
    return say.broken("constants") ? constants(x, gamma, beta, eps)
                                   : composed::layer_norm(x, {D}, gamma, beta, eps);
  };
  const Tensor y = normalised();
  shapes(say, "x (B, T, D)", x, "mean, variance (B, T, 1)", var(x, {-1}, 0, true),
         "gamma, beta (D)", gamma, "y (B, T, D)", y);
  check_equal(say, "y", "composed", y, "loops",
              by_loops(x.value(), gamma.value(), beta.value(), eps));

  say.heading("What it does to a token, seen in space");
  say.text("A token of three numbers is a point in space. Taking off the mean drops it onto the "
           "plane x₁ + x₂ + x₃ = 0; dividing by σ moves it along that plane to distance √3 from "
           "the origin. Seen from straight above the plane:");
  const auto normal_in_use = say.broken("unbiased") ? unbiased : plain;
  const Array points = random_normal({60, 3}, say.seed() + 7);
  const Tensor on_plane = Tensor(points) - mean(Tensor(points), {-1}, true);
  const Tensor on_circle = normal_in_use(points, 0);
  const Tensor axes(array({3, 2}, {std::sqrt(.5), std::sqrt(1 / 6.), -std::sqrt(.5),
                                   std::sqrt(1 / 6.), 0, -std::sqrt(4 / 6.)}));
  const auto seen = [&](const char* name, const Tensor& t) {
    const Tensor xy = matmul(t, axes);
    return Series{name, numbers_of(select(xy, 1, 0)), numbers_of(select(xy, 1, 1)), Mark::dots};
  };
  say.figure(
      {"60 random tokens, D = 3. After layer norm all lie on a circle of radius √3 (drawn wider "
       "than high): what is left of a token is its direction.",
       Chart{.series = {seen("mean taken off", on_plane), seen("and divided by σ", on_circle)}}});
  const Array lengths = sqrt(sum(square(on_circle), {-1})).value();
  check_equal(say, "length of each token", "measured", lengths, "√3", full({60}, std::sqrt(3.0)));

  say.heading("The derivative by hand");
  say.text("Each x reaches y in three ways: directly, through the mean, through the variance. With "
           "u = g γ, the cotangent of x̂, they add up to:");
  say.equation(R"(dx = \frac{1}{\sigma}\Big(u - \mathrm{mean}(u))"
               R"( - \hat x\,\mathrm{mean}(u \odot \hat x)\Big))",
               "dx = (u − mean(u) − x̂ mean(u ⊙ x̂)) / σ");
  say.in_words(
      "layer norm ignores a token's mean and size. So what comes back must not try to "
      "change them: the parts of u along (1, 1, …, 1) and along x̂ are taken off (⊙ multiplies "
      "number by number).");
  say.code("by hand");
  const Array g = random_normal({B, T, D}, say.seed() + 3);
  const std::vector<Array> tape = grad(y, {x, gamma, beta}, g);
  const std::vector<Leaf> hand = by_hand(g, x.detach(), gamma.detach(), eps);
  say.table({"dx of the first token", "its numbers"},
            {{"by hand", entries_text(select(select(hand[0].tensor, 0, 0), 0, 0).value())},
             {"tape", entries_text(select(select(Tensor(tape[0]), 0, 0), 0, 0).value())}});
  check_by_hand(say, hand, tape);
  check_gradients(say, normalised, {{"x", x}});
  say.is_zero("mean of each token's dx", {"largest", amax(abs(mean(Tensor(tape[0]), {-1}))).item()},
              1e-12);

  say.heading("Against numbers, and fused");
  const std::vector<Leaf> leaves = {{"x", x}, {"gamma", gamma}, {"beta", beta}};
  const auto fused = [&] { return layer_norm(x, {D}, gamma, beta, eps); };
  const auto composed_form = [&] { return composed::layer_norm(x, {D}, gamma, beta, eps); };
  check_gradients(say, fused, leaves);
  check_twins(say, fused, composed_form, leaves);
  const Tensor two(random_normal({2, 3, 5}, say.seed() + 4));
  check_equal(say, "over the last two axes (3, 5), as PyTorch allows", "library",
              layer_norm(two, {3, 5}, {}, {}, eps), "flattened to 15",
              reshape(plain(reshape(two, {2, 15}), eps), {2, 3, 5}));

  say.heading("Batch norm beside it");
  say.text("Let the rows of this matrix be tokens, its columns features. Layer norm takes mean and "
           "variance along each row, batch norm down each column:");
  const Tensor m(array({3, 4}, {1, 2, 3, 4, 2, 4, 6, 8, 0, 0, 3, 9}));
  say.table({"row", "its four features"}, {{"0", "1 2 3 4"}, {"1", "2 4 6 8"}, {"2", "0 0 3 9"}});
  say.table({"", "means", "entries (0, 0) and (1, 0)"},
            {{"layer norm, 3 rows", entries_text(mean(m, {1}).value(), 2),
              entries_text(select(slice(plain(m, 1e-6), 0, 0, 2), 1, 0).value())},
             {"batch norm, 4 columns", entries_text(mean(m, {0}).value(), 2),
              entries_text(select(slice(batch_norm(m, {}, {}, 1e-6), 0, 0, 2), 1, 0).value())}});
  say.text("Rows 0 and 1 differ by a factor of two: to layer norm they are the same token. And "
           "another image's row changes what batch norm makes of yours:");
  Array other = m.value();
  other(2, 0) = 50;
  const auto first = [](const Tensor& t) { return select(t, 0, 0).value(); };
  check_equal(say, "row 0, when row 2 changes: layer norm", "after", first(plain(other, 1e-6)),
              "before", first(plain(m, 1e-6)), 0);
  check_differs(say, "row 0, when row 2 changes: batch norm", "after",
                first(batch_norm(other, {}, {}, 1e-6)), "before",
                first(batch_norm(m, {}, {}, 1e-6)));
  const Tensor n(random_normal({4, 3}, say.seed() + 5), true);
  check_gradients(say, [&] { return batch_norm(n, {}, {}, 1e-6); }, {{"x, through batch norm", n}});

  say.heading("What goes wrong");
  say.sources_disagree(
      "B 10",
      "ε is 1e-5 in PyTorch, and so wherever nothing else is said, 1e-6 in the original ViT, "
      "timm and torchvision, 1e-12 in Hugging Face's default. On tokens of "
      "ordinary size nobody notices; on small ones it decides. Weights want the ε "
      "they were trained with, so it is a parameter here.");
  const Tensor small(array({1, 4}, {0, 0.001, 0.002, 0.003}));
  const double wanted[][2] = {{1e-12, 1.34164}, {1e-6, 1.0}, {1e-5, 0.44721}};
  for (const auto& [epsilon, value] : wanted) {
    say.check(fmt::format("last of LN(0, .001, .002, .003), ε = {:.0e}", epsilon),
              {"ours", plain(small, epsilon).value()(0, 3)}, {"PyTorch", value}, 1e-5);
  }

  say.heading("Whose mean and variance");
  say.sources_disagree("B 19",
                       "The blog post gives μ and σ the layer's index only, as if one "
                       "served the whole sequence. They belong to each token of each image.");
  check_differs(say, "one mean and variance for all tokens", "all",
                layer_norm(x, {T, D}, {}, {}, eps), "each", plain(x, eps));

  say.heading("Two classics");
  say.sources_disagree("", "Two classics: mean and variance taken for constants on the way back, "
                           "and a variance divided by D − 1.");
  say.code("mistakes");
  check_differs(say, "variance divided by D − 1", "unbiased", unbiased(x, eps), "library",
                plain(x, eps));

  say.pytorch("`torch.nn.LayerNorm(D, eps=1e-6)`, with `weight` for γ and `bias` for β; "
              "`torch.nn.BatchNorm1d` also keeps running averages for inference.");
  say.question("Of two tokens one is ten times the other. After layer norm they are equal. What is "
               "lost, and who could still know it?",
               "The token's size. In a block of a ViT a skip connection goes around the norm and "
               "carries it on: lesson #residuals.");
}

int main(int argc, char** argv) { return tell(about, {lesson, play}, argc, argv); }
