#include "lessons/telling/lesson.hpp"
#include "vitruvian/core/fault.hpp"

#include <exception>
#include <functional>

using namespace vitruvian::lessons;

const Lesson about = {
    .title = "Checking gradients so that the check can fail",
    .equation = "|a − n| / max(|a|, |n|)",
    .minutes = 12,
    .teaches = {"softmax"},
    .breaks = {{"wide-tolerance", "calls an error caught only above 10",
                "a wrong sign gives a relative error of 2, a missing gradient one of 1: none is "
                "large."},
               {"ones", "weighs the output with ones",
                "a softmax's sum is constant: right and missing derivatives are both zero."}},
    .play = {"How small an error does the judge still notice, and when does it not matter?",
             {{"log₁₀ of the error put in", -12, 0, -4, 0.5}, {"size of x, log₁₀", -3, 3, 0, 0.5}}},
};

using Compute = std::function<Tensor(const Tensor&)>;

// [region judge]
// The largest relative error of the gradient of sum(c f(x)) at x.
double judge(const Compute& f, const Tensor& x, const Array& c) {
  const Array analytic = grad(f(x), {x}, c)[0];
  std::vector<double> numeric(x.size());
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto at = [&](double step) {
      Array moved = x.value();
      moved.data()[i] += step;
      const Array y = f(moved).value();
      return std::inner_product(y.begin(), y.end(), c.begin(), 0.0);
    };
    numeric[i] = (at(6e-6) - at(-6e-6)) / 1.2e-5;
    largest = std::max(largest, std::abs(numeric[i]));
  }
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double a = analytic.data()[i], n = numeric[i];
    double scale = std::max({std::abs(a), std::abs(n), 1e-3 * largest});
    if (largest < 1e-6) scale = 1e-3;  // zero but for rounding
    worst = std::max(worst, std::abs(a - n) / scale);
  }
  return worst;
}

// [region blind]
// Two judges that are easy to write, and see little.
bool passes_by_distance(double analytic, double numeric) {
  return std::abs(analytic - numeric) < 1e-2;
}
Array ones_like(const Tensor& y) { return full(y.shape(), 1); }
// [end]

double error_under(const char* op, Fault::Kind kind, const Compute& f, const Tensor& x,
                   const Array& c) {
  try {
    const Fault fault(op, kind);
    return judge(f, x, c);
  } catch (const std::exception&) {
    return INFINITY;  // the engine itself refused
  }
}

// softmax's gradient with a relative error of this size put into one entry, beside differences.
void play(Narrator& say, const std::vector<double>& at) {
  const double wrong = std::pow(10, at[0]), size = std::pow(10, at[1]);
  const Array x = mul(random_normal({6}, 1), size).value(), c = random_normal({6}, 2);
  const auto f = [&](const Array& v) { return double(sum(softmax(Tensor(v)) * Tensor(c)).item()); };
  const Tensor leaf(x, true);
  Array g = grad(softmax(leaf), {leaf}, c)[0];
  g(2) *= 1 + wrong;
  double largest = 0, error = 0;
  std::vector<double> numeric;
  for (std::size_t i = 0; i < 6; ++i) {
    const double h = 6e-6 * size;
    Array up = x, down = x;
    up(i) += h, down(i) -= h;
    numeric.push_back((f(up) - f(down)) / (2 * h));
    largest = std::max({largest, std::abs(numeric[i]), std::abs(g(i))});
  }
  for (std::size_t i = 0; i < 6; ++i) {
    const double a = g(i), n = numeric[i];
    const double measure = std::max({std::abs(a), std::abs(n), 1e-3 * largest, 1e-300});
    error = std::max(error, std::abs(a - n) / measure);
  }
  say.curves("Six entries of a gradient: the third has the error.",
             {{"by the rule", places(0, 5), numbers_of(g), Mark::dots},
              {"by differences", places(0, 5), numeric}});
  say.text("Largest relative error {:.1e}: {}.", error,
           error <= 1e-6 ? "the judge agrees" : "the judge disagrees");
}

