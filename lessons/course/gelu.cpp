#include "lessons/telling/lesson.hpp"

using namespace vitruvian::lessons;

const Lesson about = {
    .title = "GELU",
    .equation = "GELU(x) = x Φ(x)",
    .minutes = 10,
    .rows = "3-8 4-11",
    .teaches = {"gelu"},
    .breaks = {{"density", "takes the density φ in place of the distribution Φ",
                "φ is how dense the normal numbers lie at x, not how many lie below it."},
               {"half-a-rule", "the derivative Φ(x), as if Φ did not depend on x",
                "Φ moves as well; its share x φ(x) is largest around |x| = 1."}},
    .play = {"Where does GELU fall although x rises, and where is its slope above 1?",
             {{"x", -4, 4, -0.7, 0.1}}},
};

constexpr double pi = std::numbers::pi;

// [region definition]
// Phi: how likely a standard normal number is below x. phi: its density.
double Phi(double x) { return (1 + std::erf(x / std::numbers::sqrt2)) / 2; }
double phi(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * pi); }
double gelu_of(double x) { return x * Phi(x); }

// [region by hand]
// The product rule: the first factor's share, and the second's.
double slope(double x) { return Phi(x) + x * phi(x); }

// [region mistakes]
double with_density(double x) { return x * phi(x); }  // lower-case phi
double half_a_rule(double x) { return Phi(x); }       // Phi, held constant
// [end]

Array map(double (*f)(double), const Array& x) {
  Array y = x;
  for (double& value : y) value = f(value);
  return y;
}

// GELU, its slope, and where x stands on both.
void play(Narrator& say, const std::vector<double>& at) {
  const double x = at[0];
  const std::vector<double> axis = places(-4, 4, 0.1);
  const Series here{"x", {x, x}, {gelu_of(x), slope(x)}, Mark::dots};
  say.curves("GELU and its slope; the dots are your x.",
             {graph_of("GELU", axis, gelu_of), graph_of("its slope", axis, slope), here});
  const Tensor leaf(array({1}, {x}), true);
  const Tensor y = gelu(leaf);
  say.table(
      {"x", "Φ(x): how much of x passes", "GELU(x), by the library", "its slope, by the tape"},
      {row(fmt::format("{:.1f}", x), fmt::format("{:.4f}", Phi(x)),
           fmt::format("{:.4f}", y.value()(0)),
           fmt::format("{:.4f}", grad(y, {leaf}, array({1}, {1}))[0](0)))});
}

