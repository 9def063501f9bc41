#include "lessons/experiments/exhibits.hpp"
#include "lessons/experiments/scenes.hpp"
#include "lessons/telling/lesson.hpp"
#include "vitruvian/datasets/formats/digits.hpp"
#include "vitruvian/vit/inspect/inspect.hpp"

using namespace vitruvian::lessons;

const Lesson about = {
    .title = "Attention maps and rollout",
    .equation = "R = Π (A + I) / 2",
    .minutes = 12,
    .rows = "3-6 4-25",
    .breaks = {{"no-identity", "forgets the residual connection",
                "a block adds to its input: half of each token's value is its own."},
               {"no-keepdim", "divides columns in place of rows",
                "rows that do not sum to 1 are no shares any more."}},
    .play = {"Which head looks at the ink, and in which layer?",
             {{"picture", 0, 39, 7, 1}, {"layer", 1, 4, 4, 1}}},
};

constexpr std::size_t B = 1, L = 4, h = 4, N = 16, T = 17;

// [region rollout]
// One layer: average the heads, add the residual connection, make rows sum to 1.

Tensor layer_map(const Tensor& A) {  // (B, h, T, T) to (B, T, T)
  const Tensor M = mean(A, {1}) + Tensor(identity(A.size(2)));
  return M / sum(M, {-1}, true);
}
// All layers: R_l = M_l R_{l-1}. The later layer stands on the left.
Tensor rollout(const std::vector<Array>& A) {
  Tensor R = layer_map(A[0]);
  for (std::size_t l = 1; l < A.size(); ++l) R = matmul(layer_map(A[l]), R);
  return R;
}

// [region mistakes]
// No residual connection: as if a block kept nothing of its input.
Tensor without_identity(const std::vector<Array>& A) {
  Tensor R = mean(A[0], {1});
  for (std::size_t l = 1; l < A.size(); ++l) R = matmul(mean(A[l], {1}), R);
  return R;
}
// The row sums lie along the last axis: without keepdim they divide columns.
Tensor by_columns(const Tensor& M) { return M / reshape(sum(M, {-1}), {B, 1, T}); }
// One number for the whole matrix: rows then sum to 1/T.
Tensor by_everything(const Tensor& M) { return M / sum(M, {1, 2}, true); }
using Normalise = std::function<Tensor(const Tensor&)>;
Tensor normalised_by(const std::vector<Array>& A, const Normalise& rows) {
  Tensor R = identity(T);
  for (const Array& a : A) R = matmul(rows((mean(a, {1}) + Tensor(identity(T))) * real(0.5)), R);
  return R;
}
// [end]

// [region ink]
// The class token's share on patches with ink, against the share of such patches.
double on_ink(const Tensor& M, std::span<const std::uint8_t> pixels) {
  double mass = 0, all = 0, patches = 0;
  for (std::size_t n = 0; n < 16; ++n) {
    bool ink = false;
    for (std::size_t i = 0; i < 7 * 7; ++i) {
      ink = ink || pixels[(n / 4 * 7 + i / 7) * 28 + n % 4 * 7 + i % 7] > 127;
    }
    const double share = double(M.value()(0, 0, n + 1));
    all += share;
    mass += ink ? share : 0;
    patches += ink ? 1.0 / 16 : 0;
  }
  return mass / all / patches;
}
// [end]

// [region diagonal]
// The mean of a matrix's diagonal, in deviations of its other numbers.
double leaning(const Tensor& M) {
  const Tensor I(identity(M.size(0)));
  const Tensor others = sum(square(M * (1 - I))) / sum(1 - I);
  return double((sum(M * I) / sum(I) / sqrt(others)).item());
}
// Of a block: of U_q U_kᵀ, the mean over its heads, and of U_v U_msa.
std::array<double, 2> leanings(const MultiHeadSelfAttention& attn) {
  const auto D = std::ptrdiff_t(attn.proj.in());
  const auto heads = std::ptrdiff_t(attn.heads);
  // The library keeps transposed matrices: W = Uᵀ.
  const Tensor W = reshape(attn.qkv.weight, {3, heads, D / heads, D});
  double qk = 0;
  for (std::ptrdiff_t i = 0; i < heads; ++i) {
    const Tensor W_q = select(select(W, 0, 0), 0, i);
    const Tensor W_k = select(select(W, 0, 1), 0, i);
    qk += leaning(matmul(transpose(W_q), W_k)) / double(heads);
  }
  const Tensor W_v = reshape(select(W, 0, 2), {D, D});
  return {qk, leaning(transpose(matmul(attn.proj.weight, W_v)))};
}
// [end]

