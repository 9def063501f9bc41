#include "lessons/experiments/exhibits.hpp"
#include "lessons/telling/lesson.hpp"
#include "vitruvian/core/kernels/gemm.hpp"
#include "vitruvian/nn/optim.hpp"
#include "vitruvian/train/settings/settings.hpp"

#include <array>

using namespace vitruvian::lessons;

const Lesson about = {
    .title = "The recipes of the paper",
    .equation = "ηₜ: warm-up, linear, cosine",
    .minutes = 12,
    .rows = "4-17 4-18",
    .breaks = {{"from-zero", "a warm-up that begins at rate 0",
                "the first step changes nothing, and all of the warm-up is a step late."},
               {"clip-each", "clips every parameter by its own norm",
                "the step points in another direction than the gradient."},
               {"unshared", "gives every wrong class e in place of e/K",
                "a target must add up to 1; this one adds up to 1 − e + (K − 1) e."}},
    .play = {"How much of the training does a long warm-up cost?",
             {{"peak, thousandths", 0.1, 10, 1, 0.1},
              {"steps of warm-up", 0, 100, 20, 1},
              {"steps", 120, 1000, 200, 10}}},
};

constexpr std::size_t S = 200, U = 20, K = 10;

// [region schedules]
// The factor of the peak rate at step t of S, after U steps of warm-up.
double warmed(std::size_t t, const std::function<double(double)>& decay) {
  if (t < U) return double(t + 1) / U;
  return decay(double(t - U) / (S - U));
}
double linear_rate(std::size_t t) {
  return warmed(t, [](double p) { return 1 - p; });
}
double cosine_rate(std::size_t t) {
  return warmed(t, [](double p) { return (1 + std::cos(std::numbers::pi * p)) / 2; });
}

// [region clip]
// All gradients are one long vector; if it is longer than c, shorten it to c.
double length(const std::vector<NamedParameter>& all) {
  double squares = 0;
  for (const auto& p : all) squares += double(sum(square(Tensor(*p.tensor.grad()))).item());
  return std::sqrt(squares);
}
void clip(const std::vector<NamedParameter>& all, double c) {
  const double factor = std::min(1.0, c / length(all));
  for (const auto& p : all) p.tensor.set_grad(mul(*p.tensor.grad(), real(factor)).value());
}

// Every parameter by its own length: the direction of the step changes.
void clip_each(const std::vector<NamedParameter>& all, double c) {
  for (const auto& p : all) clip({p}, c);
}

// [region smoothing]
// (1 - e) for the label, and e shared by all K classes, the label included.
Array smooth(std::size_t label, double e) {
  Array y = full({1, K}, real(e / K));
  y(0, label) += real(1 - e);
  return y;
}

// [region stopping]
// The epoch whose weights are kept: the best, once `patience` epochs were not better.
std::size_t early_stop(const std::vector<double>& accuracy, std::size_t patience) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < accuracy.size() && i - best <= patience; ++i)
    if (accuracy[i] > accuracy[best]) best = i;
  return best;
}
// [end]

// [region half]
// The nearest number of 8 significant bits: bfloat16. A float32 has 24.
double to_bfloat16(double x) {
  if (x == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);  // of [1/2, 1)
  return std::ldexp(std::nearbyint(fraction * 256), exponent - 8);
}
// [end]

// [region three]
// Three times 8 bits are the 24 of a float32: x = x₀ + x₁ + x₂.
std::array<double, 3> three_of(double x) {
  const double x0 = to_bfloat16(x), x1 = to_bfloat16(x - x0);
  return {x0, x1, to_bfloat16(x - x0 - x1)};
}

// x y from so many of each; smaller products than theirs are left out.
double product_of(double x, double y, std::size_t pieces) {
  const auto a = three_of(x), b = three_of(y);
  double sum = 0;
  for (std::size_t i = 0; i < pieces; ++i) {
    for (std::size_t j = 0; i + j < pieces; ++j) sum += a[i] * b[j];
  }
  return sum;
}
// [end]

