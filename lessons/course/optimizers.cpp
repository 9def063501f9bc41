#include "lessons/telling/lesson.hpp"
#include "vitruvian/nn/optim.hpp"
#include "vitruvian/vit/config.hpp"

#include <functional>

using namespace vitruvian::lessons;

const Lesson about = {
    .title = "SGD, momentum, Adam, AdamW by hand",
    .equation = "θ ← θ − η m̂ / (√v̂ + ε)",
    .minutes = 15,
    .breaks = {{"uncorrected", "AdamW without the division by 1 − βᵗ",
                "m and v start too small, v more than m: the first steps are too long."},
               {"coupled", "adds the decay to the gradient, as Adam with L2 does",
                "then the decay is divided by √v̂ as well, and is another for every weight."}},
    .play = {"How large a rate can the walls of the valley bear, without momentum and with it?",
             {{"learning rate", 0.001, 0.041, 0.018, 0.001}, {"momentum", 0, 0.98, 0.9, 0.02}}},
};

constexpr std::size_t D = 6;
constexpr double mu = 0.9, beta1 = 0.9, beta2 = 0.999, eps = 1e-8;

struct Memory {  // what an optimizer keeps of one number between steps
  double m = 0, v = 0;
  int t = 0;
};
using Rule = std::function<double(double w, double g, Memory& s, double lr, double decay)>;

// [region sgd]
double sgd(double w, double g, Memory&, double lr, double decay) {
  return w - lr * (g + decay * w);
}
double momentum(double w, double g, Memory& s, double lr, double decay) {
  s.m = mu * s.m + (g + decay * w);
  return w - lr * s.m;
}

// [region adam]
double adam_step(double g, Memory& s) {
  ++s.t;
  s.m = beta1 * s.m + (1 - beta1) * g;
  s.v = beta2 * s.v + (1 - beta2) * g * g;
  const double m = s.m / (1 - std::pow(beta1, s.t));
  const double v = s.v / (1 - std::pow(beta2, s.t));
  return m / (std::sqrt(v) + eps);
}
double adam(double w, double g, Memory& s, double lr, double decay) {
  return w - lr * adam_step(g + decay * w, s);  // the decay is a part of the gradient
}
double adamw(double w, double g, Memory& s, double lr, double decay) {
  return w - lr * decay * w - lr * adam_step(g, s);  // the decay is apart from it
}

// [region muon]
// Five times s becomes c1 s + c3 s^3 + c5 s^5, every singular value s.
constexpr double c1 = 3.4445, c3 = -4.7750, c5 = 2.0315;
Tensor nearly_orthogonal(const Tensor& momentum) {  // rows <= columns
  Tensor x = momentum / sqrt(sum(square(momentum)));
  for (int step = 0; step < 5; ++step) {
    const Tensor A = matmul(x, transpose(x));
    x = c1 * x + matmul(c3 * A + c5 * matmul(A, A), x);
  }
  return x;
}
double one_value(double s) {
  for (int i = 0; i < 5; ++i) s *= c1 + c3 * s * s + c5 * s * s * s * s;
  return s;
}

// [region mistakes]
// m and v as they are: both start at 0, so both are too small at first.
double uncorrected(double w, double g, Memory& s, double lr, double decay) {
  adam_step(g, s);
  return w - lr * decay * w - lr * s.m / (std::sqrt(s.v) + eps);
}
// [end]

// Ten steps by a rule, and by the library, under the same random gradients.
template <class Optimizer, class Options>
void ten_steps(Narrator& say, const char* what, const Rule& rule, const Options& options) {
  const Tensor theirs(random_normal({D}, say.seed()), true);
  Array ours = theirs.value();
  std::vector<Memory> memory(D);
  Optimizer optimizer({{"w", Role::weight, theirs}}, options);
  for (std::uint64_t step = 1; step <= 10; ++step) {
    const Array g = random_normal({D}, say.seed() + step);
    for (std::size_t i = 0; i < D; ++i)
      ours(i) = rule(ours(i), g(i), memory[i], 0.1, options.weight_decay);
    theirs.set_grad(g), optimizer.step(0.1);
  }
  check_equal(say, what, "by hand", ours, "library", theirs);
}

// [region valley]
// f(a, b) = a^2 / 2 + 50 b^2: a hundred times steeper one way than the other.
struct Walk {
  Series path, f;  // b against a, and f against steps
};
Walk walk(const char* name, const Rule& rule, double lr) {
  double a = 1, b = 0.6;
  Memory of_a, of_b;
  Walk w{{name, {}, {}, Mark::dots}, {name, {}, {}}};
  for (int step = 0; step <= 100; ++step) {
    w.path.x.push_back(a), w.path.y.push_back(b);
    w.f.x.push_back(step), w.f.y.push_back(a * a / 2 + 50 * b * b);
    a = rule(a, a, of_a, lr, 0), b = rule(b, 100 * b, of_b, lr, 0);
  }
  return w;
}

