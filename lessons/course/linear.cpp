#include "lessons/telling/lesson.hpp"
#include "vitruvian/nn/layers.hpp"
#include "vitruvian/vit/variants.hpp"

using namespace vitruvian::lessons;

const Lesson about = {
    .title = "The linear layer",
    .equation = "y = x Wᵀ + b",
    .minutes = 10,
    .rows = "0-4",
    .teaches = {"linear", "matmul"},
    .breaks = {{"forgotten-sum", "only the first token sends something back to the bias",
                "b is added to every token, so its gradient is the sum over all of them."},
               {"forgotten-transpose", "multiplies by W (out, in) as it lies in memory",
                "y[m] takes row m of W, and x W takes column m: for a square W the shapes fit "
                "and the numbers do not."},
               {"flipped-sign", "the fused backward pass has a minus too many in dW",
                "differences know nothing of our formulas: they see the slope itself.",
                "linear:flip_sign:1"}},
    .play = {"Which outputs does one number of x, of W, of b move, and when is the gradient no "
             "longer exact?",
             {{"x[1, 2] moves by", -2, 2, 1, 0.1},
              {"W[3, 2] moves by", -2, 2, 0, 0.1},
              {"b[0] moves by", -2, 2, 0, 0.1}}},
};

constexpr std::size_t B = 2, T = 3, D = 4, M = 5;

// [region loops]
// y[b, t, m] = sum over d of x[b, t, d] W[m, d], plus the bias at m.
Array linear_by_loops(const Array& x, const Array& W, const Array& bias) {
  Array y = empty({B, T, M});
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t t = 0; t < T; ++t) {
      for (std::size_t m = 0; m < M; ++m) {
        y(b, t, m) = bias(m);
        for (std::size_t d = 0; d < D; ++d) y(b, t, m) += x(b, t, d) * W(m, d);
      }
    }
  }
  return y;
}

// [region by hand]

// From the cotangent g (B, T, M) of y: g, x and W are all that is needed.
std::vector<Leaf> by_hand(const Tensor& g, const Tensor& x, const Tensor& W) {
  const Tensor rows_g = reshape(g, {B * T, M});
  const Tensor rows_x = reshape(x, {B * T, D});
  return {{"dx", matmul(g, W)},                       // (B, T, M) (M, D)
          {"dW", matmul(transpose(rows_g), rows_x)},  // (M, B T) (B T, D)
          {"db", sum(rows_g, {0})}};                  // over the B T rows
}

// [region transpose]
// The weight used as it lies, (out, in), instead of transposed.
Tensor untransposed(const Tensor& x, const Tensor& W) { return matmul(x, W); }

// [region first token]
// The same y, but only the first token's bias is on the tape: the others have a copy of its value.
Tensor first_token_alone(const Tensor& x, const Tensor& W, const Tensor& b) {
  Array first = zeros({B, T, 1});
  first(0, 0, 0) = 1;
  return composed::linear(x, W, b.detach()) + Tensor(first) * (b - b.detach());
}

// [end]

