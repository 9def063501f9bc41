#include "lessons/experiments/exhibits.hpp"
#include "lessons/telling/lesson.hpp"
#include "vitruvian/vit/config.hpp"

using namespace vitruvian::lessons;

const Lesson about = {
    .title = "Self-attention in four steps",
    .equation = "A = softmax(q kᵀ / √Dₕ)",
    .minutes = 15,
    .rows = "0-9 1-16 1-17 2-5",
    .teaches = {"attention", "softmax", "matmul"},
    .breaks = {{"wrong-root", "divides the scores by √D instead of √D_h",
                "a score is a sum over the D_h numbers of one head, not over all D."},
               {"columns", "takes the softmax down the columns",
                "each query divides its own attention: rows add up to 1."},
               {"forgotten-scale", "goes back without the factor 1/√D_h",
                "what was divided on the way forward is divided on the way back."},
               {"flipped-sign", "the fused backward pass has a minus too many in dk",
                "a key that was liked must become more alike when that helps.",
                "attention:flip_sign:1"}},
    .play = {"By which power of D_h must scores be divided, so that their spread is 1 whatever "
             "D_h is?",
             {{"D_h", 1, 256, 64, 1}, {"power", 0, 1, 0.2, 0.05}}},
};

constexpr std::size_t B = 2, T = 5, D = 8, D_h = 4;

// [region four steps]
struct Steps {
  Tensor q, k, v, S, S_n, A, Z;
};
Steps self_attention_of(const Tensor& z, const Tensor& U_qkv) {
  const auto qkv = split(matmul(z, U_qkv), {D_h, D_h, D_h}, 2);
  const Tensor &q = qkv[0], &k = qkv[1], &v = qkv[2];  // Equation 5
  const Tensor S = matmul(q, transpose(k));            // 1. scores
  const Tensor S_n = S / std::sqrt(real{D_h});         // 2. scale
  const Tensor A = softmax(S_n);                       // 3. Equation 6
  const Tensor Z = matmul(A, v);                       // 4. Equation 7
  return {q, k, v, S, S_n, A, Z};
}

// [region loops]
// Each query (b, i) by itself, with all keys and values of its image.
Array by_loops(const Array& q, const Array& k, const Array& v) {
  Array Z = zeros({B, T, D_h});
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t i = 0; i < T; ++i) {
      double weight[T], sum = 0;
      for (std::size_t j = 0; j < T; ++j) {
        double likeness = 0;
        for (std::size_t d = 0; d < D_h; ++d) likeness += q(b, i, d) * k(b, j, d);
        sum += weight[j] = std::exp(likeness / std::sqrt(D_h));
      }
      for (std::size_t j = 0; j < T; ++j) {
        for (std::size_t d = 0; d < D_h; ++d) Z(b, i, d) += weight[j] / sum * v(b, j, d);
      }
    }
  }
  return Z;
}

// [region by hand]
// Back through the four steps, S_n = S / `root`. Step 3 is the softmax's, row by row.
std::vector<Leaf> by_hand(const Tensor& g, const Steps& s, const Tensor& U, real root) {
  const Tensor dv = matmul(transpose(s.A), g);
  const Tensor dA = matmul(g, transpose(s.v));
  const Tensor dS_n = s.A * (dA - sum(dA * s.A, {-1}, true));
  const Tensor dS = dS_n / root, dq = matmul(dS, s.k), dk = matmul(transpose(dS), s.q);
  const Tensor dz = matmul(concat({dq, dk, dv}, -1), transpose(U));
  return {{"dq", dq}, {"dk", dk}, {"dv", dv}, {"dz = [dq, dk, dv] U^T", dz}};
}

// [region mistakes]
// Scores divided by another root, or shares that add up down the columns.
Steps wrong_steps(Steps s, double root, int axis) {
  s.S_n = s.S / real(root), s.A = softmax(s.S_n, axis), s.Z = matmul(s.A, s.v);
  return s;
}

// [end]