// [end]

// The same valley with another rate and momentum; AdamW takes the same rate.
void play(Narrator& say, const std::vector<double>& at) {
  const double lr = at[0], keeps = at[1];
  const Rule heavy = [keeps](double w, double g, Memory& s, double rate, double) {
    s.m = keeps * s.m + g;
    return w - rate * s.m;
  };
  std::vector<Series> paths, falls;
  Rows rows;
  for (Walk w : {walk("SGD", sgd, lr), walk("momentum", heavy, lr), walk("AdamW", adamw, lr)}) {
    std::size_t inside = 0;  // steps before the walls throw it out
    while (inside < w.path.y.size() && std::abs(w.path.y[inside]) <= 2 &&
           std::abs(w.path.x[inside]) <= 2) {
      ++inside;
    }
    const bool stays = inside == w.path.y.size();
    rows.push_back({w.f.name, stays ? fmt::format("{:.2g}", w.f.y.back())
                                    : fmt::format("thrown out at step {}", inside)});
    for (Series* s : {&w.path, &w.f}) s->x.resize(inside), s->y.resize(inside);
    paths.push_back(w.path), falls.push_back(w.f);
  }
  say.figure(
      {"The paths from (1, 0.6) to the minimum (0, 0), a dot a step; one that leaves the "
       "valley ends there.",
       Chart{.x_label = "a, the flat direction", .y_label = "b, the steep one", .series = paths}});
  say.curves("f against steps (upwards logarithmic).", falls, true);
  say.table({"", "f after 100 steps"}, rows);
}