// L = (‖a‖² + b²) / 2: the gradient of a point is the point itself.
std::vector<NamedParameter> at_3_4_12() {
  const Tensor a(array({2}, {3, 4}), true), b(array({1}, {12}), true);
  return {{"a", Role::weight, a}, {"b", Role::bias, b}};
}
void go_back(const std::vector<NamedParameter>& all) {
  zero_grad(all);
  ((sum(square(all[0].tensor)) + sum(square(all[1].tensor))) / 2).backward();
}
using Clip = void (*)(const std::vector<NamedParameter>& all, double c);
// Descent with η = 1 and c = 1: how far a and b are from the minimum, step by step.
Series path(const char* name, Clip shorten) {
  Series walk{name, {}, {}, Mark::dots};
  const auto all = at_3_4_12();
  for (int step = 0; step <= 13; ++step) {
    walk.x.push_back(std::sqrt(double(sum(square(all[0].tensor)).item())));
    walk.y.push_back(std::abs(double(sum(all[1].tensor).item())));
    go_back(all), shorten(all, 1), SGD(all).step(1);
  }
  return walk;
}

std::string number(double x) { return fmt::format("{:g}", x); }
std::string name_of(ScheduleKind kind) { return std::string(names_of(kind)[std::size_t(kind)]); }

// What `vitruvian train --recipe` knows of the paper's tables.
Rows rows_of(const char* table,
             const std::function<Rows::value_type(const Recipe&, const TrainOptions&)>& row_of) {
  Rows rows;
  for (const Recipe& recipe : recipes()) {
    if (recipe.name.starts_with(table))
      rows.push_back(row_of(recipe, resolve_settings({recipe.name, "", {}})));
  }
  return rows;
}

// The library's schedules with these settings.
void play(Narrator& say, const std::vector<double>& at) {
  const double peak = at[0] / 1000;
  const auto steps = std::uint64_t(at[2]), warm_up = std::uint64_t(at[1]);
  std::vector<Series> lines;
  Rows rows;
  using Rate = double (*)(std::size_t, std::size_t, std::size_t);
  const std::pair<const char*, Rate> schedules[] = {
      {"constant", constant_schedule}, {"linear", linear_schedule}, {"cosine", cosine_schedule}};
  for (const auto& [name, rate] : schedules) {
    lines.push_back(graph_of(name, places(0, double(steps) - 1), [&, rate_at = rate](double t) {
      return peak * rate_at(std::size_t(t), steps, warm_up);
    }));
    const std::vector<double>& rates = lines.back().y;
    const double sum = std::accumulate(rates.begin(), rates.end(), 0.0);
    rows.push_back(row(name, fmt::format("{:.4f}", sum),
                       fmt::format("{:.1f} %", 100 * sum / (peak * double(steps)))));
  }
  say.figure({"The learning rate, step by step.",
              Chart{.x_label = "step", .y_label = "η", .series = lines, .from_zero = true}});
  say.table({"schedule", "sum of all rates", "of a constant one without warm-up"}, rows);
}

