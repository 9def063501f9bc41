#include "lessons/experiments/exhibits.hpp"
#include "lessons/telling/lesson.hpp"
#include "vitruvian/core/base/text.hpp"
#include "vitruvian/nn/torch/multihead_attention.hpp"
#include "vitruvian/vit/inspect/inspect.hpp"

using namespace vitruvian::lessons;

const Lesson about = {
    .title = "Many heads",
    .equation = "MSA(z) = [SA₁(z); …; SAₕ(z)] U_msa",
    .minutes = 15,
    .rows = "0-8 0-10 1-20 1-21 1-28 2-4 2-6 3-5 4-10",
    .teaches = {"self_attention", "linear"},
    .breaks = {{"no-projection", "returns the concatenation without U_msa",
                "the heads' answers were never mixed, nor brought back to the token's axes."},
               {"one-head", "only the first head sends something back to the tokens",
                "z was read by every head, so it hears from every head."},
               {"batch-axis", "gives (B, T, D) to attention that takes (T, B, D)",
                "an image's answer must not depend on who else is in the batch."},
               {"flipped-sign", "what comes back from all heads has the wrong sign",
                "differences see the slope itself.", "self_attention:flip_sign"}},
    .play = {"Which head looks at where the stroke goes on, and does the next digit change that?",
             {{"block", 1, 4, 4, 1},
              {"head", 1, 4, 1, 1},
              {"token", 0, 16, 0, 1},
              {"digit", 0, 9, 3, 1}}},
};

constexpr std::size_t B = 2, T = 5, D = 8, h = 2, D_h = D / h;

// [region heads]
// Rows i D_h to (i + 1) D_h: what belongs to head i of a matrix or bias.
Tensor of_head(const Tensor& U, std::size_t i) {
  return slice(U, 0, std::ptrdiff_t(i * D_h), std::ptrdiff_t((i + 1) * D_h));
}
// Each head with matrices and attention of its own: Equations 5 to 7.
using Answers = std::vector<Tensor>;
Answers heads(const Tensor& z, const Tensor& U, const Tensor& b) {
  const auto W = split(U, {D, D, D}, 0), c = split(b, {D, D, D}, 0);
  Answers SA;
  for (std::size_t i = 0; i < h; ++i) {
    const auto of = [&](int n) { return linear(z, of_head(W[n], i), of_head(c[n], i)); };
    SA.push_back(composed::attention(of(0), of(1), of(2)).output);  // q, k, v
  }
  return SA;
}

// Equation 8 as written: side by side, then one matrix.
Tensor concatenated(const Answers& SA, const Linear& U_msa) { return U_msa(concat(SA, -1)); }

// [region summed]
// U_msa as (h, D_h, D): each head has a matrix back to D; what the heads say is added up.
Tensor summed(const Answers& SA, const Linear& U_msa) {
  const Tensor U = transpose(U_msa.weight);  // rows: head after head
  Tensor y = U_msa.bias;
  for (std::size_t i = 0; i < h; ++i) y = matmul(SA[i], of_head(U, i)) + y;
  return y;
}

// [region one head]
// The same answers, but all heads except the first read a copy of z that is on no tape.
Answers first_head_alone(const Tensor& z, const Tensor& U, const Tensor& b) {
  Answers SA = heads(z.detach(), U, b);
  SA[0] = heads(z, U, b)[0];
  return SA;
}

// [region mistakes]
// Numbers of the heads in turns, (D_h, h), where U_msa expects (h, D_h).
Tensor interleaved(const Answers& SA, const Linear& U_msa) {
  return U_msa(reshape(stack(SA, -1), {B, T, D}));
}
// z (B, T, D) given to attention that takes (T, B, D).
Tensor across_images(const MultiHeadSelfAttention& msa, const Tensor& z) {
  return transpose(msa(transpose(z, 0, 1)), 0, 1);
}

// [end]

// All heads at once, from primitive ops, with all that lies between.
Tensor traced(const MultiHeadSelfAttention& msa, const Tensor& z, Trace& trace) {
  const Composed from_primitive_ops;
  return msa(z, {.trace = &trace});
}

// A digit (1, 1, 28, 28), each of its patches as bright as a map (4, 4) says.
Image over_picture(const Array& map, const Array& digit) {
  const Range inks = range_of({digit.begin(), digit.end()});
  const Range shares = {0, range_of({map.begin(), map.end()}).high};
  Image image{28, 28, 3, {}};
  for (std::size_t y = 0; y < 28; ++y) {
    for (std::size_t x = 0; x < 28; ++x) {
      const double ink = 0.35 + 0.65 * inks.place(digit(0, 0, y, x));
      const Colour c = colour_at(ColourMap::viridis, shares.place(map(y / 7, x / 7)));
      for (const auto part : {c.r, c.g, c.b}) {
        image.pixels.push_back(static_cast<std::uint8_t>(std::lround(part * ink)));
      }
    }
  }
  return image;
}

