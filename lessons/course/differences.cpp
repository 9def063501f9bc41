#include "lessons/telling/lesson.hpp"

using namespace vitruvian::lessons;

const Lesson about = {
    .title = "A derivative by differences",
    .equation = "f′(x) ≈ (f(x + h) − f(x − h)) / 2h",
    .minutes = 10,
    .teaches = {"square"},
    .breaks = {{"tiny-step", "takes h = 1e-13, far to the left of the V",
                "at so small a step the rounding of f, divided by 2h, is larger than what we "
                "look for."},
               {"one-sided", "takes the one-sided difference at h = 6e-6",
                "its error is of order h, not h squared: at this step it has only five right "
                "digits."}},
    .play =
        {"How small must h be for the most digits, and what does each formula lose on either side?",
         {{"log₁₀ h", -13, 0, -4, 0.5}, {"x", -2, 2, 0.7, 0.1}}},
};

// [region function]
double f(double x) { return 1 / (1 + x * x); }
double slope(double x) { return -2 * x * f(x) * f(x); }  // by hand: the quotient rule

// [region differences]
double one_sided(double x, double h) { return (f(x + h) - f(x)) / h; }
double two_points(double x, double h) { return (f(x + h) - f(x - h)) / (2 * h); }
double four_points(double x, double h) {
  return (8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * h);
}
// [end]

float two_points_in_float(float x, float h) {
  const auto g = [](float t) { return 1 / (1 + t * t); };
  return (g(x + h) - g(x - h)) / (2 * h);
}

// The errors of all steps, and the three formulas at the chosen one.
void play(Narrator& say, const std::vector<double>& at) {
  const double x = at[1], h = std::pow(10, at[0]), exact = slope(x);
  using Formula = double (*)(double, double);
  const std::pair<const char*, Formula> formulas[] = {
      {"one-sided", one_sided}, {"two points", two_points}, {"four points", four_points}};
  const auto error = [&](Formula formula, double step) {
    return std::max(std::abs(formula(x, step) - exact), 1e-17);
  };
  std::vector<Series> lines;
  Rows rows;
  for (const auto& [name, formula] : formulas) {
    lines.push_back(graph_of(name, places(-13, 0, 0.25),
                             [&, f = formula](double e) { return error(f, std::pow(10, e)); }));
    rows.push_back(
        row(name, fmt::format("{:.12f}", formula(x, h)), fmt::format("{:.1e}", error(formula, h))));
  }
  lines.push_back({"your h", {at[0], at[0]}, {1e-17, 1}});
  say.figure(
      {"How wrong each formula is, against h. On the right the formula's own error, on the left "
       "rounding.",
       Chart{.x_label = "log₁₀ h", .y_label = "error", .series = lines, .log_y = true}});
  say.table({fmt::format("at h = {:.1e}; the slope is {:.12f}", h, exact), "says", "error"}, rows);
}