void lesson(Narrator& say) {
  say.heading("What we want to know");
  say.text("Whether strokes make a 3 or an 8 is no weighted sum of pixels. So between two linear "
           "layers of the ViT something must bend, or the two would be one. The ViT uses GELU, an "
           "activation function. Where does it come from, and why is it not simply max(x, 0), "
           "which is called relu?");

  say.heading("The equation");
  say.equation(R"(\mathrm{GELU}(x) = x\,\Phi(x), \qquad \Phi(x) = \frac12)"
               R"(\left(1 + \mathrm{erf}\frac{x}{\sqrt 2}\right))",
               "GELU(x) = x Φ(x),    Φ(x) = (1 + erf(x/√2)) / 2");
  say.in_words("let x through with the probability that a standard normal number is below it. A "
               "large x nearly always passes, a very negative one nearly never; what we take is "
               "the average over that chance.");
  say.code("definition");

  say.heading("A door that swings");
  const auto door = say.broken("density") ? with_density : gelu_of;
  const auto rule = say.broken("half-a-rule") ? half_a_rule : slope;
  const double lowest = -0.751791524693;
  say.text(
      "relu is the same idea with a hard door, open above 0. GELU's door swings: it is smooth, "
      "it has a slope everywhere, and left of {:.4f} it even falls as x grows, so it is not "
      "monotone.",
      lowest);
  const std::vector<double> all_x = places(-4, 3, 1.0 / 16);
  say.curves("GELU and relu. They meet at 0, and differ most at ±0.75, by 0.17.",
             {graph_of("relu", all_x, [](double x) { return std::max(x, 0.0); }),
              graph_of("GELU", all_x, door)});

  say.heading("The equation as code");
  say.code_of("core/composed.cpp", "Tensor gelu(");
  const Tensor x(array({7}, {-3, -1, -0.5, 0, 0.5, 1, 3}), true);
  check_equal(say, "GELU at seven places", "composed", composed::gelu(x), "x Φ(x)",
              map(door, x.value()));
  say.text(
      "And against numbers that PyTorch printed, in float64 (`tests/golden/lesson_numbers.py`):");
  const double golden[][2] = {{-3, -0.00404969409489},    {-1, -0.158655253931457},
                              {-0.5, -0.154268769362993}, {0.5, 0.345731230637007},
                              {1, 0.841344746068543},     {3, 2.99595030590511}};
  for (const auto& [at, value] : golden) {
    say.check(fmt::format("GELU({})", at), {"ours", gelu(Tensor(scalar(at))).item()},
              {"PyTorch", value}, 1e-11);
  }
  say.check("its lowest value, at -0.7518", {"ours", door(lowest)}, {"known", -0.16997120748},
            1e-9);

  say.heading("The derivative by hand");
  say.equation(R"(\frac{d}{dx}\, x\,\Phi(x) = \Phi(x) + x\,\varphi(x))",
               "d/dx x Φ(x) = Φ(x) + x φ(x)");
  say.in_words("a product of two functions of x, so two shares: x moves with Φ held, and Φ moves "
               "with x held. The slope of Φ is the density φ.");
  say.code("by hand");
  const Array hand = map(rule, x.value());
  check_equal(say, "slope at seven places", "by hand", hand, "tape",
              grad(gelu(x), {x}, full({7}, 1))[0]);
  say.check("slope at 0", {"by hand", rule(0)}, {"1/2", 0.5}, 1e-15);
  say.check("slope at 1", {"by hand", rule(1)}, {"PyTorch", 1.08331547058769}, 1e-12);

  say.heading("How steep");
  say.curves("The slopes. relu's jumps from 0 to 1; GELU's passes from one to the other, below 0 "
             "and above 1 on its way.",
             {graph_of("relu's slope", all_x, [](double at) { return at > 0 ? 1 : 0; }),
              graph_of("GELU's slope", all_x, rule)});
  say.text("A slope above 1, and below 0 left of the lowest point: neither can happen with relu.");
  const Tensor z(random_normal({3, 5}, say.seed()), true);
  check_gradients(say, [&] { return gelu(z); }, {{"x", z}});

  say.heading("The fused form");
  say.text("The composed form is five ops, so it walks over memory five times. The library's op "
           "walks once forwards and once backwards, and keeps nothing but x:");
  check_twins(
      say, [&] { return gelu(z); }, [&] { return composed::gelu(z); }, {{"x", z}});

  say.heading("What goes wrong");
  say.sources_disagree("B 8",
                       "The annotated code writes x φ(x), with a small φ: that is the density. It "
                       "goes to zero on both sides, so large inputs would vanish.");
  say.code("mistakes");
  const Array density = map(with_density, x.value());
  check_differs(say, "GELU", "x φ(x)", density, "x Φ(x)", gelu(x));

  say.heading("Two GELUs");
  say.sources_disagree(
      "B 9", "There are two GELUs in use. The original ViT code, and the repository behind the "
             "annotated code, take an approximation with tanh from the days when erf was slow; the "
             "notebook and the blog post are exact. Weights trained with one are meant for that "
             "one. Here the exact form is the rule.");
  say.code_of("core/composed.cpp", "Tensor gelu_tanh(");
  double apart = 0, where = 0;
  for (int i = -6000; i <= 6000; ++i) {
    const Tensor t(scalar(i / 1000.0));
    const double d = std::abs(gelu_tanh(t).item() - gelu(t).item());
    if (d > apart) apart = d, where = std::abs(i / 1000.0);
  }
  say.text("Of x from −6 to 6 in steps of 0.001, they differ most at ±{:.3f}: by {:.6f}.", where,
           apart);
  say.check("largest difference", {"tanh and exact", apart}, {"known", 4.7324e-4}, 1e-4);
  say.check("tanh form at 1", {"ours", gelu_tanh(Tensor(scalar(1))).item()},
            {"PyTorch", 0.841191990608277}, 1e-12);

  say.heading("Not relu");
  say.sources_disagree("B 21",
                       "`torchvision.ops.MLP`, which the slides propose, bends with relu unless "
                       "told otherwise. The paper says GELU.");
  check_differs(say, "at seven places", "relu", relu(x), "GELU", gelu(x), 1e-2);

  say.pytorch("`torch.nn.GELU()` is exact, `torch.nn.GELU(approximate=\"tanh\")` the other one; "
              "the function is `torch.nn.functional.gelu`.");
  say.take_along(
      "relu sends no gradient back where x < 0: such a unit can die. Where does GELU send none?",
      fmt::format("At one place only, its lowest point, x = {:.4f}. Far left next to nothing comes "
                  "back: the slope at −4 is {:.4f}. A unit may sleep there, but it can wake.",
                  lowest, slope(-4)));
}

int main(int argc, char** argv) { return tell(about, {lesson, play}, argc, argv); }