// Attention with all weights below 1/T set to 0.
Array strong(Array A) {
  for (real& x : A) x = x < real(1.0 / T) ? 0 : x;
  return A;
}

Tensor class_row(const Tensor& M) { return select(select(M, 0, 0), 0, 0); }  // (1, T, T) to (T)

// One of forty unseen digits: the class token's attention in this layer, head by head, and the
// rollout up to it.
void play(Narrator& say, const std::vector<double>& at) {
  static const VisionTransformer kept = digits_model();
  const Dataset data = digits(40, 1, "test");
  const auto n = std::ptrdiff_t(at[0]);
  const Tensor image = slice(all_of(data).images, 0, n, n + 1);
  std::vector<Array> A = inspect::attention(kept, image.value()).probs;
  const Array p = softmax(kept(image)).value();
  const std::size_t best = largest_of(p);
  A.resize(std::size_t(at[1]));
  say.figure(picture_of(fmt::format("It is a {}; the model says {}, with {:.1f} %.",
                                    data.labels[std::size_t(n)], best, 100 * p(0, best)),
                        {image}));
  say.figure(tiles(fmt::format("Layer {}: four heads, the largest share of each as 1.", A.size()),
                   class_token_looks(A.back()), h, 2));
  say.figure(tiles("Rollout of the layers up to this one.",
                   reshape(slice(class_row(rollout(A)), 0, 1, T), {1, 4, 4}).value(), 1));
}