void half_the_bits(Narrator& say) {
  say.heading("Half the bits: bfloat16");
  say.text("Nearly all the time of a step goes into matrix products, and many processors multiply "
           "twice to four times as fast numbers of half the length: bfloat16, a float32 without "
           "the last 16 of its 24 significant bits. What may be rounded so, and what not?");
  say.code("half");
  Array x = empty({4}), rounded_x = empty({4});
  const std::vector<double> examples = {3.14159265, 0.1, 1e-8, 65536};
  for (std::size_t i = 0; i < 4; ++i) {
    x(i) = real(examples[i]), rounded_x(i) = real(to_bfloat16(double(x(i))));
  }
  Array by_library = empty({4});
  {
    const kernels::GemmPrecisionScope products(kernels::GemmPrecision::bfloat16);
    by_library = matmul(Tensor(reshape(Tensor(x), {4, 1})), Tensor(full({1, 1}, 1))).value();
  }
  check_equal(say, "rounded", "by hand", rounded_x, "library", reshape(Tensor(by_library), {4}), 0);
  Rows of_bits;
  for (std::size_t i = 0; i < 4; ++i) {
    of_bits.push_back(
        row(fmt::format("{:g}", examples[i]), fmt::format("{:.6g}", to_bfloat16(double(x(i)))),
            fmt::format("{:.2f} %", 100 * std::abs(to_bfloat16(examples[i]) / examples[i] - 1))));
  }
  say.table({"x", "as bfloat16", "off by"}, of_bits);
  say.text("At most 0.4 % is lost, and nothing of the range: 1e-8 stays. (float16, the other half, "
           "begins at 6e-8: there gradients vanish unless the loss is scaled up first. Here no "
           "loss needs scaling.)");
  const std::size_t terms = 512;
  double right = 0, factors = 0, sums = 0, size = 0, count = 0;
  const Array u = random_normal({terms}, say.seed()), v = random_normal({terms}, say.seed() + 1);
  for (std::size_t i = 0; i < terms; ++i) {
    const double product = to_bfloat16(double(u(i))) * to_bfloat16(double(v(i)));
    right += double(u(i)) * double(v(i)), size += std::abs(product);
    factors += product;
    sums = to_bfloat16(sums + product);
    count = to_bfloat16(count + 1);
  }
  say.text("Factors of products may be rounded. Each product is then off by up to 0.8 %, up or "
           "down as chance has it, and in a sum of many these cancel. Sums may not: they grow, "
           "and what is added falls below their last bit. 1 added {} times to a bfloat16:",
           terms);
  say.check("the sum of ones stands still", {"bfloat16", count}, {"2⁸", 256}, 0);
  say.holds("of 512 random products: rounded factors are off by less than 0.1 % of their sizes",
            std::abs(factors - right) < 1e-3 * size);
  say.holds("a rounded sum is further off than rounded factors",
            std::abs(sums - right) > std::abs(factors - right));
  say.text("Weights may not, either: a step changes them by a thousandth, which is less than "
           "half their last bit. Here a weight of 1 is to lose 0.1 % in each of 1000 steps:");
  std::vector<double> full_weight = {1}, half_weight = {1};
  for (int step = 0; step < 1000; ++step) {
    full_weight.push_back(full_weight.back() * 0.999);
    half_weight.push_back(to_bfloat16(half_weight.back() * 0.999));
  }
  say.check("a weight kept as bfloat16, after 1000 steps", {"it", half_weight.back()}, {"1", 1}, 0);
  say.curves("A weight that decays by a thousandth a step, kept as float32 and as bfloat16.",
             {curve_of("float32", full_weight), curve_of("bfloat16", half_weight)});
  say.text("So factors of matrix products are rounded, for the moment of the product, and weights, "
           "sums, norms, softmax, loss and optimizer stay as they are: `vitruvian train "
           "--precision bfloat16`. PyTorch calls it autocast.");
  say.text("And where nothing may be lost? A float32 is three bfloat16s, so that what multiplies "
           "bfloat16s fast enough multiplies float32s, too:");
  say.code("three");
  const float x2 = std::sqrt(2.0F), x3 = std::sqrt(3.0F);
  const auto [first, second, third] = three_of(x2);
  say.check("three bfloat16s", {"sum", first + second + third}, {"√2 in float32", x2}, 0);
  const double exact = double(x2) * double(x3);
  const auto off = [&](double product) { return std::abs(product / exact - 1); };
  Rows of_pieces;
  for (const std::size_t pieces : {1, 2, 3}) {
    of_pieces.push_back(row(fmt::format("{} bfloat16", pieces),
                            fmt::format("{}", pieces * (pieces + 1) / 2),
                            fmt::format("{:.0e}", off(product_of(x2, x3, pieces)))));
  }
  of_pieces.push_back(row("1 float32", "1", fmt::format("{:.0e}", off(double(x2 * x3)))));
  say.table({"a factor is", "products", "√2 √3 is off by"}, of_pieces);
  say.holds("what six products leave out is below the last bit of a float32",
            off(product_of(x2, x3, 3)) < std::ldexp(1, -23));
  say.text("The matrix unit of some processors (AMX) multiplies bfloat16s up to sixteen times "
           "as fast as other instructions float32s. Where it is there, this library makes a "
           "product of float32s of six of those, summed in float32 (`core/kernels/amx.cpp`): "
           "faster, and about as exact.");
}

