// Lesson 17. Many heads: Equation 8.

#include "core/composed.hpp"
#include "core/gradcheck.hpp"
#include "lessons/exhibits.hpp"
#include "lessons/tensors.hpp"
#include "nn/layers.hpp"

#include <cmath>

using namespace vitruvian;
using namespace vitruvian::lessons;

namespace {

constexpr std::size_t B = 2, T = 5, D = 8, h = 2, D_h = D / h;

// [region heads]
// Rows i D_h to (i + 1) D_h: what belongs to head i of a matrix or bias.
Tensor of_head(const Tensor& U, std::size_t i) {
  return slice(U, 0, std::ptrdiff_t(i * D_h), std::ptrdiff_t((i + 1) * D_h));
}
// Each head with matrices and attention of its own: Equations 5 to 7.
std::vector<Tensor> heads(const Tensor& z, const Tensor& U, const Tensor& b) {
  const auto W = split(U, {D, D, D}, 0), c = split(b, {D, D, D}, 0);
  std::vector<Tensor> SA;
  for (std::size_t i = 0; i < h; ++i) {
    const Tensor q = linear(z, of_head(W[0], i), of_head(c[0], i));
    const Tensor k = linear(z, of_head(W[1], i), of_head(c[1], i));
    const Tensor v = linear(z, of_head(W[2], i), of_head(c[2], i));
    SA.push_back(composed::attention(q, k, v).output);
  }
  return SA;
}

// [region concatenated]
// Equation 8 as written: side by side, then one matrix.
Tensor concatenated(const std::vector<Tensor>& SA, const Linear& U_msa) {
  return U_msa(concat(SA, -1));
}

// [region summed]
// U_msa as (h, D_h, D): each head has a matrix back to D; what the heads say is added up.
Tensor summed(const std::vector<Tensor>& SA, const Linear& U_msa) {
  const Tensor U = transpose(U_msa.weight);  // rows: head after head
  Tensor y = U_msa.bias;
  for (std::size_t i = 0; i < h; ++i) y = matmul(SA[i], of_head(U, i)) + y;
  return y;
}

// [region mistakes]
// Numbers of the heads in turns, (D_h, h), where U_msa expects (h, D_h).
Tensor interleaved(const std::vector<Tensor>& SA, const Linear& U_msa) {
  return U_msa(reshape(stack(SA, -1), {B, T, D}));
}
// z (B, T, D) given to attention that takes (T, B, D).
Tensor across_images(const MultiHeadSelfAttention& msa, const Tensor& z) {
  return transpose(msa(transpose(z, 0, 1)), 0, 1);
}
// [end]

void lesson(Narrator& say) {
  say.heading("What we want to know");
  say.text("One head gives each token one average over the image. But a token may want to know "
           "several things. So the ViT runs h heads beside each other. What does that cost, and "
           "how are they one product?");

  say.heading("The equation");
  say.symbols({{"B", B}, {"T", T}, {"D", D}, {"h", h}, {"D_h", D_h}});
  say.equation(R"(\mathrm{MSA}(z) = [\mathrm{SA}_1(z); \mathrm{SA}_2(z); \dots;)"
               R"( \mathrm{SA}_h(z)]\, U_{msa}, \qquad U_{msa} \in \mathbb{R}^{h D_h \times D})",
               "MSA(z) = [SA₁(z); SA₂(z); …; SAₕ(z)] U_msa,    U_msa (h Dₕ, D)", "8");
  say.in_words("each head attends with queries, keys and values of its own; lay the answers side "
               "by side, and mix them with one more matrix.");

  say.heading("Four ways to write it");
  say.text("One head after the other, as one source has it:");
  say.code("heads");
  say.code("concatenated");
  const MultiHeadSelfAttention msa(D, h, Rng(say.seed()));
  const Tensor z(random_normal({B, T, D}, say.seed()), true);
  const Tensor &U_qkv = msa.qkv.weight, &b = msa.qkv.bias;
  const auto SA = [&] { return heads(z, U_qkv, b); };
  const Tensor right = concatenated(SA(), msa.proj);
  shape(say, "U_qkv, of all heads, as stored", "(3 D, D)", U_qkv);
  shape(say, "SA of each head", "(B, T, D_h)", SA()[0]);
  shape(say, "MSA", "(B, T, D)", right);
  say.text("Another source multiplies an answer (T, h, D_h) with a matrix (h, D_h, D) and sums "
           "over both, an einsum. That is a sum over heads:");
  say.code("summed");
  check_equal(say, "MSA", "summed", summed(SA(), msa.proj), "concatenated", right);
  say.text("The others take one product for all queries, keys and values of all heads. D columns "
           "are h times D_h columns, so splitting them is a change of shape:");
  say.code_of("core/composed.cpp", "Attention self_attention(");
  Trace trace;
  const Tensor fused = msa(z, {.trace = &trace});
  shapes(say, trace);
  check_equal(say, "MSA", "all heads at once", fused, "concatenated", right);
  say.text("The library's `self_attention` reads the heads where they lie, without moving them:");
  check_equal(say, "MSA", "library", msa(z), "concatenated", right);

  say.heading("The derivative by hand");
  say.equation(R"(\bar{\mathrm{SA}}_i = g\, U_{msa,i}^\top, \qquad \bar z = \sum_i \bar z_i)",
               "dSAᵢ = g U_msa,ᵢᵀ,    dz = Σᵢ dzᵢ");
  say.in_words("concatenation goes back by cutting: each head hears, through its own rows of "
               "U_msa, what its answer did. The token adds up what comes from all heads.");
  const Array g = random_normal({B, T, D}, say.seed() + 1);
  const std::vector<Tensor> parts = SA();
  const std::vector<Array> tape = grad(concatenated(parts, msa.proj), parts, g, true);
  Tensor dz = zeros({B, T, D});
  for (std::size_t i = 0; i < h; ++i) {
    const Tensor U_i = of_head(transpose(msa.proj.weight.tensor().detach()), i);
    const Array d = matmul(g, transpose(U_i)).value();
    check_equal(say, fmt::format("dSA of head {}", i), "by hand", d, "tape", tape[i]);
    if (i > 0 && say.broken("one-head")) continue;
    dz = dz + Tensor(grad(parts[i], {z}, d, true)[0]);
  }
  check_equal(say, "dz", "sum over heads", dz, "tape", grad(msa(z), {z}, g)[0]);
  const std::vector<Leaf> leaves = {
      {"z", z}, {"U_qkv", U_qkv}, {"its bias", b}, {"U_msa", msa.proj.weight}};
  const auto library = [&] { return msa(z); };
  check_gradients(say, library, leaves);
  check_twins(
      say, library, [&] { return concatenated(SA(), msa.proj); }, leaves);

  say.heading("What heads cost");
  say.text("With D_h = D / h, nothing but more maps: twelve heads of 64 are as many numbers and as "
           "much work as one of 768.");
  std::vector<std::vector<std::string>> rows;
  const auto one = double(count_parameters(MultiHeadSelfAttention(D, 1, Rng(1))));
  for (const std::size_t n : {1, 2, 4, 8}) {
    const std::size_t count = count_parameters(MultiHeadSelfAttention(D, n, Rng(1)));
    rows.push_back({std::to_string(n), std::to_string(D / n), std::to_string(count),
                    fmt::format("{} of {} x {}", n, T, T)});
    say.check(fmt::format("parameters of {} heads", n), {"counted", double(count)}, {"of one", one},
              0);
  }
  say.table({"h", "D_h", "parameters", "maps A"}, rows);

  say.heading("What heads look at");
  const VisionTransformer model = digits_model();
  const Tensor digit = digit_image(3);
  Trace seen;
  model(digit, {.trace = &seen});
  say.figure(tiles("A digit for the model that comes with the project.",
                   reshape(digit, {1, 28, 28}).value(), 1));
  const Tensor first_block = class_token_looks(seen.at("blocks.0.attn.probs"));
  const Tensor last_block = class_token_looks(seen.at("blocks.3.attn.probs"));
  say.figure(tiles("Where its class token looks: four heads of the first block above, of the last "
                   "below. Each head in shades of its own.",
                   concat({first_block, last_block}, 0).value(), 4, 2));

  say.heading("What goes wrong");
  say.sources_disagree("B 2",
                       "One source has Equation 8 in its text and no U_msa in its code. Then head "
                       "1 writes into the first D_h numbers of a token for ever, head 2 into the "
                       "next. At least two other public implementations had the same gap.");
  const Array bare = concat(SA(), -1).value();
  check_mistake(say, "no-projection", "MSA", "without U_msa", bare, "with", right);
  say.sources_disagree(
      "B 30", "The same source concatenates as (N, D_h, k): in turns. The code, and everybody's "
              "weights, are head-major, (k, D_h): all of head 1, then all of head 2.");
  say.code("mistakes");
  check_differs(say, "MSA", "in turns", interleaved(parts, msa.proj), "head-major", right);
  say.sources_disagree(
      "B 3", "That source permutes k by (0, 2, 3, 1), q by (0, 2, 1, 3), and writes `q @ k`. It "
             "looks like a slip and is none: its k is transposed already, (B, h, D_h, T).");
  const Tensor grid = reshape(linear(z, of_head(U_qkv, 2), of_head(b, 2)), {B, T, 1, D_h});
  check_equal(say, "keys", "permuted (0, 2, 3, 1)", permute(grid, {0, 2, 3, 1}), "k^T",
              transpose(permute(grid, {0, 2, 1, 3})), 0);
  say.sources_disagree(
      "B 22",
      "`nn.MultiheadAttention` takes (T, B, D) unless told `batch_first=True`. Given (B, T, D) it "
      "silently lets images attend to each other. Change one image and look at another:");
  Array changed = z.value();
  for (std::size_t i = T * D; i < changed.size(); ++i) changed.data()[i] += 1;
  const auto first = [](const Tensor& t) { return select(t, 0, 0).value(); };
  const Tensor ours = say.broken("batch-axis") ? across_images(msa, changed) : msa(changed);
  check_equal(say, "image 0, when image 1 changes", "after", first(ours), "before", first(right));
  const Array mixed = first(across_images(msa, changed)), before = first(across_images(msa, z));
  check_differs(say, "the same, batch and tokens exchanged", "after", mixed, "before", before);
  say.sources_disagree(
      "B 31", "Two sources compute D_h = int(D / h). With D = 8 and three heads that leaves two "
              "numbers of each token over. Another keeps √D_h as a tensor on the first GPU. Here "
              "it is a number, and heads that do not divide D are refused:");
  const std::string said = refusal([] { const MultiHeadSelfAttention three(D, 3, Rng(1)); });
  say.text("`{}`", said);
  say.holds("refused with a sentence", !said.empty());

  say.pytorch("`nn.MultiheadAttention(D, h, batch_first=True)`; `in_proj_weight` is U_qkv as (3 D, "
              "D), `out_proj` is U_msa. It also returns the average of the heads' maps, unless "
              "`need_weights=False`, which is faster.");
  say.take_along("U_msa follows v, and nothing bends between. Why can one head do without U_msa, "
                 "and h heads not?");
}

}  // namespace

int main(int argc, char** argv) {
  return tell(
      {.number = 17,
       .teaches = {"self_attention", "linear"},
       .breaks = {{"no-projection", "returns the concatenation without U_msa",
                   "the heads' answers were never mixed, nor brought back to the token's axes."},
                  {"one-head", "hands the token what comes back from the first head alone",
                   "z was read by every head, so it hears from every head."},
                  {"batch-axis", "gives (B, T, D) to attention that takes (T, B, D)",
                   "an image's answer must not depend on who else is in the batch."},
                  {"flipped-sign", "what comes back from all heads has the wrong sign",
                   "differences see the slope itself.", "self_attention:flip_sign"}},
       .rows = {"0-8", "0-10", "1-20", "1-21", "1-28", "2-4", "2-6", "3-5", "4-10"}},
      argc, argv, lesson);
}