void lesson(Narrator& say) {
  say.heading("What we want to know");
  const TrainedModel colour = cifar_model();
  const std::vector<std::string> classes = colour.data.class_names(10);
  say.text(
      "The model says \"seven\". Should we believe it? Whoever uses a model wants to know what "
      "its answer rests on. Each head of each layer holds a matrix of how much each token took "
      "from each other; what do they do together? Two models are asked: that of the digits, "
      "whose sizes the table shows, and one of photographs in colour, CIFAR-10.");
  say.symbols({{"B", B}, {"L", L}, {"h", h}, {"N", N}, {"T", T}});
  const VisionTransformer kept = digits_model();
  const Dataset data = digits(40, 1, "test");
  const Tensor images = all_of(data).images, image = slice(images, 0, 7, 8);
  say.figure(picture_of("The image: a digit that the model has never seen.", {image}));
  const std::vector<Array> A = inspect::attention(kept, image.value()).probs;

  say.text("The other model gets pictures that this lesson draws: CIFAR-10's photographs are not "
           "ours to give away. It has seen photographs only, and reads them so:");
  const std::vector<Scene> drawn = scenes();
  ImageGrid originals{.images = {}, .columns = drawn.size(), .width = 110};
  Rows answers;
  std::size_t read = 0;
  for (const Scene& scene : drawn) {
    originals.images.push_back(scene.picture), originals.x_names.push_back(scene.name);
    const Array p = softmax(colour.model(normalised(scene.picture, colour.data))).value();
    const std::size_t best = largest_of(p);
    answers.push_back(row(scene.name, classes[best], in_fives(p(0, best))));
    read += best == scene.label ? 1 : 0;
  }
  say.figure(
      {"A ship, a car, an aeroplane, a lorry, of 32 x 32 pixels: 64 patches of 4 x 4.", originals});
  say.table({"drawn", "the model says", "probability (to the next 5 %)"}, answers);
  say.holds("three of four at least are read as they were meant", read >= 3);

  say.heading("One layer");
  say.equation(R"(A = \mathrm{softmax}\left(\frac{q k^\top}{\sqrt{D_h}}\right))",
               "A = softmax(q kᵀ / √Dₕ)", "6");
  say.in_words("row i of A says from which tokens token i takes its new value, and how much.");
  shapes(say, "A (B, h, T, T)", A[0]);
  say.check("a row of A", {"sum", rounded(double(sum(class_row(select(A[3], 1, 0))).item()), 5)},
            {"1", 1}, 1e-5);
  say.text("The class token's row in the last layer, its 16 patches as the grid they are:");
  say.figure(tiles("Last layer: four heads, the largest share of each as 1.",
                   class_token_looks(A[3]), h, 2));
  say.text("The heads do not agree, and no single one is \"where the model looks\". After the "
           "first layer a token is no longer its patch: it holds what it has gathered.");

  say.heading("All layers: rollout");
  say.equation(R"(M_\ell = \mathrm{rows}\Big(\frac1h \sum_i A_\ell^{(i)} + I\Big), \qquad )"
               R"(R = M_L \cdots M_2\, M_1)",
               "M = rows(mean of A over heads + I),    R = M_L ··· M₂ M₁");
  say.in_words("a block passes on its input and what attention took, half and half; rows( ) "
               "divides each row by its sum. Follow all "
               "paths from the output down to the patches, and add up what comes along each.");
  say.code("rollout");
  const auto roll = say.broken("no-identity") ? without_identity : rollout;
  const Tensor R = roll(A);
  shapes(say, "R (B, T, T)", R);
  check_equal(say, "rows of R", "sum", sum(R, {-1}), "1", full({B, T}, 1), 1e-5);
  say.figure(tiles("Rollout: where the class token's value comes from.",
                   reshape(slice(class_row(R), 0, 1, T), {1, 4, 4}).value(), 1));
  say.text("For simple attention the result is known. If every token looks at itself alone, R is "
           "I. If all look at all alike, U = 1/T, each layer keeps one half:");
  say.equation(R"(R = 2^{-L}\, I + (1 - 2^{-L})\, U)", "R = 2⁻ᴸ I + (1 − 2⁻ᴸ) U");
  const std::vector<Array> even(L, full({B, h, T, T}, real(1.0 / T)));
  const double keep = std::pow(0.5, L);
  const Tensor known =
      Tensor(identity(T)) * real(keep) + Tensor(full({B, T, T}, real((1 - keep) / T)));
  check_equal(say, "rollout of even attention", "rollout", roll(even), "closed form", known, 1e-5);

  say.heading("Over its picture");
  ImageGrid over = originals;
  Array by_head;
  for (const Scene& scene : drawn) {
    const Array x = normalised(scene.picture, colour.data);
    const std::vector<Array> maps = inspect::attention(colour.model, x).probs;
    const Tensor all = rollout(maps);
    const auto patches = std::ptrdiff_t(all.size(2));
    const Array light = reshape(slice(class_row(all), 0, 1, patches), {8, 8}).value();
    over.images.push_back(lit_by(scene.picture, light));
    if (scene.name != "ship") continue;
    by_head =
        reshape(slice(select(select(maps.back(), 0, 0), 1, 0), 1, 1, patches), {-1, 8, 8}).value();
  }
  say.figure({"Above the pictures, below as bright as the rollout of the class token: the model's "
              "answer comes from the lit patches.",
              over});
  say.figure({"The ship again: what each of the six heads of the last block attends to, from the "
              "class token. Bright is much.",
              ImageGrid{.images = shades(by_head), .columns = colour.model.config.h, .width = 80}});
  say.text(
      "The light lies on what is drawn more than on sky and sea, on some pictures better than on "
      "others. It says from where, not why.");

  say.heading("Does it lie on the strokes?");
  say.code("ink");
  double gain = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const Tensor one = slice(images, 0, std::ptrdiff_t(i), std::ptrdiff_t(i) + 1);
    const std::vector<Array> maps = inspect::attention(kept, one.value()).probs;
    gain += on_ink(rollout(maps), data.image(i)) / double(data.size());
  }
  say.text("Over 40 digits the rollout lies {:.1f} times as much on patches with ink as it would "
           "if it were spread evenly.",
           gain);
  say.holds("at least 1.3 times", gain > 1.3);
  say.text("A picture, not a proof: rollout knows nothing of the values that are moved, the MLPs, "
           "or the head. The gradient by the pixels, saliency, tells another part of the story.");

  say.heading("What training makes of the weights");
  say.text("A score is x U_q U_kᵀ xᵀ: where U_q U_kᵀ leans to the identity, a token attends to "
           "those that are like it. And U_v U_msa is what attention adds: where that leans to "
           "minus the identity, a token is moved away from what it has just looked at.");
  say.code("diagonal");
  const std::vector<double> blocks = places(1, double(colour.model.blocks.size()));
  Series qk{"U_q U_kᵀ", blocks, {}}, vp{"U_v U_msa", blocks, {}};
  for (const Block& block : colour.model.blocks) {
    const auto [of_scores, of_values] = leanings(block.attn);
    qk.y.push_back(of_scores), vp.y.push_back(of_values);
  }
  say.figure({"The mean of the diagonal, in deviations of the other numbers, block by block of the "
              "model of photographs. Drawn at random it would be 0, give or take 0.1.",
              Chart{.x_label = "block", .y_label = "leaning to I", .series = {qk, vp}}});
  say.holds("in the first two blocks scores lean to I, and values of all blocks to −I",
            qk.y[0] > 0.3 && qk.y[1] > 0.3 && *std::max_element(vp.y.begin(), vp.y.end()) < -0.1);
  say.text("Nobody told it to: the matrices began at random, as is usual. Trockman and Kolter "
           "(2023) saw the same in large, long trained models, and let small ones begin there: "
           "with 0.7 Z + 0.7 I for the scores and 0.4 Z − 0.4 I for the values, Z being random. "
           "`vitruvian train --initialisation mimetic` does so:");
  ViTConfig begun = colour.model.config;
  begun.init = Init::mimetic;
  const auto [scores, values] = leanings(VisionTransformer(begun, Rng(say.seed())).blocks[0].attn);
  say.text("There the first block begins at {:.1f} and {:.1f}.", scores, values);
  say.check("its values", {"measured", values}, {"−0.4 over 0.4/√D", -std::sqrt(double(begun.D))},
            0.05);

  say.heading("What goes wrong");
  say.sources_disagree("",
                       "The paper (appendix D.8) averages heads and multiplies matrices. Its "
                       "authors add elsewhere: the identity, and rows that sum to 1 (issue 18 of "
                       "their repository). Programs that draw rollout for a ViT often have one of "
                       "these three instead:");
  say.code("mistakes");
  std::vector<Array> discarded;
  for (const Array& a : A) discarded.push_back(strong(a));
  const Tensor bare = without_identity(A), columns = normalised_by(discarded, by_columns),
               everything = normalised_by(A, by_everything);
  check_differs(say, "without the identity", "bare", bare, "rollout", R, 0.05);
  say.text("The second slip hides. Row sums that have lost their axis (no keepdim) divide columns "
           "in place of rows. As long as every row of A sums to 1, all sums are equal and nobody "
           "notices. But rollout is often drawn without the small weights, so that its picture is "
           "clearer. Set all below 1/T to 0, and the slip is wrong:");
  const Tensor right = rollout(discarded), clean = say.broken("no-keepdim") ? columns : right;
  check_differs(say, "small weights discarded", "columns", columns, "rows", right, 0.01);
  check_equal(say, "rows of R, small weights discarded", "sum", sum(clean, {-1}), "1",
              full({B, T}, 1), 1e-5);
  say.check("divided by the whole matrix: T^L times a row's sum",
            {"measured", rounded(double(sum(class_row(everything)).item()) * std::pow(T, L), 4)},
            {"1", 1}, 1e-3);
  say.text("The third, one sum for the whole matrix, keeps the picture's pattern and makes every "
           "number T^L times too small.");

  say.pytorch("timm's attention has no maps when it runs fused: set `fused_attn = False` and take "
              "them with a hook. `nn.MultiheadAttention(..., need_weights=True, "
              "average_attn_weights=False)` returns them.");
  say.take_along(
      "What would the picture show with the first layer on the left, and on which images?",
      "What the tokens of the first block would hold if the blocks ran backwards: a product of "
      "matrices depends on their order. Where all blocks attend alike, as in the even attention "
      "above, the order does not matter and the picture is the same.");
}

int main(int argc, char** argv) { return tell(about, {lesson, play}, argc, argv); }