void lesson(Narrator& say) {
  say.heading("What we want to know");
  say.text(
      "Two people train the same ViT on the same digits, with the same optimizer; one gets "
      "nowhere. What differs is the recipe: how the learning rate changes, how long a step may "
      "be, which answer counts as right, and when to stop. These few lines make up for much "
      "of what the model does not know beforehand.");
  say.symbols({{"S", S, "steps of the whole run"}, {"U", U, "steps of the warm-up"}, {"K", K}});

  say.heading("The rate over time");
  say.equation(
      R"(\eta_t = \eta \cdot \begin{cases} (t+1)/U & t < U \\ 1 - p & \text{linear} \\ )"
      R"(\tfrac12 (1 + \cos \pi p) & \text{cosine} \end{cases} \qquad p = \frac{t-U}{S-U})",
      "ηₜ = η (t + 1)/U  (t < U),  then with p = (t − U)/(S − U)\nηₜ = η (1 − p)  or  η (1 + cos "
      "πp)/2");
  say.in_words("begin carefully, while Adam's mean of squares knows little; then come down, or one "
               "circles around the minimum. Linear comes down evenly, cosine lands softly.");
  say.code("schedules");
  // The mistake is a warm-up that is one step late.
  const std::size_t late = say.broken("from-zero") ? 1 : 0;
  std::vector<double> line, wave;
  Array mine = empty({2, S}), theirs = empty({2, S});
  for (std::size_t t = 0; t < S; ++t) {
    const double less = t < U ? double(late) / U : 0;
    line.push_back(linear_rate(t) - less), wave.push_back(cosine_rate(t) - less);
    mine(0, t) = real(line[t]), mine(1, t) = real(wave[t]);
    theirs(0, t) = real(linear_schedule(t, S, U)), theirs(1, t) = real(cosine_schedule(t, S, U));
  }
  const std::vector<Series> two = {curve_of("linear", line), curve_of("cosine", wave)};
  say.figure(
      {"The two schedules of the paper, with a warm-up: up in a tenth of the run, then down.",
       Chart{.x_label = "step", .y_label = "rate / peak", .series = two, .from_zero = true}});
  check_equal(say, "both schedules at all steps", "by hand", mine, "library", theirs, 1e-6);
  const auto decay = [](const auto& rates) { return std::reduce(rates.begin() + U, rates.end()); };
  say.check("summed over the decay", {"linear", decay(line)}, {"cosine", decay(wave)}, 1e-9);
  say.text(
      "Both sums are about half of what a constant rate would give. Mind the t + 1: with t/U the "
      "first step has rate 0 and is wasted.");

  say.heading("Gradient clipping");
  say.equation(R"(g \leftarrow g \cdot \min(1,\, c / \lVert g \rVert))", "g ← g · min(1, c / ‖g‖)");
  say.in_words("the gradient is never longer than c; with plain SGD, no step longer than η c. The "
               "norm is that of all gradients: the direction stays.");
  say.code("clip");
  say.text("Two parameters with gradients (3, 4) and (12): together √(9 + 16 + 144) = 13 long.");
  const auto ours = at_3_4_12(), library = at_3_4_12(), each = at_3_4_12(), before = at_3_4_12();
  for (const auto* of : {&ours, &library, &each, &before}) go_back(*of);
  say.check("the norm before", {"library", clip_grad_norm(library, 1)}, {"13", 13}, 1e-6);
  const Clip shorten = say.broken("clip-each") ? clip_each : clip;
  shorten(ours, 1), clip_each(each, 1);
  const auto gradient = [](const auto& of, std::size_t i) { return *of[i].tensor.grad(); };
  const Array a = gradient(library, 0), b = gradient(library, 1);
  check_equal(say, "gradient of a", "by hand", gradient(ours, 0), "library", a, 1e-6);
  check_equal(say, "gradient of b", "by hand", gradient(ours, 1), "library", b, 1e-6);
  say.check("the norm after", {"library", length(library)}, {"1", 1}, 1e-6);
  say.text("Before, the lengths of a and b were as 5 to 12. Clipped each for itself, as 1 to 1:");
  check_differs(say, "gradient of a", "each", gradient(each, 0), "together", a, .1);
  Rows clipped;
  for (const auto& [name, of] :
       {std::pair{"before", before}, {"clipped here", ours}, {"clipped each", each}}) {
    clipped.push_back({name, entries_text(gradient(of, 0)), entries_text(gradient(of, 1))});
  }
  say.table({"c = 1", "gradient of a", "gradient of b"}, clipped);
  const Series straight = path("clipped here", shorten), crooked = path("clipped each", clip_each);
  say.figure(
      {"Thirteen steps of length 1 at most, down L = (‖a‖² + b²)/2 from a = (3, 4), b = 12. "
       "The gradient points at the minimum: who keeps its direction walks there straight.",
       Chart{
           .x_label = "‖a‖", .y_label = "|b|", .series = {straight, crooked}, .from_zero = true}});
  Array on_the_line = empty({14}), b_of = empty({14});
  for (std::size_t i = 0; i < 14; ++i) {
    on_the_line(i) = real(straight.x[i] * 12 / 5), b_of(i) = real(straight.y[i]);
  }
  check_equal(say, "every step on the line to the minimum", "|b|", b_of, "12/5 ‖a‖", on_the_line,
              1e-5);

  say.heading("Label smoothing");
  say.equation(R"(y_k = (1 - e)\,[k = \text{label}] + e/K)", "yₖ = (1 − e) [k = label] + e/K");
  say.in_words("do not ask for certainty: a share e of the target is spread over all classes.");
  say.code("smoothing");
  const double e = 0.1;
  const std::vector<std::size_t> label = {3};
  const Tensor x(random_normal({1, K}, say.seed()), true);
  Array target = smooth(3, e);
  if (say.broken("unshared")) target = full({1, K}, real(e)), target(0, 3) = real(1 - e);
  shapes(say, "y (1, K)", Tensor(target));
  say.check("L", {"against y", double(cross_entropy(x, target).item())},
            {"label_smoothing", double(cross_entropy(x, label, e).item())}, 1e-5);
  const Array dx = grad(cross_entropy(x, label, e), {x})[0];
  check_equal(say, "dL/dx", "p − y", softmax(x) - Tensor(target), "tape", dx, 1e-5);
  say.text("The loss is least where p = y: there it is y's entropy, and the label's logit leads by "
           "ln((1 − e + e/K)/(e/K)), here, with e = 0.1 and K = 10, ln 91 = {:.2f}.",
           std::log(91.0));
  const double high = 1 - e + e / K, low = e / K, lead = std::log(high / low);
  Array best = zeros({1, K});
  best(0, 3) = real(lead);
  const auto reached = double(cross_entropy(Tensor(best), label, e).item());
  const double entropy = -high * std::log(high) - (K - 1) * low * std::log(low);
  say.check("L at a lead of ln 91", {"library", reached}, {"entropy of y", entropy}, 1e-5);
  const auto against_lead = [](const char* name, const auto& answer) {
    return graph_of(name, places(0, 12, 0.2), [&](double by) {
      Array logits = zeros({1, K});
      logits(0, 3) = real(by);  // in float32: no further than four places
      return std::round(1e4 * double(cross_entropy(Tensor(logits), answer).item())) / 1e4;
    });
  };
  say.figure({"L against the lead of the label's logit. Without smoothing more is always better; "
              "with it, too much confidence costs.",
              Chart{.x_label = "lead",
                    .y_label = "L",
                    .series = {against_lead("e = 0", label), against_lead("e = 0.1", target)}}});

  say.heading("Early stopping");
  say.code("stopping");
  const std::vector<double> epochs = {.61, .74, .80, .83, .85, .84, .86, .85, .84, .84, .85, .87};
  say.text(
      "Stop when the images kept aside for validation have not been read better for some epochs "
      "(an epoch is one pass over all training images), and keep the best weights. Validation "
      "accuracies .61 .74 .80 .83 .85 .84 .86 .85 .84 .84 .85 .87, patience 3:");
  const auto kept = double(early_stop(epochs, 3) + 1);
  say.check("the epoch that is kept", {"counted from 1", kept}, {"expected", 7}, 0);
  say.text("Epoch 12 would have been better: a price. And never use the test images for this: what "
           "was chosen by them cannot be judged by them.");

  half_the_bits(say);

  say.heading("The recipes of the paper");
  const TrainOptions pre = resolve_settings({"table3-jft-b", "", {}}),
                     fine = resolve_settings({"table4-vtab", "", {}});
  say.text(
      fmt::format("Pre-training: Adam, β = ({}, {}), batch {}, {} steps of warm-up, 224 px. As "
                  "`vitruvian train --recipe` has it:",
                  pre.beta1, pre.beta2, pre.batch_size * pre.accumulate, pre.warmup_steps));
  say.table({"--recipe", "epochs", "rate", "decay", "weight decay", "dropout", "clip"},
            rows_of("table3-", [](const Recipe& r, const TrainOptions& o) {
              return row(r.name, o.epochs, number(o.lr), name_of(o.schedule),
                         number(o.weight_decay), number(o.model.dropout), number(o.clip));
            }));
  say.text("On JFT-300M L/16 has 7 epochs, or 14; on ImageNet-21k L has 30, or 90. A clip of 0 "
           "means none.");
  say.text(
      fmt::format("Fine-tuning: SGD with momentum {}, {}, batch {}, weight decay {}, clip {}, 384 "
                  "px, on a fresh head of zeros (section 3.2 and Table 4).",
                  fine.momentum, name_of(fine.schedule), fine.batch_size * fine.accumulate,
                  fine.weight_decay, fine.clip));
  say.table({"--recipe", "steps", "rates that are tried", "our default"},
            rows_of("table4-", [](const Recipe& r, const TrainOptions& o) {
              return row(r.name, r.steps, r.rates, number(o.lr));
            }));
  say.sources_disagree(
      "B 24", "The blog post gives one pre-training recipe: linear, weight decay 0.1, label "
              "smoothing, early stopping. That is JFT's row of Table 3, mixed with section 4.3's. "
              "On ImageNet alone the paper decays three times as much, drops out, clips, and comes "
              "down a cosine: the less data, the more must hold the model back.");

  say.pytorch(
      "`torch.optim.lr_scheduler.CosineAnnealingLR` and `LinearLR`, chained by `SequentialLR` "
      "(LinearLR starts at a third of the rate unless told `start_factor`); "
      "`torch.nn.utils.clip_grad_norm_`; `CrossEntropyLoss(label_smoothing=0.1)`.");
  say.take_along(
      "Adam divides every gradient by its own size. What then does clipping still do?",
      "A factor that all gradients share cancels, true. But a single gradient that is suddenly "
      "long "
      "is divided by the small √v of the steps before, moves far, and then spoils v for some "
      "1/(1 − β₂) = 1000 steps. Clipping makes that one as short as the others.");
}

int main(int argc, char** argv) { return tell(about, {lesson, play}, argc, argv); }
