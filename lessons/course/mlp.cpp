#include "vitruvian/nn/torch/mlp.hpp"
#include "lessons/telling/lesson.hpp"
#include "vitruvian/vit/config.hpp"

using namespace vitruvian::lessons;

const Lesson about = {
    .title = "The MLP",
    .equation = "MLP(z) = GELU(z W₁ + b₁) W₂ + b₂",
    .minutes = 8,
    .rows = "0-11 1-18 2-7 3-7",
    .teaches = {"linear", "gelu"},
    .breaks = {{"no-gelu", "leaves the non-linearity out",
                "a product of two matrices is a matrix: M more numbers in the middle add nothing."},
               {"relu", "bends with relu, as torchvision's MLP does by default",
                "the two agree far from zero, and most of a layer's inputs lie near it."},
               {"lost-bias", "nothing comes back to the biases of the linear layers",
                "a bias is added to every token, so its slope is the sum of g: not 0.",
                "linear:drop_cotangent:2"}},
    .play =
        {"Turn one number of a token: which units open, and how many bends has an answer with few "
         "units, with many?",
         {{"the token's first number", -4, 4, 1, 0.25}, {"hidden width M", 1, 64, 16, 1}}},
};

constexpr std::size_t B = 2, T = 3, D = 4, M = 16;

// [region equation]
Tensor equation(const Mlp& mlp, const Tensor& z) {
  const Tensor u = linear(z, mlp.fc1.weight, mlp.fc1.bias);  // (B, T, M)
  const Tensor hidden = gelu(u);                             // (B, T, M)
  return linear(hidden, mlp.fc2.weight, mlp.fc2.bias);       // (B, T, D)
}

// [region loops]
// Each token (b, t) by itself: unit m reads it with row m of W_1, bends, and adds column m of W_2
// to the answer.
Array by_loops(const Mlp& mlp, const Array& z) {
  const Array &W_1 = mlp.fc1.weight.value(), &W_2 = mlp.fc2.weight.value();
  const Array &b_1 = mlp.fc1.bias.value(), &b_2 = mlp.fc2.bias.value();
  Array y = empty({B, T, D});
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t t = 0; t < T; ++t) {
      for (std::size_t d = 0; d < D; ++d) y(b, t, d) = b_2(d);
      for (std::size_t m = 0; m < M; ++m) {
        double u = b_1(m);
        for (std::size_t d = 0; d < D; ++d) u += W_1(m, d) * z(b, t, d);
        const double opened = u * (1 + std::erf(u / std::sqrt(2.0))) / 2;
        for (std::size_t d = 0; d < D; ++d) y(b, t, d) += opened * W_2(d, m);
      }
    }
  }
  return y;
}

// [region by hand]
// From the last step to the first; rows are the B T tokens.
std::vector<Leaf> by_hand(const Mlp& mlp, const Tensor& g, const Tensor& z) {
  const Tensor &W_1 = mlp.fc1.weight, &W_2 = mlp.fc2.weight;
  const Tensor u(linear(z, W_1, mlp.fc1.bias).value(), true);
  const Tensor hidden = gelu(u);
  const Tensor slope(grad(hidden, {u}, full(u.shape(), 1), true)[0]);
  const Tensor du = matmul(g, W_2) * slope;
  return {{"dz", reshape(matmul(du, W_1), {B, T, D})},
          {"dW_1", matmul(transpose(du), z)},
          {"db_1", sum(du, {0})},
          {"dW_2", matmul(transpose(g), hidden)},
          {"db_2", sum(g, {0})}};
}

// [region mistakes]
Tensor without_gelu(const Mlp& f, const Tensor& z) { return f.fc2(f.fc1(z)); }
Tensor with_relu(const Mlp& f, const Tensor& z) { return f.fc2(relu(f.fc1(z))); }
Tensor bent_at_the_end(const Mlp& f, const Tensor& z) { return gelu(f.fc2(gelu(f.fc1(z)))); }