// Where one token looks in one head of the model.
void play(Narrator& say, const std::vector<double>& at) {
  static const VisionTransformer model = digits_model();
  const auto block = std::size_t(at[0]) - 1, token = std::size_t(at[2]);
  const Tensor digit = digit_image(std::size_t(at[3]));
  const Array all = inspect::attention(model, digit.value()).probs[block];
  const Tensor A = select(select(Tensor(all), 0, 0), 0, std::ptrdiff_t(at[1]) - 1);
  const Tensor shares = select(A, 0, std::ptrdiff_t(token));  // (17)
  const Array map = reshape(slice(shares, 0, 1, 17), {4, 4}).value();
  const std::string who = token == 0 ? "the class token" : fmt::format("patch {}", token - 1);
  ImageGrid looks{.images = {over_picture(map, digit.value())}, .width = 224};
  looks.x_count = looks.y_count = 4;
  say.figure({fmt::format("Block {}, head {}: where {} looks. Bright patches get most of its "
                          "attention.",
                          at[0], at[1], who),
              looks});
  const std::size_t best = largest_of(map);
  say.table({"its attention", "share"},
            {row("to the class token", fmt::format("{:.2f}", shares.value()(0))),
             row(fmt::format("to patch {}, the brightest", best),
                 fmt::format("{:.2f}", map(best / 4, best % 4))),
             row("if it looked at all 17 alike", fmt::format("{:.2f}", 1 / 17.0))});
}