// One number of each is moved; y moves, and the gradient has foretold by how much.
void play(Narrator& say, const std::vector<double>& at) {
  const std::vector<Leaf> old = {{"x[1, 2]", Tensor(random_normal({B * T, D}, 1), true)},
                                 {"W[3, 2]", Tensor(random_normal({M, D}, 2), true)},
                                 {"b[0]", Tensor(random_normal({M}, 3), true)}};
  const std::vector<std::size_t> entries = {1 * D + 2, 3 * D + 2, 0};
  const auto y = [](const std::vector<Leaf>& of) {
    return linear(of[0].tensor, of[1].tensor, of[2].tensor);
  };
  const auto moved = [&](const std::vector<double>& by) {
    std::vector<Leaf> now = old;
    for (std::size_t i = 0; i < now.size(); ++i) {
      Array values = old[i].tensor.value();
      values.data()[entries[i]] += by[i];
      now[i].tensor = Tensor(values);
    }
    return Array(y(now).value() - y(old).value());
  };
  const auto total = [](const Array& a) { return std::accumulate(a.begin(), a.end(), 0.0); };
  const std::vector<Array> d =
      grad(sum(y(old)), {old[0].tensor, old[1].tensor, old[2].tensor}, Array(scalar(1)));
  const Array all = moved(at);
  say.figure({"By how much y moves: a row for each of 6 tokens, a column for each of 5 "
              "outputs.",
              heat_map({B * T, M, {all.begin(), all.end()}}, "",
                       {ColourMap::blue_red, {-6, 6}, "y moves by"}, 200)});
  Rows rows;
  double foretold = 0;
  const auto digits = [](double v) { return fmt::format("{:.3f}", std::abs(v) < 5e-4 ? 0 : v); };
  const auto tell = [&](const std::string& name, const Array& by, double says) {
    const auto some = [](double v) { return v != 0; };
    const auto count = std::count_if(by.begin(), by.end(), some);
    rows.push_back(row(name, count, digits(total(by)), digits(says)));
  };
  for (std::size_t i = 0; i < old.size(); ++i) {
    std::vector<double> alone(old.size(), 0);
    alone[i] = at[i];
    const double says = d[i].data()[entries[i]] * at[i];
    foretold += says;
    tell(old[i].name + " alone", moved(alone), says);
  }
  tell("all three", all, foretold);
  say.table({"what moves", "entries of y that move", "their sum moves by", "the gradient says"},
            rows);
  say.text("x[1, 2] and W[3, 2] meet in one product, in y[1, 3]. Moved together, they leave {} "
           "that no gradient foretells: each was taken where the other had not moved.",
           digits(total(all) - foretold));
}

