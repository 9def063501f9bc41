#include "lessons/telling/lesson.hpp"

#include <tuple>

using namespace vitruvian::lessons;

const Lesson about = {
    .title = "Softmax and cross-entropy",
    .equation = "L = −log softmax(x)ₖ",
    .minutes = 15,
    .teaches = {"softmax", "cross_entropy"},
    .breaks = {{"elementwise", "softmax goes back as if each p depended on its own x alone",
                "raising one logit lowers all other probabilities: the sum over j is theirs."},
               {"double-softmax", "hands probabilities to a loss that wants logits",
                "the second softmax flattens the first: a perfect model still pays ln(1 + 4/e)."},
               {"flipped-sign", "the loss sends back y − p instead of p − y",
                "training would climb: it makes the right class less likely at every step.",
                "cross_entropy:flip_sign"}},
    .play = {"How cold must it be for the largest logit to get nine tenths of the probability?",
             {{"temperature", 0.1, 5, 1, 0.1}, {"the last logit", 0, 6, 3, 0.5}}},
};

constexpr std::size_t B = 3, K = 5;
using Labels = std::vector<std::size_t>;

// [region as written]
Tensor as_written(const Tensor& x) {
  const Tensor e = exp(x);
  return e / sum(e, {-1}, true);
}

// [region by hand]
// dx_i = p_i (g_i - sum over j of g_j p_j), row by row.
Tensor softmax_by_hand(const Tensor& g, const Tensor& p) {
  return p * (g - sum(g * p, {-1}, true));
}
// dx = (p - y) / B: y is 1 at a row's label; L is the mean over B rows.
Array loss_by_hand(const Tensor& p, const Labels& labels) {
  Array dx = p.value();
  for (std::size_t b = 0; b < B; ++b) dx(b, labels[b]) -= 1;
  return mul(dx, 1.0 / B).value();
}

// [region elementwise]
// The same p, but the other logits of the sum stand still: p_i depends on its own x_i alone, and
// dp_i/dx_i = p_i (1 - p_i) is all that comes back.
Tensor elementwise(const Tensor& x) {
  const Tensor e = exp(x), others = sum(e, {-1}, true) - e;
  return e / (e + others.detach());
}

// [region mistakes]
// Probabilities handed to a loss that wants logits: softmax happens twice.
Tensor double_softmax(const Tensor& x, const Labels& labels) {
  return cross_entropy(softmax(x), labels);
}

// [end]

// Four logits at a temperature, and what the loss sends back when the first is the right class.
void play(Narrator& say, const std::vector<double>& at) {
  const auto [tau, last] = std::tuple(at[0], at[1]);
  const Tensor x(array({1, 4}, {0, 1, 2, last}), true);
  const Tensor p = softmax(x * (1 / tau));
  const Tensor loss = cross_entropy(x * (1 / tau), {0});
  const Array dx = grad(loss, {x})[0];
  std::vector<std::pair<std::string, double>> shares;
  Rows rows;
  for (std::size_t i = 0; i < 4; ++i) {
    shares.emplace_back(fmt::format("logit {}", x.value()(0, i)), p.value()(0, i));
    rows.push_back(row(x.value()(0, i), fmt::format("{:.3f}", p.value()(0, i)),
                       fmt::format("{:.3f}", dx(0, i))));
  }
  say.bars(fmt::format("p at temperature {}. They add up to 1.", tau), shares);
  say.table({"logit", "p", "dx, if the first is right"}, rows);
}