// How one query shares its attention among 64 keys, when scores are divided by a power of D_h.
void play(Narrator& say, const std::vector<double>& at) {
  const auto width = std::size_t(at[0]);
  const Tensor q(random_normal({1, width}, say.seed())),
      k(random_normal({64, width}, say.seed() + 1));
  const Tensor S = matmul(q, transpose(k));
  std::vector<Series> shares;
  Rows rows;
  const auto divided = [&](const std::string& name, double power) {
    const double divisor = std::pow(double(width), power);
    std::vector<double> sorted = numbers_of(softmax(S * (1 / divisor)));
    std::sort(sorted.rbegin(), sorted.rend());
    shares.push_back({name, places(1, 16), {sorted.begin(), sorted.begin() + 16}});
    const Sharpness all = sharpness(width, divisor, say.seed());
    rows.push_back(row(name, fmt::format("{:.2f}", divisor), fmt::format("{:.2f}", all.spread),
                       fmt::format("{:.3f}", all.share), fmt::format("{:.3f}", all.gradient)));
  };
  divided("not divided", 0);
  divided(fmt::format("power {:.2f}", at[1]), at[1]);
  say.figure({fmt::format("D_h = {}: the shares of the 16 best of 64 keys. Steep: one key takes "
                          "all. Flat: the query hardly chooses.",
                          width),
              Chart{.x_label = "key, best first",
                    .y_label = "share",
                    .series = shares,
                    .y = Range{0, 1},
                    .whole_x = true}});
  say.table({"scores divided by D_h to the", "that is", "spread", "largest share", "slope"}, rows);
}