// [end]

Series gelu_curve(double end, double apart) {
  return graph_of("GELU(u)", places(-end, end, apart),
                  [](double u) { return gelu(Tensor(scalar(u))).item(); });
}

// A token whose first number is turned, in an MLP of `at[1]` units.
void play(Narrator& say, const std::vector<double>& at) {
  const Mlp turned(D, std::size_t(at[1]), Rng(say.seed()));
  draw(named_parameters(turned), Rng(say.seed()));
  const std::vector<double> turns = places(-4, 4, 1.0 / 8);
  const std::size_t points = turns.size();
  Array tokens = empty({points + 1, D});
  const Array rest = random_normal({D}, say.seed());
  for (std::size_t i = 0; i <= points; ++i) {
    for (std::size_t d = 1; d < D; ++d) tokens(i, d) = rest(d);
    tokens(i, 0) = i < points ? turns[i] : at[0];
  }
  const Tensor u = turned.fc1(tokens), y = turned(tokens);
  const auto now = [&](const Tensor& t) { return numbers_of(select(t, 0, points)); };
  const Series units{"the units", now(u), now(gelu(u)), Mark::dots};
  const auto open = std::count_if(units.x.begin(), units.x.end(), [](double x) { return x > 0; });
  const auto firsts = [&](const Tensor& t) {
    return numbers_of(select(slice(t, 0, 0, points), 1, 0));
  };
  const Series answer{"MLP(z)", turns, firsts(y)};
  const Series line{"without GELU", turns, firsts(without_gelu(turned, tokens))};
  const Series here{"now", {at[0]}, {now(y)[0]}, Mark::dots};
  say.figure(
      {fmt::format("The units on GELU's curve: {} of {} are open, right of 0.", open, at[1]),
       Chart{.x_label = "u", .y_label = "GELU(u)", .series = {gelu_curve(4, 1.0 / 8), units}}});
  say.figure(
      {"The first number of the answer against the one that you turn. Every unit that opens "
       "on the way bends it; without GELU it stays straight.",
       Chart{
           .x_label = "z, its first number", .y_label = "MLP(z)", .series = {answer, line, here}}});
}