void lesson(Narrator& say) {
  say.heading("What we want to know");
  say.text(
      "To read a digit a token may want to know several things at once: what lies above, where "
      "the stroke goes on, how the whole looks. One head gives it one average. So the ViT runs "
      "h heads beside each other. What does that cost, and how are they one product?");

  say.heading("The equation");
  say.symbols({{"B", B}, {"T", T}, {"D", D}, {"h", h}, {"D_h", D_h}});
  say.equation(R"(\mathrm{MSA}(z) = [\mathrm{SA}_1(z); \dots;)"
               R"( \mathrm{SA}_h(z)]\, U_{msa}, \qquad U_{msa} \in \mathbb{R}^{h D_h \times D})",
               "MSA(z) = [SA₁(z); SA₂(z); …; SAₕ(z)] U_msa,    U_msa (h Dₕ, D)", "8");
  say.in_words(
      "each head attends by itself; answers lie side by side; one more matrix mixes them.");

  say.heading("Four ways to write it");
  say.text("One head after the other, as the annotated code has it:");
  say.code("heads");
  const MultiHeadSelfAttention msa(D, h, Rng(say.seed()));
  const Tensor z(random_normal({B, T, D}, say.seed()), true);
  const Tensor &U_qkv = msa.qkv.weight, &b = msa.qkv.bias, &U_msa = msa.proj.weight;
  const auto answers = say.broken("one-head") ? first_head_alone : heads;
  const auto SA = [&] { return answers(z, U_qkv, b); };
  if (say.broken("one-head")) say.code("one head");
  const bool unmixed = say.broken("no-projection");
  const auto equation_8 = [&] { return unmixed ? concat(SA(), -1) : concatenated(SA(), msa.proj); };
  const Tensor right = equation_8();
  shapes(say, "U_qkv (3 D, D)", U_qkv, "each SA (B, T, D_h)", SA()[0], "MSA (B, T, D)", right);

  say.heading("A sum over heads");
  say.text(
      "In its text the blog post has an einsum, (T, h, D_h) times (h, D_h, D): a sum over heads:");
  say.code("summed");
  check_equal(say, "MSA", "summed", summed(SA(), msa.proj), "concatenated", right);

  say.heading("One product");
  say.text("Most code takes one product. D is h times D_h: splitting is a change of shape:");
  say.code_of("core/composed.cpp", "Attention self_attention(");
  Trace trace;
  const Tensor fused = traced(msa, z, trace);
  shapes(say, trace);
  check_equal(say, "MSA", "all heads at once", fused, "concatenated", right);
  say.text("The library's `self_attention` reads the heads where they lie, without moving them:");
  check_equal(say, "MSA", "library", msa(z), "concatenated", right);

  say.heading("The derivative by hand");
  say.equation(R"(\mathrm{dSA}_i = g\, U_{msa,i}^\top, \qquad dz = \sum_i dz_i)",
               "dSAᵢ = g U_msa,ᵢᵀ,    dz = Σᵢ dzᵢ");
  say.in_words("each head hears through its own rows of U_msa; z adds up what comes from all.");
  const Array g = random_normal({B, T, D}, say.seed() + 1);
  const Answers parts = heads(z, U_qkv, b);
  const std::vector<Array> tape = grad(concatenated(parts, msa.proj), parts, g, true);
  Tensor dz = zeros({B, T, D});
  const auto length = [](const Tensor& t) {
    return fmt::format("{:.3f}", std::sqrt(sum(square(t)).item()));
  };
  Rows lengths;
  for (std::size_t i = 0; i < h; ++i) {
    const Tensor U_i = of_head(transpose(U_msa.detach()), i);
    const Array d = matmul(g, transpose(U_i)).value();
    check_equal(say, fmt::format("dSA of head {}", i), "by hand", d, "tape", tape[i]);
    const Tensor dz_i(grad(parts[i], {z}, d, true)[0]);
    dz = dz + dz_i;
    lengths.push_back({fmt::format("from head {}", i), length(dz_i)});
  }
  const Array back = grad(equation_8(), {z}, g)[0];
  lengths.push_back({"their sum", length(dz)});
  lengths.push_back({"dz, the tape's", length(Tensor(back))});
  say.table({"what comes back to z", "its length"}, lengths);
  check_equal(say, "dz", "sum over heads", dz, "tape", back);
  const std::vector<Leaf> leaves = {{"z", z}, {"U_qkv", U_qkv}, {"bias", b}, {"U_msa", U_msa}};
  const auto library = [&] { return msa(z); };
  check_gradients(say, library, leaves);
  check_twins(say, library, equation_8, leaves);

  say.heading("What heads cost");
  say.text("With D_h = D / h, only more maps: twelve heads of 64 are as much work as one of 768.");
  Rows rows;
  const double one = 3 * D * D + 3 * D + D * D + D;
  for (const std::size_t n : {1, 2, 4, 8}) {
    const auto parameters = double(count_parameters(MultiHeadSelfAttention(D, n, Rng(1))));
    rows.push_back(row(n, D / n, parameters, fmt::format("{} of {} x {}", n, T, T)));
    say.check("parameters of " + counted(n, "head"), {"counted", parameters}, {"of one", one}, 0);
  }
  say.table({"h", "D_h", "parameters", "maps A"}, rows);

  say.heading("What heads look at");
  const VisionTransformer model = digits_model();
  const Tensor digit = digit_image(3);
  const inspect::Attention seen = inspect::attention(model, digit.value());
  ImageGrid looks_at{.columns = 4, .width = 112};
  looks_at.y_names = {"first block", "last block"};
  for (const std::size_t layer : {std::size_t{0}, model.config.L - 1}) {
    for (std::size_t head = 0; head < model.config.h; ++head) {
      looks_at.images.push_back(
          over_picture(inspect::attention_map(seen, layer, head), digit.value()));
    }
  }
  say.text("The model that comes with the project reads a digit. Over the picture lies how much of "
           "its attention the class token gives to each patch:");
  say.figure(
      {"Four heads of the first block, and of the last below: bright is where the class token "
       "looks. Each head looks elsewhere.",
       looks_at});

  say.heading("What goes wrong");
  say.sources_disagree(
      "B 2",
      "The blog post has Equation 8 in its text and no U_msa in its code: head 1 writes into "
      "the first D_h numbers for ever.");
  check_differs(say, "MSA", "without U_msa", concat(SA(), -1), "with", right);

  say.heading("Whose numbers come first");
  say.sources_disagree(
      "B 30", "The blog post's text concatenates as (N, D_h, k): in turns. Everybody's weights "
              "are head-major, (k, D_h): all of head 1, then all of head 2.");
  say.code("mistakes");
  check_differs(say, "MSA", "in turns", interleaved(parts, msa.proj), "head-major", right);
  say.sources_disagree("B 3",
                       "The blog post's code permutes k by (0, 2, 3, 1), q by (0, 2, 1, 3), and "
                       "writes `q @ k`. No slip: its k is transposed already.");
  const Tensor grid = reshape(linear(z, of_head(U_qkv, 2), of_head(b, 2)), {B, T, 1, D_h});
  const Tensor theirs = permute(grid, {0, 2, 3, 1}), k = permute(grid, {0, 2, 1, 3});
  check_equal(say, "keys", "permuted (0, 2, 3, 1)", theirs, "k^T", transpose(k), 0);

  say.heading("Which axis comes first");
  say.sources_disagree(
      "B 22", "`nn.MultiheadAttention` takes (T, B, D) unless told `batch_first=True`. Given (B, "
              "T, D) it lets images attend to each other. Change one, look at another:");
  Array changed = z.value();
  for (std::size_t i = T * D; i < changed.size(); ++i) changed.data()[i] += 1;
  const auto first = [](const Tensor& t) { return select(t, 0, 0).value(); };
  const Tensor mixed = across_images(msa, changed), before = across_images(msa, z);
  const auto attend = [&](const Tensor& x) {
    return say.broken("batch-axis") ? across_images(msa, x) : msa(x);
  };
  const Tensor then = attend(z), now = attend(changed);
  Rows change;
  for (std::size_t t = 0; t < T; ++t) {
    const auto token = [&](const Tensor& y) {
      return entries_text(slice(select(select(y, 0, 0), 0, t), 0, 0, 4).value());
    };
    change.push_back({fmt::format("{}", t), token(then), token(now)});
  }
  say.table({"token of image 0", "ours, before", "ours, after image 1 changed"}, change);
  check_equal(say, "image 0, when image 1 changes", "after", first(now), "before", first(then));
  check_differs(say, "batch and tokens exchanged", "after", first(mixed), "before", first(before));

  say.heading("What is refused");
  say.sources_disagree(
      "B 31",
      "The blog post computes D_h = int(D / h): of D = 8, three heads leave two numbers over. "
      "It also keeps a constant, the root, as a tensor on a GPU. Here such heads are refused:");
  const std::string said = refusal([] { const MultiHeadSelfAttention three(D, 3, Rng(1)); });
  say.text("`{}`", said);
  say.holds("refused with a sentence", !said.empty());

  say.heading("PyTorch's module, argument by argument");
  say.text("What `nn.MultiheadAttention` takes, when it is made and when it is called, and what of "
           "it a ViT "
           "needs:");
  say.table(
      {"nn.MultiheadAttention(", "what it is for", "in a ViT"},
      {{"embed_dim, num_heads", "D and h; D_h = D / h", "of Table 1"},
       {"dropout = 0", "of the shares in A", "0"},
       {"bias = True", "of U_qkv and U_msa", "True"},
       {"add_bias_kv = False", "a learned key and value more, T + 1 columns in A", "False"},
       {"add_zero_attn = False", "a key and value of zeros: a place to look away", "False"},
       {"kdim, vdim = None", "keys and values of other tokens, of another width", "D"},
       {"batch_first = False", "(B, T, D) instead of (T, B, D)", "True"},
       {"query, key, value", "one tensor thrice: self-attention, U_qkv in one product",
        "all three LN(z)"},
       {"attn_mask, key_padding_mask, is_causal", "who may not be looked at", "none: all may"},
       {"need_weights = True", "also returns the mean of the heads' A", "False is faster"}});
  const MultiheadAttention same(D, h, Rng(1), {.batch_first = true});
  const auto to = named_parameters(same), from = named_parameters(msa);
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i].tensor.mutable_value() = from[i].tensor.value();
  }
  check_equal(say, "MSA", "theirs", same(z, z, z).output, "ours", right);
  const MultiheadAttention more(
      D, h, Rng(1), {.add_bias_kv = true, .add_zero_attn = true, .kdim = 3, .batch_first = true});
  const Tensor looks = more(z, zeros({B, T, 3}), z).weights;
  shapes(say, "with a bias and a zero among the keys: A (B, h, T, T + 2)", looks);
  say.pytorch("`nn.MultiheadAttention(D, h, batch_first=True)`; `in_proj_weight` holds the "
              "U_qkv of all heads, transposed, (3 D, D): q, then k, then v; `out_proj` is U_msa. "
              "It also returns the heads' mean map, unless `need_weights=False`.");
  say.take_along(
      "Nothing bends between v and U_msa. Why can one head do without U_msa, and h heads not?",
      "One head: A (z U_v) U_msa = A (z (U_v U_msa)), and a product of two matrices is a matrix "
      "that "
      "U_v could be itself. With h heads U_v makes D_h numbers each; without U_msa they would stay "
      "in that head's own places of the token.");
}

int main(int argc, char** argv) { return tell(about, {lesson, play}, argc, argv); }