void lesson(Narrator& say) {
  say.heading("What we want to know");
  say.text(
      "A 3 is no patch: it is how strokes in many patches lie to each other. But until here no "
      "token knew of any other. Attention lets each look at all, and decide from what they "
      "hold which to listen to. How does one decide with matrix products?");

  say.heading("The equations");
  say.symbols({{"B", B}, {"T", T}, {"D", D}, {"D_h", D_h, "width of query, key and value"}});
  say.equation(R"([q, k, v] = z\,U_{qkv}, \qquad U_{qkv} \in \mathbb{R}^{D \times 3 D_h})",
               "[q, k, v] = z U_qkv,    U_qkv (D, 3 Dₕ)", "5");
  say.in_words("each token becomes a query, what it looks for; a key, what it offers; a value, "
               "what it hands out.");
  say.equation(R"(A = \mathrm{softmax}\left(q k^\top / \sqrt{D_h}\right), \qquad)"
               R"( A \in \mathbb{R}^{T \times T})",
               "A = softmax(q kᵀ / √Dₕ),    A (T, T)", "6");
  say.in_words("compare each query with each key by their inner product; scale; make each row "
               "shares that add up to 1: how token i divides its attention. These are the "
               "attention weights.");
  say.equation(R"(\mathrm{SA}(z) = A\,v)", "SA(z) = A v", "7");
  say.in_words("each token receives the average of all values, weighted by its row. The paper "
               "writes N for any sequence; in a ViT the class token counts: T = N + 1.");

  say.heading("The equations as code");
  say.diagram("The shapes on the way, for each image.", {.boxes = {{"q", {"(T, D_h)"}, 0, 0},
                                                                   {"k", {"(T, D_h)"}, 0, 1},
                                                                   {"S = q kᵀ", {"(T, T)"}, 1, 0},
                                                                   {"A", {"(T, T)"}, 2, 0},
                                                                   {"v", {"(T, D_h)"}, 1, 1},
                                                                   {"Z = A v", {"(T, D_h)"}, 3, 0}},
                                                         .arrows = {{"q", "S = q kᵀ", ""},
                                                                    {"k", "S = q kᵀ", ""},
                                                                    {"S = q kᵀ", "A", "softmax"},
                                                                    {"A", "Z = A v", ""},
                                                                    {"v", "Z = A v", ""}}});

  say.heading("Four steps");
  say.text("After the projection a survey of Transformers counts four steps, and so do we:");
  say.code("four steps");
  const Tensor z(random_normal({B, T, D}, say.seed()), true);
  const Tensor U(mul(random_normal({D, 3 * D_h}, say.seed() + 1), .5).value(), true);
  Steps s = self_attention_of(z, U);
  if (say.broken("wrong-root")) s = wrong_steps(s, std::sqrt(D), -1);
  if (say.broken("columns")) s = wrong_steps(s, std::sqrt(D_h), -2);
  shapes(say, "z (B, T, D)", z, "U_qkv (D, 3 D_h)", U, "q, k, v (B, T, D_h)", s.k,
         "S = q k^T (B, T, T)", s.S, "A (B, T, T)", s.A, "SA(z) (B, T, D_h)", s.Z);

  say.heading("Without a matrix");
  say.text("The same without a matrix in it, for one query at a time:");
  say.code("loops");
  check_equal(say, "SA(z)", "four steps", s.Z, "loops",
              by_loops(s.q.value(), s.k.value(), s.v.value()));
  check_equal(say, "rows of A add up", "sum", sum(s.A, {-1}), "1", full({B, T}, 1));
  say.text("A of the first image:");
  Rows looks;
  for (std::size_t t = 0; t < T; ++t) {
    looks.push_back({fmt::format("token {}", t)});
    for (std::size_t u = 0; u < T; ++u)
      looks[t].push_back(fmt::format("{:.2f}", s.A.value()(0, t, u)));
  }
  say.table({"looks at", "0", "1", "2", "3", "4"}, looks);

  say.heading("The derivative by hand");
  say.equation(R"(dv = A^\top g, \quad dA = g v^\top, \quad)"
               R"( dS = \tfrac{1}{\sqrt{D_h}} A \odot)"
               R"( \big(dA - \textstyle\sum_j dA_j A_j\big), \quad)"
               R"( dq = dS k, \quad dk = dS^\top q)",
               "dv = Aᵀ g,   dA = g vᵀ\ndS = A ⊙ (dA − Σⱼ dAⱼ Aⱼ) / √Dₕ\ndq = dS k,   dk = dSᵀ q");
  say.in_words("two products with a softmax between them, gone back as in lessons #matmul and "
               "#softmax. A value hears from all who listened to it, in their shares.");
  say.code("by hand");
  const Tensor g(random_normal({B, T, D_h}, say.seed() + 2));
  const real root = say.broken("forgotten-scale") ? 1 : std::sqrt(real{D_h});
  check_by_hand(say, by_hand(g, s, U, root), grad(s.Z, {s.q, s.k, s.v, z}, g.value(), true));
  check_gradients(say, [&] { return self_attention_of(z, U).Z; }, {{"z", z}, {"U_qkv", U}});

  say.heading("The fused form");
  const auto numbers = [](std::size_t side) {
    const ViTConfig of = {.C = 3, .H = side, .W = side, .P = 16, .D = 768, .h = 12, .M = 3072};
    const std::size_t tokens = of.T();
    return row(fmt::format("{} x {} pixels", side, side), tokens, of.h * tokens * tokens,
               of.M * tokens);
  };
  say.text("The maps A grow with the square of the number of tokens. In one layer of ViT-Base/16:");
  say.table({"one image of", "T", "numbers in A, h T²", "widest in the MLP, M T"},
            {numbers(224), numbers(384), numbers(512)});
  say.text("So the library's `attention` goes through them in pieces; its twin:");
  say.code_of("core/composed.cpp", "Attention attention(");
  const Tensor q(s.q.value(), true), k(s.k.value(), true), v(s.v.value(), true);
  check_equal(say, "SA(z)", "attention", attention(q, k, v), "four steps", s.Z);
  const auto twin = [&] { return composed::attention(q, k, v).output; };
  check_twins(say, [&] { return attention(q, k, v); }, twin, {{"q", q}, {"k", k}, {"v", v}});

  say.heading("Why the square root");
  say.text("A score is a sum of D_h products. Where q and k are independent with variance 1, so is "
           "each product; the sum spreads like √D_h. Of large scores softmax makes a 1 and zeros, "
           "and there it is flat: little comes back. Dividing by √D_h keeps the spread at 1.");

  say.heading("Measured");
  say.code("sharpness", "lessons/experiments/exhibits.cpp");
  Rows rows;
  Sharpness plain{}, scaled{};
  Series hears{"q kᵀ", {}, {}}, hears_scaled{"q kᵀ / √D_h", {}, {}};
  for (const std::size_t width : {4, 16, 64, 256, 512, 1024}) {
    const double spreads = std::sqrt(double(width));
    plain = sharpness(width, 1, say.seed()), scaled = sharpness(width, spreads, say.seed());
    rows.push_back(row(width, plain.text(), scaled.text()));
    for (Series* line : {&hears, &hears_scaled}) line->x.push_back(std::log2(width));
    hears.y.push_back(plain.gradient), hears_scaled.y.push_back(scaled.gradient);
    say.check(fmt::format("spread of q k^T, D_h = {}", width), {"measured", plain.spread},
              {"√D_h", spreads}, .2);
  }
  say.text(
      "512 queries and 64 keys, drawn at random. Spread is the root mean square of the scores; "
      "of the median query, share is its largest attention weight, and |dq| how long its "
      "gradient is when a random cotangent comes back to A.");
  say.table({"D_h", "q kᵀ: spread, share, |dq|", "q kᵀ / √D_h: the same"}, rows);

  say.heading("What a query still learns");
  say.figure({"|dq| of the median query against the width of a head. With the root it stays as it "
              "is; without, it is "
              "too long for narrow heads and dies out for wide ones.",
              Chart{.x_label = "log₂ D_h",
                    .y_label = "|dq|",
                    .series = {hears, hears_scaled},
                    .from_zero = true}});
  say.text(
      "What comes back to a query is what softmax lets through, times the keys, and keys are "
      "√D_h long. So at the 64 of ViT's heads the gradient without the root is larger than with "
      "it; at 512 it is about a third of it, at 1024 less than a tenth: there softmax is so "
      "flat that most queries hear next to nothing, and a few very much.");
  say.holds("at D_h = 64 it is longer without the root", hears.y[2] > 1.5 * hears_scaled.y[2]);
  say.differs("gradient at D_h = 1024", {"unscaled", plain.gradient}, {"scaled", scaled.gradient},
              .2);

  say.heading("What goes wrong");
  say.sources_disagree(
      "B 1",
      fmt::format("The blog post's code divides by √D; its text, the paper and all others by "
                  "√D_h. In ViT-Base that is {:.1f} for 8, and tokens look at all more "
                  "nearly alike. It trains, so nobody notices.",
                  std::sqrt(768.0)));
  say.code("mistakes");
  check_differs(say, "A", "divided by √D", wrong_steps(s, std::sqrt(D), -1).A, "by √D_h", s.A);

  say.heading("The fourth step");
  say.sources_disagree(
      "B 20", "A survey's fourth step, which the slides repeat, reads Z = V P. For tokens in rows "
              "it is Z = P V. Mostly the shapes object; where T = D_h, nothing does.");
  say.text("`{}`", refusal([&] { matmul(s.v, s.A); }));
  const Tensor P = softmax(Tensor(random_normal({4, 4}, 5))), V(random_normal({4, 4}, 6));
  check_differs(say, "four tokens, D_h = 4", "V P", matmul(V, P), "P V", matmul(P, V));
  say.text(
      "It also says d_k = d_v = 512. That is D, the width of the Transformer of 2017; each of "
      "its 8 heads has D / h of it, 64, as have the 12 of ViT-Base's 768. Divided by √512, the "
      "scores of such a head would spread by √(64/512), and its shares be nearly even:");
  const double D_h_2017 = 512.0 / 8, D_h_base = 768.0 / 12;
  say.check("D / h", {"512 / 8", D_h_2017}, {"768 / 12", D_h_base}, 0);
  say.check("spread of q k^T / √512, D_h = 64",
            {"measured", sharpness(64, std::sqrt(512.0), say.seed()).spread},
            {"√(64 / 512)", std::sqrt(64 / 512.0)}, .2);

  say.heading("Who attends to all");
  say.sources_disagree(
      "B 32",
      "The annotated code calls the class token \"the token that attends to all other tokens\". "
      "Every token "
      "does: no share in A is zero. The class token is only the one that is read at the end.");
  say.holds("the smallest share in A is above 0", -amax(-s.A).item() > 0);
  say.pytorch("`torch.nn.functional.scaled_dot_product_attention(q, k, v)`, whose scale is 1/√E "
              "with E the last axis of q: D_h.");
  say.question("Double all queries and halve all keys. What changes?",
               "Nothing: only their products count. The scores tell no more of q and k than that.");
}

int main(int argc, char** argv) { return tell(about, {lesson, play}, argc, argv); }