void lesson(Narrator& say) {
  const double x = 0.7;
  const double exact = slope(x);

  say.heading("What we want to know");
  say.text("A network learns by its gradients: for each of its numbers, how much its error changes "
           "when that number does. Every gradient of this project is written by hand, so every one "
           "may be wrong. We need a judge that knows no calculus: it moves the input a little and "
           "looks how far the "
           "output goes. How little should \"a little\" be, and how far can we trust the judge?");

  say.heading("The derivative, three times");
  say.code("function");
  say.text("At x = 0.7 the slope is {:.6f}. Now without calculus, from values of f alone:", exact);
  say.equation(R"(f'(x) = \frac{f(x+h) - f(x)}{h} - \frac{h}{2} f''(\xi))",
               "f′(x) = (f(x + h) − f(x)) / h             − h f″/2");
  say.equation(R"(f'(x) = \frac{f(x+h) - f(x-h)}{2h} - \frac{h^2}{6} f'''(\xi))",
               "f′(x) = (f(x + h) − f(x − h)) / 2h        − h² f‴/6");
  say.equation(R"(f'(x) = \frac{8\,(f(x+h) - f(x-h)) - (f(x+2h) - f(x-2h))}{12h})"
               R"( + \frac{h^4}{30} f^{(5)}(\xi))",
               "f′(x) = (8 (f(x + h) − f(x − h))\n         − (f(x + 2h) − f(x − 2h))) / 12h      + "
               "h⁴ f‴″/30");
  say.in_words("step one way, and divide: a difference quotient; step both ways, so that the "
               "errors of odd order cancel; step twice as far as "
               "well, so that the next one cancels too. The last term is what is left over.");
  say.code("differences");

  say.heading("Is what is left over really of that order?");
  say.text("Halve the step. An error of order h must halve, one of order h² must fall to a "
           "quarter, one of order h⁴ to a sixteenth. We measure how many times smaller it gets.");
  const auto gain = [&](double (*d)(double, double), double h) {
    return (d(x, h) - exact) / (d(x, h / 2) - exact);
  };
  say.check("one-sided", {"measured", gain(one_sided, 1e-4)}, {"theory", 2}, 1e-2);
  say.check("two points", {"measured", gain(two_points, 1e-2)}, {"theory", 4}, 1e-2);
  say.check("four points", {"measured", gain(four_points, 1e-2)}, {"theory", 16}, 1e-2);

  say.heading("Then why not take h = 0.000000000001?");
  say.text("Because a computer rounds. f(x + h) and f(x − h) agree in almost all of their sixteen "
           "digits; the difference keeps only the few in which they do not, and division by 2h "
           "makes their rounding large. The smaller h, the worse: an error of about 10⁻¹⁶ / h.");
  Series series[3] = {{"one-sided", {}, {}}, {"two points", {}, {}}, {"four points", {}, {}}};
  double (*const forms[3])(double, double) = {one_sided, two_points, four_points};
  Rows rows;
  for (int k = 2; k <= 40; ++k) {
    const double h = std::ldexp(1.0, -k);  // a power of two, so that x + h is exact
    std::vector<std::string> row = {fmt::format("2^-{}", k), fmt::format("{:.0e}", h)};
    for (int i = 0; i < 3; ++i) {
      const double error = std::abs(forms[i](x, h) - exact) / std::abs(exact);
      series[i].x.push_back(-k);
      series[i].y.push_back(std::max(error, 1e-16));
      row.push_back(fmt::format("{:.0e}", error));
    }
    if (k % 4 == 2) rows.push_back(row);
  }
  say.table({"h", "about", "one-sided", "two points", "four points"}, rows);
  say.curves("Relative error of the derivative, as powers of ten, against h = 2^k. From the "
             "right it falls with the order of the formula; left of its lowest point "
             "rounding takes over. It is a V.",
             {series[0], series[1], series[2]}, true);
  say.text("The lowest point lies where the two errors are equal: for two points near the cube "
           "root of 10⁻¹⁶, h = 6 · 10⁻⁶. For four points a much larger step is best, and it gets "
           "further down. The library's readable check takes the one, its strict check the other.");

  say.heading("The judge, at work");
  const double h = say.broken("tiny-step") ? 1e-13 : 6e-6;
  const double numeric = say.broken("one-sided") ? one_sided(x, h) : two_points(x, h);
  say.check("f′(0.7), two points, h = 6e-6", {"analytic", exact}, {"numeric", numeric}, 1e-8);
  say.check("f′(0.7), four points, h = 1e-3", {"analytic", exact},
            {"numeric", four_points(x, 1e-3)}, 1e-9);
  const Tensor t(scalar(x), true);
  check_gradients(say, [&] { return Tensor(scalar(1)) / (square(t) + 1); },
                  {{"x, by the tape", t}});
  say.text(
      "The last check is of the library's own derivative of the same function, which nobody "
      "has told it: it put the rule for a quotient and the rule for a square together. Lessons "
      "#chain_rule and #tape show how.");

  say.heading("In float32 there is no room for a judge");
  say.differs("h = 6e-6, but in float32", {"analytic", exact},
              {"numeric", two_points_in_float(0.7F, 6e-6F)}, 1e-4);
  double best = 1, at = 0;
  for (int k = 2; k <= 20; ++k) {
    const double by = std::ldexp(1.0, -k);
    const double error = std::abs(two_points_in_float(0.7F, static_cast<float>(by)) / exact - 1);
    if (error < best) best = error, at = by;
  }
  say.text("A float has seven digits, and the difference of two of them has few that are right. "
           "The best of all steps, h = {:.0e}, leaves an error of {:.0e}; and who knows the best "
           "step beforehand? So gradients are checked in float64, and the same source is compiled "
           "a second time, in float32, for training.",
           at, best);

  say.pytorch("`torch.autograd.gradcheck(f, inputs, eps=1e-6)` is two points, and wants float64 "
              "inputs for this reason.");
  say.question("A model has a million parameters. How many times must the judge run it to check "
               "one gradient, and how often must the tape run it to compute one?",
               "Two million times: twice for each parameter. That is why differences only judge. "
               "The derivative of all parameters at once comes from one run forwards and one "
               "backwards: lesson #tape.");
}

int main(int argc, char** argv) { return tell(about, {lesson, play}, argc, argv); }