void lesson(Narrator& say) {
  say.heading("What we want to know");
  say.text(
      "The ViT that is to read digits has {} parameters, and nearly all of them begin as random "
      "numbers. For each of them the tape says which way the loss falls, but not how far to go. An "
      "optimizer decides "
      "that, step after step: too short a step and the model never arrives, too long and it is "
      "thrown out. Here are the four in common use, each in a few lines.",
      ViTConfig{}.parameters());
  say.text("θ is a parameter, g = ∂L/∂θ its gradient, η (eta) the learning rate.");
  say.symbols({{"D", D, "numbers that are learned here"}});

  say.heading("SGD, and momentum");
  say.equation(
      R"(\theta \leftarrow \theta - \eta\, g; \qquad m \leftarrow \mu\, m + g, \ \theta \leftarrow \theta - \eta\, m)",
      "θ ← θ − η g;    m ← μ m + g,  θ ← θ − η m");
  say.in_words(
      "walk against the slope, η times as far as it is steep (stochastic gradient descent, "
      "SGD: stochastic, because a batch of images is drawn for each step); or against a "
      "running sum of slopes, the momentum: what keeps its direction adds up, what changes "
      "sign cancels.");
  say.code("sgd");
  shapes(say, "θ, g, m, v (D)", zeros({D}));
  ten_steps<SGD>(say, "ten steps of SGD", sgd, SgdOptions{});
  ten_steps<SGD>(say, "ten steps with momentum", momentum, SgdOptions{.momentum = mu});
  Memory s;
  for (int i = 0; i < 400; ++i) momentum(0, 1, s, 1, 0);
  say.check("momentum on a slope that stays 1, step 400", {"length", s.m},
            {"1/(1 − μ)", 1 / (1 - mu)}, 1e-12);
  say.text("A momentum of 0.9 is, in the end, a rate ten times as large: change both together.");

  say.heading("Adam");
  say.equation(R"(m \leftarrow \beta_1 m + (1-\beta_1)\, g, \qquad v \leftarrow \beta_2 v + )"
               R"((1-\beta_2)\, g^2)",
               "m ← β₁ m + (1 − β₁) g,    v ← β₂ v + (1 − β₂) g²");
  say.equation(R"(\hat m = \frac{m}{1-\beta_1^t}, \quad \hat v = \frac{v}{1-\beta_2^t}, \qquad )"
               R"(\theta \leftarrow \theta - \eta\, \frac{\hat m}{\sqrt{\hat v} + \epsilon})",
               "m̂ = m / (1 − β₁ᵗ),  v̂ = v / (1 − β₂ᵗ),    θ ← θ − η m̂ / (√v̂ + ε)");
  say.in_words("a mean of the slopes, divided by the root of a mean of their squares: about 1 "
               "while the slope keeps its sign, far less where it is mostly noise. Here, as nearly "
               "everywhere, "
               "β₁ = 0.9, β₂ = 0.999, ε = 1e-8; μ above is 0.9.");
  say.code("adam");
  const Rule mine = say.broken("coupled") ? adam : say.broken("uncorrected") ? uncorrected : adamw;
  ten_steps<Adam>(say, "ten steps of Adam", adam, AdamOptions{});
  ten_steps<AdamW>(say, "ten steps of AdamW, decay 0.1", mine, AdamWOptions{.weight_decay = 0.1});
  const auto first = [](const Rule& rule, double slope, Memory fresh = {}) {
    return -rule(0, slope, fresh, 1, 0);
  };
  say.check("first step, slope 0.001", {"AdamW / η", first(mine, 0.001)}, {"1", 1}, 1e-4);
  say.check("first step, slope -1000", {"AdamW / -η", -first(mine, -1000)}, {"1", 1}, 1e-4);
  say.text("Why the hats? m and v start at 0: after one step they are (1 − β₁) g and (1 − β₂) g². "
           "Without hats the first step is too long by (1 − β₁)/√(1 − β₂):");
  const double bare = first(uncorrected, 1), too_long = 0.1 / std::sqrt(0.001);
  say.check("first step without hats", {"steps of η", bare}, {"0.1/√0.001", too_long}, 1e-6);
  say.code("mistakes");
  const auto lengths = [](const char* name, const Rule& rule) {
    Memory memory;
    return graph_of(name, places(1, 60), [&](double) { return -rule(0, 1, memory, 1, 0); });
  };
  say.figure({"How long each step is, in η, while the slope stays 1. It ought to be 1 from the "
              "first step on; without hats, the first ones are several times too long.",
              Chart{.x_label = "step",
                    .y_label = "length / η",
                    .series = {lengths("AdamW", mine), lengths("without hats", uncorrected)},
                    .from_zero = true}});

  say.heading("Weight decay: inside the gradient or apart");
  say.text(
      "Weight decay draws every weight towards 0, by ηλ of itself a step (λ is `decay` in the "
      "code). For SGD it is the same "
      "whether it joins the gradient or is done apart. For Adam it is not: what joins the gradient "
      "is divided by √v̂, too. Adam does that; AdamW, the W is for weight decay, does not.");
  Memory with, without, apart;
  say.check("Adam's first step from θ = 1, slope 1: θ", {"decay 0.1", adam(1, 1, with, 0.1, 0.1)},
            {"no decay", adam(1, 1, without, 0.1, 0)}, 1e-7);
  say.check("AdamW's", {"decay 0.1", mine(1, 1, apart, 0.1, 0.1)},
            {"1 − ηλ − η", 1 - 0.1 * 0.1 - 0.1}, 1e-7);
  say.sources_disagree(
      "B 25", "\"Adam with a weight decay of 0.1\", say the blog post and the paper's Table 3. In "
              "`torch.optim.Adam(weight_decay=0.1)` the decay joins the gradient, and Adam divides "
              "it away: a weight with large slopes hardly decays. In practice AdamW runs. A user "
              "of timm who took Adam reached 6.3 % on ImageNet (timm, issue 252).");
  say.text("What decays? In the authors' code, unless told otherwise, and in our trainer: weight "
           "matrices (kernels) only. A bias or a norm's γ need not be near 0. PyTorch's optimizers "
           "decay all that they are given: give them two groups, one with `weight_decay=0`.");

  say.heading("What PyTorch computes");
  say.text("θ = 1, slopes 0.5, −0.2, 0.1, η = 0.1, decay 0.1 (`tests/golden/lesson_numbers.py`):");
  const auto golden = [&](const char* name, const Rule& rule, double pytorch) {
    Memory memory;
    double x = 1;
    for (const double g : {0.5, -0.2, 0.1}) x = rule(x, g, memory, 0.1, 0.1);
    say.check(name, {"by hand", x}, {"PyTorch", pytorch}, 1e-12);
  };
  golden("SGD", sgd, 0.931094), golden("SGD, momentum 0.9", momentum, 0.838574);
  golden("Adam", adam, 0.7901621834311943), golden("AdamW", mine, 0.8001348466347304);

  say.heading("A narrow valley");
  say.text("A loss is rarely a round bowl. In a valley, one direction is steep and another flat:");
  say.code("valley");
  const Walk slow = walk("SGD", sgd, 0.018), fast = walk("momentum", momentum, 0.018),
             even = walk("AdamW", mine, 0.05);
  say.figure({"The paths from (1, 0.6), seen from above: a dot a step, η 0.018 for SGD and "
              "momentum, 0.05 for AdamW. The minimum is (0, 0).",
              Chart{.x_label = "a, the flat direction",
                    .y_label = "b, the steep one",
                    .series = {slow.path, fast.path, even.path}}});
  say.text("SGD jumps from wall to wall and creeps along the floor: with η above 2/100 the walls "
           "would throw it out. Momentum swings, too, and gains speed on the floor. AdamW divides "
           "by the size of the slopes: wall and floor get the same step, and it walks straight at "
           "first, then runs past the minimum and turns back.");
  say.curves("f against steps (upwards logarithmic).", {slow.f, fast.f, even.f}, true);
  const double f = slow.f.y.back(), flat = std::pow(0.982, 200) / 2;
  say.check("SGD's f after 100 steps", {"measured", f}, {"0.982^200 / 2", flat}, 1e-6);
  say.differs("f after 100 steps", {"momentum", fast.f.y.back()}, {"SGD", f}, 0.5);

  say.heading("A matrix has directions: Muon");
  say.text("Adam looks at each number of a weight matrix alone. But a matrix acts as one: it takes "
           "some directions of a token and stretches them, each by its singular value. The "
           "gradient of a weight is such a matrix, too, and mostly a few directions fill it: a "
           "step along it learns little in all others. Muon (2024) steps equally far along every "
           "direction of the momentum, for the matrices inside the blocks; the rest has AdamW.");
  say.equation(
      R"(X_0 = M / \lVert M \rVert, \qquad X \leftarrow c_1 X + (c_3 A + c_5 A^2) X, \quad )"
      R"(A = X X^\top)",
      "X₀ = M / ‖M‖,    X ← c₁ X + (c₃ A + c₅ A²) X,  A = X Xᵀ");
  say.in_words("no singular values are computed. X Xᵀ X has those of X to the third power along "
               "the same directions; five rounds of such sums bring large and small ones near 1.");
  say.code("muon");
  // H = I − 2 v vᵀ / ‖v‖² mirrors at the plane across v: a matrix without any stretching.
  const auto mirror = [&](std::size_t n, std::uint64_t seed) {
    const Tensor v(random_normal({n, 1}, seed));
    return Tensor(identity(n)) - matmul(v, transpose(v)) * 2 / sum(square(v));
  };
  Array known = zeros({8, 12});
  Series before{"of M", {}, {}, Mark::dots}, after{"after five rounds", {}, {}, Mark::dots};
  for (std::size_t i = 0; i < 8; ++i) known(i, i) = real(std::pow(0.6, double(i)));
  const Tensor left = mirror(8, say.seed()), right = mirror(12, say.seed() + 1);
  const Tensor M = matmul(left, matmul(Tensor(known), right)), X = nearly_orthogonal(M);
  shapes(say, "M, X (8, 12)", X);
  const double norm = std::sqrt(double(sum(square(M)).item()));
  Array expected = zeros({8, 12});
  for (std::size_t i = 0; i < 8; ++i) {
    expected(i, i) = real(one_value(double(known(i, i)) / norm));
    before.x.push_back(double(i + 1)), before.y.push_back(double(known(i, i)));
    after.x.push_back(double(i + 1)), after.y.push_back(double(expected(i, i)));
  }
  check_equal(say, "X, by its directions", "X", matmul(left, matmul(X, right)), "s, five times",
              expected);
  check_equal(say, "X", "by hand", X, "library", orthogonalised(M.value()));
  say.figure({"The eight singular values of M, each 0.6 of the one before, and those of X.",
              Chart{.x_label = "direction",
                    .y_label = "singular value",
                    .series = {before, after},
                    .from_zero = true}});
  say.text("They need not be 1: between 0.7 and 1.2 is good enough, and these three numbers "
           "get there in few rounds. A step is then 0.2 √max(rows, columns) η X, which "
           "is as long as AdamW's usually are, so that both take the same η. `vitruvian train "
           "--optimizer muon` has it.");

  say.pytorch("`torch.optim.SGD(params, lr, momentum)`, `torch.optim.Adam`, "
              "`torch.optim.AdamW(params, lr, betas, eps, weight_decay=0.01)`, and since 2.9 "
              "`torch.optim.Muon`. `optimizer.step()` "
              "after, `zero_grad()` before every `backward()`.");
  say.question("How many bytes do ViT-B/16's 86.6 million numbers (float32) and all that training "
               "with Adam keeps for each of them take?",
               "Weights, gradients, m and v: 4 x 4 bytes x 86.6 million, 1.4 GB, half of it "
               "Adam's. What the way back needs comes on top.");
}

int main(int argc, char** argv) { return tell(about, {lesson, play}, argc, argv); }