void lesson(Narrator& say) {
  say.heading("What we want to know");
  say.text(
      "Our ViT ends in ten numbers for each digit on the page, the logits: one a class. How do "
      "they become probabilities, how do we measure how wrong they are (the loss), and what comes "
      "back? Softmax meets us a second time inside attention, where it decides which token "
      "listens to which: its derivative is worth knowing by heart.");

  say.heading("Softmax");
  say.symbols({{"B", B}, {"K", K}});
  say.equation(R"(p_i = \frac{e^{x_i}}{\sum_{j=1}^{K} e^{x_j}})", "pᵢ = exp(xᵢ) / Σⱼ exp(xⱼ)");
  say.in_words("make every logit positive, then divide by their sum. The largest logit gets the "
               "largest share; a constant added to all of them cancels.");
  say.code("as written");
  const Tensor x(random_normal({B, K}, say.seed()), true);
  const Labels labels = {1, 4, 0};
  const auto probabilities = say.broken("elementwise") ? elementwise : as_written;
  if (say.broken("elementwise")) say.code("elementwise");
  const Tensor p = probabilities(x);
  shapes(say, "x (B, K)", x, "p (B, K)", p);
  check_equal(say, "rows of p add up", "sum", sum(p, {-1}), "1", full({B}, 1));
  check_equal(say, "7 added to every logit", "p", probabilities(x + 7), "p before", p);

  say.heading("What overflows");
  say.text("That a constant cancels saves us. In float64 exp(710) is infinity, and infinity over "
           "infinity "
           "is not a number; in float32 it happens at 89. So the library takes the largest logit "
           "off first, which changes no value:");
  say.code_of("core/composed.cpp", "Tensor softmax(");
  const Tensor large(array({1, 3}, {1000, 1001, 1002}));
  say.table({"logits", "as written", "the library's"},
            {{"1000 1001 1002", entries_text(as_written(large).value()),
              entries_text(composed::softmax(large).value())}});

  say.heading("Temperature");
  say.text("Divide all logits by a number τ, the temperature, before softmax. Attention does just "
           "that, with τ = √D_h (lesson #self_attention):");
  std::vector<Series> shares(4);
  for (std::size_t i = 0; i < 4; ++i) shares[i].name = fmt::format("logit {}", i);
  for (int step = 0; step <= 60; ++step) {
    const double tau = 0.1 * std::pow(100, step / 60.0);  // from 0.1 to 10
    const Array share = softmax(Tensor(array({4}, {0, 1 / tau, 2 / tau, 3 / tau}))).value();
    for (std::size_t i = 0; i < 4; ++i) {
      shares[i].x.push_back(std::log10(tau)), shares[i].y.push_back(share(i));
    }
  }
  say.figure({"The logits 0, 1, 2, 3 at temperatures from 0.1 to 10. Cold: the largest takes all. "
              "Hot: all get a quarter.",
              Chart{.x_label = "log₁₀ τ", .y_label = "p", .series = shares, .from_zero = true}});

  say.heading("Its derivative by hand");
  say.text("Every p depends on every x, through the sum. With δ = 1 where i = j, else 0:");
  say.equation(
      R"(\frac{\partial p_j}{\partial x_i} = p_j (\delta_{ij} - p_i) \qquad\Rightarrow\qquad)"
      R"( dx_i = p_i \Big(g_i - \sum_j g_j p_j\Big))",
      "∂pⱼ/∂xᵢ = pⱼ (δᵢⱼ − pᵢ)    ⇒    dxᵢ = pᵢ (gᵢ − Σⱼ gⱼ pⱼ)");
  say.in_words("take off the average cotangent, weighted by p; then scale by p. What comes back "
               "adds up to zero, because a constant added to all logits changes nothing.");
  say.code("by hand");
  const Tensor g(random_normal({B, K}, say.seed() + 1));
  const Tensor constant = p.detach();
  const Array back = grad(p, {x}, g.value())[0];
  check_equal(say, "dx of softmax", "by hand", softmax_by_hand(g, constant), "tape", back);
  check_gradients(say, [&] { return probabilities(x); }, {{"x, as written", x}});
  check_gradients(say, [&] { return softmax(x); }, {{"x, the library's", x}});
  Rows sums;
  for (std::size_t b = 0; b < B; ++b) {
    const Tensor row_of_dx = select(Tensor(back), 0, b);
    const double all = sum(row_of_dx).item();
    sums.push_back({fmt::format("{}", b), entries_text(row_of_dx.value()),
                    fmt::format("{:.3f}", std::abs(all) < 1e-12 ? 0 : all)});
  }
  say.table({"row", "dx, the tape's", "its sum"}, sums);
  const Array of_sum = grad(probabilities(x), {x}, full({B, K}, 1))[0];
  say.is_zero("dx for g = 1 everywhere", {"largest", amax(abs(Tensor(of_sum))).item()}, 1e-12);
  say.text("Mind the last check. Had we checked with g = 1 only, a common habit, every derivative "
           "would have "
           "been zero, and a wrong one might have passed. That is why "
           "what we send back is random.");

  say.heading("Cross-entropy");
  say.equation(R"(L = -\frac{1}{B} \sum_{b=1}^{B} \ln p_{b,\,k_b})", "L = −(1/B) Σ_b ln p[b, k_b]");
  say.in_words("look only at the probability that was given to the right class k_b, and take its "
               "logarithm: 0 when it was 1, large when it was small. Knowing nothing costs ln K.");
  const Tensor loss = composed::cross_entropy(x, labels);
  double by_loop = 0;
  for (std::size_t b = 0; b < B; ++b) by_loop -= std::log(p.value()(b, labels[b])) / B;
  say.check("L", {"composed", loss.item()}, {"by a loop", by_loop}, 1e-12);
  say.check("L when all logits are equal",
            {"library", cross_entropy(Tensor(zeros({B, K})), labels).item()},
            {"ln 5", std::log(5.0)}, 1e-12);

  say.heading("Together they are simpler than apart");
  say.text("Softmax has a sum in its derivative, the logarithm a division. One after the other, "
           "they cancel:");
  say.equation(R"(\frac{\partial L}{\partial x_{b,i}} = \frac{p_{b,i} - y_{b,i}}{B})",
               "∂L/∂x = (p − y) / B,    y = 1 at the label, else 0");
  say.in_words("what the model said minus what it should have said. It is bounded, and it is zero "
               "only when the model is right and sure.");
  check_equal(say, "dx of the loss", "by hand", loss_by_hand(constant, labels), "tape",
              grad(loss, {x})[0]);
  check_gradients(say, [&] { return cross_entropy(x, labels); }, {{"x, through the loss", x}});
  say.text("So the library takes logits, and has one op for both. It is the same function:");
  check_twins(
      say, [&] { return cross_entropy(x, labels); },
      [&] { return composed::cross_entropy(x, labels); }, {{"x", x}});

  say.heading("What goes wrong");
  say.sources_disagree(
      "B 33", "Softmax in the model, and then a loss that applies softmax itself. Nothing "
              "crashes, and the loss falls; but not to 0. Probabilities lie in [0, 1], and "
              "the softmax of such numbers is nearly flat. With one p = 1 and the others "
              "0, ln(1 + (K − 1)/e) is left:");
  say.code("mistakes");
  const Tensor sure(array({B, K}, {0, 50, 0, 0, 0, 0, 0, 0, 0, 50, 50, 0, 0, 0, 0}));

  say.heading("What is left of the loss");
  const auto loss_in_use =
      say.broken("double-softmax") ? double_softmax : [](const Tensor& z, const Labels& k) {
        return cross_entropy(z, k);
      };
  const auto against_lead = [](const char* name, Tensor (*of)(const Tensor&, const Labels&)) {
    return graph_of(name, places(0, 10, 0.25), [of](double lead) {
      return of(array({1, K}, {lead, 0, 0, 0, 0}), {0}).item();
    });
  };
  say.figure({"The loss while the right class' logit grows, K = 5: with logits it goes to 0, after "
              "two softmaxes it stops falling.",
              Chart{.x_label = "lead of the right logit",
                    .y_label = "L",
                    .series = {against_lead("logits to the loss", loss_in_use),
                               against_lead("softmax twice", double_softmax)},
                    .from_zero = true}});
  say.is_zero("loss of a model that is right and sure", {"L", loss_in_use(sure, labels).item()},
              1e-12);
  say.check("the same, softmax twice", {"library", double_softmax(sure, labels).item()},
            {"ln(1 + 4/e)", std::log(1 + 4 / std::exp(1.0))}, 1e-12);

  say.pytorch("`torch.nn.functional.cross_entropy(logits, labels)`; `log_softmax` followed by "
              "`nll_loss` is the same. For attention, `torch.softmax(x, dim=-1)`.");
  say.question(
      "At the start of training, logits are near 0 and K = 10. What should the first loss "
      "be, and what do you suspect when it is 4?",
      "ln 10 = 2.30. At 4 the model is often sure and wrong: its last layer starts too large.");
}

int main(int argc, char** argv) { return tell(about, {lesson, play}, argc, argv); }