void lesson(Narrator& say) {
  say.heading("What we want to know");
  say.text("Attention gathers what strokes lie where; that together they are a 3, no average can "
           "say. For that each block has an MLP, a multilayer perceptron with one hidden layer (in "
           "the first Transformer, the feed-forward network). "
           "\"MLP is standard\", says the annotated code, and moves on. It holds two thirds of a "
           "block's parameters. What does it do that attention cannot?");

  say.heading("The equation");
  say.symbols({{"B", B}, {"T", T}, {"D", D}, {"M", M, "hidden width: 4 D in the paper's models"}});
  say.equation(R"(\mathrm{MLP}(z) = \mathrm{GELU}(z W_1 + b_1)\, W_2 + b_2)",
               "MLP(z) = GELU(z W₁ + b₁) W₂ + b₂", "3, in part");
  say.in_words("make each token four times as wide, bend every number, bring it back: the paper's "
               "\"two layers with a GELU non-linearity\".");

  say.heading("The equation as code");
  say.code("equation");
  const Mlp mlp(D, M, Rng(say.seed()));
  const Tensor z(random_normal({B, T, D}, say.seed()), true);
  const auto used = say.broken("no-gelu") ? without_gelu
                    : say.broken("relu")  ? with_relu
                                          : equation;
  const Tensor right = used(mlp, z);
  shapes(say, "z (B, T, D)", z, "W_1, as stored (M, D)", mlp.fc1.weight);
  Trace trace;
  const Tensor layer = mlp(z, {.trace = &trace});
  shapes(say, trace);
  shapes(say, "W_2, as stored (D, M)", mlp.fc2.weight, "MLP(z) (B, T, D)", right);

  say.heading("For one token, without a matrix");
  say.text("And for one token, without a matrix:");
  say.code("loops");
  check_equal(say, "MLP(z)", "equation", right, "loops", by_loops(mlp, z.value()));
  const Tensor u_of_tokens = reshape(linear(z, mlp.fc1.weight, mlp.fc1.bias), {B * T, M});
  const Series units{"the token's units", numbers_of(select(u_of_tokens, 0, 0)),
                     numbers_of(select(gelu(u_of_tokens), 0, 0)), Mark::dots};
  say.figure(
      {"The 16 hidden units for one token, on GELU's curve: some are open, most hardly.",
       Chart{.x_label = "u", .y_label = "GELU(u)", .series = {gelu_curve(3, 1.0 / 16), units}}});
  say.text("A unit asks one question of the token; if the answer is yes, it adds one vector to it. "
           "M questions, M vectors: a memory looked up by content.");

  say.heading("Each token alone");
  say.text("Attention is where tokens meet. The MLP treats each alone, all with the same weights: "
           "a convolution of kernel 1.");
  Array changed = z.value();
  for (std::size_t d = 0; d < D; ++d) changed(0, 1, d) += 1;
  const auto token = [](const Tensor& t, int i) { return select(select(t, 0, 0), 0, i).value(); };
  const Tensor after = mlp(changed);
  check_equal(say, "token 0, token 1 changed", "after", token(after, 0), "before", token(right, 0));
  check_differs(say, "token 1", "after", token(after, 1), "before", token(right, 1));

  say.heading("The derivative by hand");
  say.equation(
      R"(du = (g\, W_2^\top) \odot \mathrm{GELU}'(u), \quad)"
      R"( dW_2 = \mathrm{GELU}(u)^\top g, \quad dW_1 = z^\top du, \quad)"
      R"( dz = du\, W_1^\top)",
      "u = z W₁ + b₁\ndu = (g W₂ᵀ) ⊙ GELU′(u),   dW₂ = GELU(u)ᵀ g\ndW₁ = zᵀ du,   dz = du W₁ᵀ");
  say.in_words("a linear layer, a slope for each number, a linear layer. A unit that is shut sends "
               "hardly anything back, and learns as little.");
  say.code("by hand");
  const Array g = random_normal({B, T, D}, say.seed() + 1);
  const Tensor rows_g = reshape(g, {B * T, D}), rows_z = reshape(z.detach(), {B * T, D});
  const Tensor &W_1 = mlp.fc1.weight, &b_1 = mlp.fc1.bias;
  const Tensor &W_2 = mlp.fc2.weight, &b_2 = mlp.fc2.bias;
  check_by_hand(say, by_hand(mlp, rows_g, rows_z), grad(right, {z, W_1, b_1, W_2, b_2}, g, true));
  const std::vector<Leaf> leaves = {
      {"z", z}, {"W_1", W_1}, {"b_1", b_1}, {"W_2", W_2}, {"b_2", b_2}};
  const auto by_equation = [&] { return equation(mlp, z); };
  const auto composed_form = [&] {
    return composed::linear(composed::gelu(composed::linear(z, W_1, b_1)), W_2, b_2);
  };
  check_gradients(say, by_equation, leaves);
  check_twins(
      say, [&] { return mlp(z); }, composed_form, leaves);

  say.heading("Where the parameters are");
  const ViTConfig base = {.D = 768, .L = 12, .M = 3072};
  const double D_ = 768, M_ = 3072, attention = 4 * D_ * D_ + 4 * D_, both = 2 * D_ * M_ + M_ + D_;
  say.table({"one block of ViT-Base", "parameters"},
            {row("attention, 4 D² + 4 D", attention), row("MLP, 2 D M + M + D", both),
             row("two layer norms, 4 D", 4 * D_)});
  say.bars(
      "The same in thousands: the MLP has twice as many as attention.",
      {{"attention", attention / 1e3}, {"MLP", both / 1e3}, {"two layer norms", 4 * D_ / 1e3}});
  ViTConfig deeper = base;
  deeper.L = 13;
  say.check("one block more", {"library", double(deeper.parameters() - base.parameters())},
            {"sum", attention + both + 4 * D_}, 0);
  say.check("the MLP's share", {"MLP / block", both / (attention + both + 4 * D_)},
            {"two thirds", 2.0 / 3}, 1e-3);

  say.heading("What goes wrong");
  say.sources_disagree(
      "", "Without GELU the wide layer is for nothing: two matrices in a row are one, of D x D.");
  say.code("mistakes");
  const Tensor one = matmul(W_2, W_1);  // (D, D)
  const Tensor flat = linear(z, one, linear(b_1, W_2, b_2));
  check_equal(say, "without GELU", "two layers", without_gelu(mlp, z), "one layer", flat);
  check_differs(say, "MLP(z)", "without GELU", flat, "with", right);

  say.heading("torchvision's MLP");
  say.sources_disagree(
      "B 21", "The slides propose `torchvision.ops.MLP(D, [M, D])`. It bends with relu unless "
              "handed `activation_layer=nn.GELU`, and ends, as it should, in no non-linearity: an "
              "MLP that bends its answer could hardly take anything away from the token.");
  say.table(
      {"torchvision.ops.MLP(", "what it is for", "in a ViT"},
      {{"in_channels", "the width that comes in", "D"},
       {"hidden_channels", "all other widths; the last goes out", "[M, D]"},
       {"norm_layer = None", "before each activation", "None: the block has its own"},
       {"activation_layer = ReLU", "after each layer but the last", "GELU"},
       {"inplace = None", "activations overwrite their input: less memory, same numbers", "None"},
       {"bias = True", "of every layer", "True"},
       {"dropout = 0.0", "after each activation, and at the end", "the model's rate"}});
  const auto proposed = [&](const MLP::Options& options) {
    const MLP theirs(D, {M, D}, Rng(1), options);
    const auto to = named_parameters(theirs), from = named_parameters(mlp);
    for (std::size_t i = 0; i < 4; ++i) to[i].tensor.mutable_value() = from[i].tensor.value();
    return theirs(z);
  };
  check_equal(say, "MLP(z)", "told GELU", proposed({.activation = Activation::gelu}), "ours",
              right);
  check_equal(say, "MLP(z)", "told nothing", proposed({}), "relu", with_relu(mlp, z));
  check_differs(say, "MLP(z)", "relu", with_relu(mlp, z), "GELU", right);
  check_differs(say, "MLP(z)", "bent at the end", bent_at_the_end(mlp, z), "GELU", right);
  say.holds("bent at the end, nothing is below -0.17",
            amax(-bent_at_the_end(mlp, z * 10)).item() <= .17);

  say.heading("Where it drops");
  say.text("In training it drops twice, after GELU and at the end. Without randomness in the pass "
           "both are the identity; with it, the stream alone decides:");
  const Mlp dropping(D, M, Rng(say.seed()), .5);
  const Rng stream(say.seed());
  check_equal(say, "no randomness", "with dropout 0.5", dropping(z), "without", layer);
  check_differs(say, "with it", "dropout 0.5", dropping(z, {.rng = &stream}), "without", layer);

  say.pytorch("`nn.Sequential(nn.Linear(D, M), nn.GELU(), nn.Dropout(p), nn.Linear(M, D), "
              "nn.Dropout(p))`. timm writes M as `int(D * mlp_ratio)`, with a ratio of 4.");
  say.take_along(
      "Attention mixes tokens and is linear in v; the MLP bends and mixes none. What "
      "could twelve attention layers without an MLP still compute, and what not?",
      "They could still choose whom to listen to, and average. But each token would be a "
      "weighted sum of the inputs' linear parts: no \"this stroke and that one\" that is "
      "not in the shares A.");
}

int main(int argc, char** argv) { return tell(about, {lesson, play}, argc, argv); }