void lesson(Narrator& say) {
  say.heading("What we want to know");
  say.text(
      "Whether a ViT learns rests on dozens of rules for derivatives, and a wrong one makes it "
      "learn worse, not stop. From here on we believe lines that say \"agree\", each a gradient "
      "check. One that "
      "cannot fail is worse "
      "than none. So we break our own derivatives on purpose, and look which checks notice.");

  say.heading("A measure");
  say.equation(R"(\text{error} = \frac{|a - n|}{\max(|a|,\, |n|,\, 10^{-3} \max|g|)})",
               "error = |a − n| / max(|a|, |n|, max|g| / 1000)");
  say.in_words(
      "the distance in units of the two sizes, so that small derivatives are judged as strictly as "
      "large ones. The last term keeps entries that are tiny beside their neighbours from being "
      "judged by rounding noise; where all are zero, the distance itself is judged.");
  say.code("judge");
  const Tensor x(random_normal({3, 4}, say.seed()), true);
  const Array c = random_normal({3, 4}, say.seed() + 1);
  const Compute soft = [](const Tensor& t) { return softmax(t); };
  say.is_zero("softmax, by the judge above", {"its error", judge(soft, x, c)}, 1e-6);
  check_gradients(say, [&] { return softmax(x); }, {{"softmax, by the library's judge", x}});

  say.heading("Can it fail?");
  say.text("A `Fault` makes the rule of one op wrong while it lives: a sign is flipped, a "
           "cotangent dropped, a second one not added, a sum forgotten. Each must be seen.");
  const Array c3 = random_normal({3, 4}, say.seed() + 2);
  const Tensor vector(random_normal({4}, say.seed() + 3), true);
  Rows table;
  std::vector<std::pair<std::string, double>> errors = {{"the tolerance", 1e-6}};
  double seen = 0;
  const auto attempt = [&](const char* op, Fault::Kind kind, const char* what, const Compute& f,
                           const Tensor& at) {
    const double error = error_under(op, kind, f, at, c3);
    const bool caught = say.broken("wide-tolerance") ? error > 10 : error > 1e-6;
    seen += caught ? 1 : 0;
    if (std::isfinite(error)) errors.emplace_back(fmt::format("{}: {}", op, what), error);
    table.push_back({op, what, std::isinf(error) ? "refused" : fmt::format("{:.1f}", error),
                     caught ? "caught" : "NOT CAUGHT"});
  };
  const Compute squared = [](const Tensor& t) { return t * t; };
  const Compute shifted = [&](const Tensor& t) { return Tensor(c) + t; };
  attempt("softmax", Fault::Kind::flip_sign, "sign flipped", soft, x);
  attempt("softmax", Fault::Kind::drop_cotangent, "cotangent dropped", soft, x);
  attempt("mul", Fault::Kind::skip_accumulation, "second use not added", squared, x);
  attempt("add", Fault::Kind::forget_unbroadcast, "sum forgotten", shifted, vector);
  say.table({"op", "fault", "error", ""}, table);
  say.bars(
      "The judge's error of each rule that is wrong and runs, by its order of magnitude, beside "
      "the tolerance: none comes near it.",
      errors, true);
  say.check("faults caught", {"found", seen}, {"expected", 4}, 0);

  say.heading("Blind spot one: weights of ones");
  say.text(
      "We reduce the output to one number with random weights c. Many take ones, a plain sum. "
      "But softmax's rows always sum to 1: the derivative of that sum is zero, and a "
      "rule that returns zeros is as good as the right one. With layer norm, whose rows sum to "
      "0, it is the same.");
  say.code("blind");
  const auto dropped = [&](const Array& w) {
    return error_under("softmax", Fault::Kind::drop_cotangent, soft, x, w);
  };
  const auto found = [](double error) { return error > 1e-6 ? "DISAGREE" : "agree"; };
  const Array ones = ones_like(x);
  say.table({"weights", "the right rule", "a rule that returns zeros"},
            {{"ones", found(judge(soft, x, ones)), found(dropped(ones))},
             {"random", found(judge(soft, x, c)), found(dropped(c))}});
  say.check("error of the rule that returns zeros, random weights",
            {"found", dropped(say.broken("ones") ? ones : c)}, {"all of it", 1}, 1e-6);

  say.heading("Blind spot two: distances");
  say.text("A derivative of 0.00001 with the wrong sign is off by 0.00002. A judge that asks for a "
           "distance below 0.01 lets it pass.");
  say.differs("1e-5 with the wrong sign, by its relative error", {"analytic", -1e-5},
              {"numeric", 1e-5}, 1);
  say.holds("the judge of distances lets it pass", passes_by_distance(-1e-5, 1e-5));

  say.heading("Blind spot three: kinks and zeros");
  say.text(
      "- relu has no derivative at 0. Differences there give 1/2, our convention is 0: a "
      "disagreement about nothing. Inputs of checks keep away from kinks.\n- Some gradients "
      "are exactly zero, and zero over zero is no error: the library judges those by "
      "distance, in units of 0.001. The most famous is in every ViT: the key's bias adds one "
      "number to a whole row of scores (lesson #self_attention), and softmax does not see it.");
  const Tensor kink(zeros({1}), true);
  say.differs("relu at 0", {"analytic", grad(relu(kink), {kink})[0]()},
              {"numeric", relu(Tensor(scalar(1e-6))).item() / 2e-6}, 0.5);
  const Tensor bias(scalar(0.3), true);
  const Array g_bias = grad(softmax(x + bias), {bias}, c)[0];
  say.is_zero("softmax(x + b): the derivative by b", {"analytic", g_bias()}, 1e-12);

  say.heading("How the library checks itself");
  say.text("`build/bin/gradcheck --strict` runs the four-point formula at two steps over every op "
           "at eight shapes or more, with whole Jacobians where they are small, and asks for 1e-8. "
           "One of the eight uses the op twice, as here:");
  check_gradients(say, [&] { return softmax(x) * softmax(x); }, {{"softmax twice, strict", x}},
                  {.strict = true});

  say.pytorch("`torch.autograd.gradcheck` compares whole Jacobians, with |a - n| <= atol + rtol "
              "|n|; its defaults are 1e-5 and 1e-3.");
  say.question("Your check of a layer passes at (4, 4) and at (8, 8). Which kind of mistake may it "
               "have missed?",
               "A forgotten or superfluous transpose, a sum over the wrong axis: where all lengths "
               "are equal, wrong shapes fit. Take lengths that differ.");
}

int main(int argc, char** argv) { return tell(about, {lesson, play}, argc, argv); }