void lesson(Narrator& say) {
  say.heading("What we want to know");
  const ViTConfig& base = variant("vit_b_16").config;
  const std::size_t vectors = base.T() * base.D + base.D + (2 * base.L + 1) * 2 * base.D;
  say.text("The ViT that reads a page of digits is made of very few kinds of parts. One of them, "
           "multiply by a matrix and add a vector (PyTorch's Linear, Keras' Dense), holds {:.1f} % "
           "of ViT-Base's parameters: it "
           "turns patches into tokens, tokens into queries, and at the end a token into a digit. "
           "What does it "
           "compute, and what are its three derivatives?",
           100 * (1 - double(vectors) / double(base.parameters())));

  say.heading("The equation");
  say.symbols({{"B", B},
               {"T", T},
               {"D", D, "numbers that come in, for each token"},
               {"M", M, "numbers that go out"}});
  say.equation(R"(y = x W^\top + b)", "y = x Wᵀ + b");
  say.in_words("every token is a row of D numbers. Each of the M outputs is a weighted sum of that "
               "row, with weights of its own, plus a number of its own. All tokens share the "
               "weights, and no token sees another.");
  say.text("The paper writes row vectors and matrices on their right, as in `[q, k, v] = z U_qkv`, "
           "its Equation 5, with U (in, out). Code stores the transpose, W (out, in): one output's "
           "weights then lie side by side in memory.");

  say.heading("The equation as code");
  say.code("loops");

  say.heading("With the library's ops");
  say.text(
      "The library writes it with two ops that it already has, the matrix product and the sum:");
  say.code_of("core/composed.cpp", "Tensor linear(");
  const Tensor x(random_normal({B, T, D}, say.seed()), true);
  const Linear layer(D, M, Rng(say.seed()).fork("linear"));
  const Tensor& W = layer.weight;
  const Tensor& b = layer.bias;
  const auto forward = say.broken("forgotten-sum") ? first_token_alone : composed::linear;
  const Tensor y = forward(x, W, b);
  if (say.broken("forgotten-sum")) say.code("first token");
  shapes(say, "x (B, T, D)", x, "W (M, D)", W, "b (M)", b, "y (B, T, M)", y);
  check_equal(say, "y", "composed", y, "loops", linear_by_loops(x.value(), W.value(), b.value()));

  say.heading("The derivative by hand");
  say.diagram("The shapes, forwards (full lines) and back (dashed), with g = dy.",
              {.boxes = {{"x", {"(B T, D)", to_string({B * T, D})}, 0, 0},
                         {"W", {"(M, D)", to_string({M, D})}, 1, 1},
                         {"x Wᵀ", {"(B T, M)", to_string({B * T, M})}, 1, 0},
                         {"b", {"(M)", fmt::format("({})", M)}, 2, 1},
                         {"y", {"(B T, M)", to_string({B * T, M})}, 2, 0}},
               .arrows = {{"x", "x Wᵀ", "", "g W"},
                          {"W", "x Wᵀ", "", "gᵀ x"},
                          {"x Wᵀ", "y", "", "g"},
                          {"b", "y", "", "Σᵣ g[r]"}}});
  say.text("Let g be the cotangent of y: ∂L/∂y, the same shape as y; dx is short for ∂L/∂x. One "
           "output is y[r,m] = Σ_d "
           "x[r,d] W[m,d] + b[m]. Now ask each input where it was used.\n- x[r,d] was used in all "
           "M outputs of its row, each time with weight W[m,d].\n- W[m,d] was used in every row r, "
           "each time with x[r,d].\n- b[m] was used in every row r, with weight 1.");
  say.equation(R"(dx = g\,W, \qquad dW = g^\top x, \qquad db = \sum_r g_r)",
               "dx = g W,    dW = gᵀ x,    db = Σᵣ g[r]");
  say.in_words("what was used several times gathers what comes back from every use. And the shapes "
               "leave no choice: (M, B T) times (B T, D) is the only way to a gradient (M, D).");

  say.heading("The formulas as code");
  say.code("by hand");
  const Array g = random_normal({B, T, M}, say.seed() + 1);
  const std::vector<Array> tape = grad(y, {x, W, b}, g);
  const std::vector<Leaf> hand = by_hand(g, x.detach(), W.detach());
  const std::vector<Leaf> leaves = {{"x", x}, {"W", W}, {"b", b}};
  check_by_hand(say, hand, tape);
  check_gradients(
      say, [&] { return forward(x, W, b); }, leaves);
  say.text("What each of the six tokens sends back to the bias, and what arrives there:");
  Rows rows;
  const Array of_tokens = reshape(Tensor(g), {B * T, M}).value();
  for (std::size_t r = 0; r < B * T; ++r) {
    rows.push_back(
        {fmt::format("g[{}]", r), entries_text(select(Tensor(of_tokens), 0, r).value())});
  }
  rows.push_back({"their sum", entries_text(hand[2].tensor.value())});
  rows.push_back({"db, the tape's", entries_text(tape[2])});
  say.table({"", "M = 5 numbers"}, rows);

  say.heading("The fused form");
  say.text(
      "The library's `linear` is one op: one matrix product over all B T rows, the bias added "
      "where the result lies, and a backward pass that is the three formulas above. It is what the "
      "trainer runs. Here it is, and here is the proof that it is the same function:");
  say.code_of("core/ops/linear.cpp", "Tensor linear(");

  say.heading("Its backward pass");
  say.code_of("core/ops/linear.cpp", "Cotangents linear_vjp(");
  check_twins(
      say, [&] { return layer(x); }, [&] { return composed::linear(x, W, b); }, leaves);

  say.heading("What goes wrong");
  say.sources_disagree(
      "B 11", "The paper's E, U_qkv and U_msa have no bias, and the notes follow it; "
              "the authors' code, timm and torchvision, whose weights you can download, have "
              "biases everywhere in this model. "
              "We have them, with a flag. A linear layer learns M D + M numbers:");
  say.check("parameters of this layer", {"counted", double(count_parameters(layer))},
            {"M D + M", M * D + M}, 0);

  say.heading("A forgotten transpose");
  say.sources_disagree(
      "", "W stored as (in, out) in one program and as (out, in) in another. While the two sizes "
          "differ, nothing can go wrong unnoticed. When they are equal, as in the projection after "
          "attention, a forgotten transpose runs and is wrong.");
  say.code("transpose");
  const Tensor square(random_normal({D, D}, say.seed() + 2));
  const Tensor right = linear(x, square);
  const Tensor wrong = untransposed(x, square);
  check_mistake(say, "forgotten-transpose", "x (B, T, D) with a square W", "x W", wrong, "x W^T",
                right);

  say.pytorch("`torch.nn.Linear(D, M)`, its `weight` is (M, D) as here; the function is "
              "`torch.nn.functional.linear`. Both start from U(-1/√D, 1/√D).");
  say.take_along("dx needs W, dW needs x, db needs neither. So which of the three forward inputs "
                 "must be kept in memory until the backward pass, and which may be thrown away?",
                 "x and W are kept; b may go. W is there anyway, as a parameter: so it is x, the "
                 "activation, that makes training take more memory than reading.");
}

int main(int argc, char** argv) { return tell(about, {lesson, play}, argc, argv); }
