#include "lessons/telling/lesson.hpp"

#include "vitruvian/vit/model.hpp"
#include "vitruvian/vit/variants.hpp"

#include <tuple>

using namespace vitruvian::lessons;

const Lesson about = {
    .title = "The encoder block",
    .equation = "z′ = MSA(LN(z)) + z,  z = MLP(LN(z′)) + z′",
    .minutes = 12,
    .rows = "1-5 1-29 2-8 3-7 4-8",
    .teaches = {"add", "layer_norm", "self_attention", "linear"},
    .breaks = {{"post-ln", "normalises after the sum, as the first Transformer did",
                "what leaves a post-LN block has mean 0 and size 1; what leaves ours is a sum."},
               {"around-from-norm", "adds to the normalised token instead of the token",
                "the token's own size and mean were lost on the way."},
               {"straight-through", "goes back around both updates and through neither",
                "z reaches the output in four ways: around both, through one, through both."},
               {"no-way-around", "nothing comes back along the way around the MLP",
                "g must arrive at z' untouched, beside what comes through the update.",
                "add:drop_cotangent:1"}},
    .play =
        {"After how many blocks has the stream forgotten how large z_0 was, in each of the three?",
         {{"depth L", 1, 24, 12, 1}, {"size of z_0, power of ten", -1, 2, 1, 0.25}}},
};

constexpr std::size_t B = 2, T = 5, D = 8, h = 2, M = 12;

// [region equations]
// The two updates, and what they make of a token.
Tensor msa(const Block& f, const Tensor& z) { return f.attn(f.norm1(z)); }
Tensor mlp(const Block& f, const Tensor& z) { return f.mlp(f.norm2(z)); }

Tensor equations(const Block& f, const Tensor& z) {
  const Tensor z_prime = msa(f, z) + z;  // Equation 2
  return mlp(f, z_prime) + z_prime;      // Equation 3
}

// [region by hand]
// Each sum hands its cotangent on whole, and once more through its update.
Array by_hand(const Block& f, const Array& g, const Array& input) {
  const Tensor z(input, true);
  const Tensor z_prime((msa(f, z) + z).value(), true);
  const Array through_mlp = grad(mlp(f, z_prime), {z_prime}, g)[0];
  const Array dz_prime = add(Tensor(g), Tensor(through_mlp)).value();
  const Array through_msa = grad(msa(f, z), {z}, dz_prime)[0];
  return add(Tensor(dz_prime), Tensor(through_msa)).value();
}

// [region mistakes]
Tensor post_ln(const Block& f, const Tensor& z) {
  const Tensor z_prime = f.norm1(f.attn(z) + z);
  return f.norm2(f.mlp(z_prime) + z_prime);
}
// The way around starts behind the norm.
Tensor around_from_norm(const Block& f, const Tensor& z) {
  const Tensor n = f.norm1(z), z_prime = f.attn(n) + n, m = f.norm2(z_prime);
  return f.mlp(m) + m;
}
// The same z_l, but what the updates say is a copy that is not on the tape.
Tensor straight_through(const Block& f, const Tensor& z) {
  const Tensor z_prime = msa(f, z).detach() + z;
  return mlp(f, z_prime).detach() + z_prime;
}
// Both updates read the same z.
Tensor side_by_side(const Block& f, const Tensor& z) { return msa(f, z) + mlp(f, z) + z; }
// [end]

double size_of(const Tensor& x) { return std::sqrt(mean(square(x)).item()); }

// The size of the stream, block after block, each with numbers of its own.
void play(Narrator& say, const std::vector<double>& at) {
  const double start = std::pow(10, at[1]);
  const auto depth = std::size_t(at[0]);
  Series ours{"ours", {}, {}}, after{"post-LN", {}, {}}, cut{"around from the norm", {}, {}};
  const Tensor z = random_normal({B, T, D}, say.seed());
  Tensor a = z * start, b = a, c = a;
  for (std::size_t l = 0; l <= depth; ++l) {
    for (Series* s : {&ours, &after, &cut}) s->x.push_back(double(l));
    ours.y.push_back(size_of(a)), after.y.push_back(size_of(b)), cut.y.push_back(size_of(c));
    const Block f(tiny_vit(), Rng(1));
    draw(named_parameters(f), Rng(say.seed() + l));
    a = equations(f, a), b = post_ln(f, b), c = around_from_norm(f, c);
  }
  say.figure({"The size of a number in the stream after each block (upwards logarithmic). Ours is "
              "added to and keeps what it was; the others are normalised in every block.",
              Chart{.x_label = "blocks",
                    .y_label = "size",
                    .series = {ours, after, cut},
                    .whole_x = true,
                    .log_y = true}});
  Rows rows;
  for (const Series& s : {ours, after, cut}) {
    rows.push_back(
        row(s.name, fmt::format("{:.2f}", start * size_of(z)), fmt::format("{:.2f}", s.y.back())));
  }
  say.table({"size", "z_0", fmt::format("z_{}", depth)}, rows);
}

void lesson(Narrator& say) {
  say.heading("What we want to know");
  say.text("Networks are made of blocks: inception, residual, and here the Transformer's encoder "
           "block, the unit of which a ViT that reads digits is stacked. Its parts have had their "
           "lessons; now we put them together in the right order, for the wrong one runs as well.");

  say.heading("The equations");
  say.symbols({{"B", B}, {"T", T}, {"D", D}, {"h", h}, {"M", M}});
  say.equation(R"(z'_\ell = \mathrm{MSA}(\mathrm{LN}(z_{\ell-1})) + z_{\ell-1},)"
               R"( \qquad \ell = 1 \dots L)",
               "z′ₗ = MSA(LN(zₗ₋₁)) + zₗ₋₁,    l = 1 … L", "2");
  say.in_words("normalise, let the tokens look at each other, add what each has learned to it.");
  say.equation(R"(z_\ell = \mathrm{MLP}(\mathrm{LN}(z'_\ell)) + z'_\ell, \qquad \ell = 1 \dots L)",
               "zₗ = MLP(LN(z′ₗ)) + z′ₗ,    l = 1 … L", "3");
  say.in_words("normalise each token again, with a norm of its own, let it think for itself, and "
               "add that. The shape is what it was, so L blocks can follow one another.");
  say.question(
      "An exercise from the slides: go on with Equations 3 and 4 yourself, and make each "
      "block a class. To warm up, before you read on, write 2 and 3 as code. How many lines do you "
      "need, "
      "and how many norms?",
      "Two and two, as below. If line two reads z_{l-1} or the first norm, look at the primes. "
      "Equation 4 is one line and one norm more (lesson #vit).");

  say.heading("The equations as code");
  say.diagram(
      "The block, first the upper half, then the lower. Both sums are fed twice: by an update, and "
      "by the residual connection that goes around it.",
      {.boxes = {{"zₗ₋₁", {"(B, T, D)"}, 0, 0},
                 {"LN 1", {}, 1, 0},
                 {"MSA", {}, 2, 0},
                 {"z′ₗ", {"sum"}, 3, 0},
                 {"z′ₗ, again", {"(B, T, D)"}, 0, 1},
                 {"LN 2", {}, 1, 1},
                 {"MLP", {}, 2, 1},
                 {"zₗ", {"sum"}, 3, 1}},
       .arrows = {{"zₗ₋₁", "LN 1", ""},
                  {"LN 1", "MSA", ""},
                  {"MSA", "z′ₗ", ""},
                  {"zₗ₋₁", "z′ₗ", "residual"},
                  {"z′ₗ, again", "LN 2", ""},
                  {"LN 2", "MLP", ""},
                  {"MLP", "zₗ", ""},
                  {"z′ₗ, again", "zₗ", "residual"}}});
  say.code("equations");

  say.heading("In the library");
  say.text("The library's, with names for errors and traces. `msa` and `mlp` may be skipped in "
           "training, `rows` says how many tokens are asked for, and `post_norm` is the block of "
           "2017, which normalises after the sum:");
  say.code_of("vit/model.cpp", "Tensor Block::operator()(");
  Block block(tiny_vit(), Rng(say.seed()));
  const std::vector<NamedParameter> parameters = named_parameters(block);
  draw(parameters, Rng(say.seed()));
  const Tensor z(random_normal({B, T, D}, say.seed()), true);
  Trace trace;
  const Tensor right = block(z, {.trace = &trace});
  shapes(say, "z_{l-1} (B, T, D)", z);
  shapes(say, trace);
  const auto used = say.broken("post-ln")            ? post_ln
                    : say.broken("around-from-norm") ? around_from_norm
                    : say.broken("straight-through") ? straight_through
                                                     : equations;
  const double sent = size_of(used(block, z * 100));
  say.text("How large are a token's numbers (root mean square) before the block, and after it? "
           "What a block adds "
           "does not grow with z, for the norm stands before it: a stream of size 100 is hardly "
           "changed.");
  say.table({"numbers of z of size", "numbers of z_l"},
            {{fmt::format("{:.2f}", size_of(z)), fmt::format("{:.2f}", size_of(used(block, z)))},
             {fmt::format("{:.2f}", size_of(z * 100)), fmt::format("{:.2f}", sent)}});
  check_equal(say, "z_l", "equations", used(block, z), "library", block(z));

  say.heading("The derivative by hand");
  say.equation(R"(dz' = g + J_{MLP}^\top g, \qquad dz = dz' + J_{MSA}^\top dz')",
               "dz′ = g + (MLP ∘ LN)ᵀ g\ndz = dz′ + (MSA ∘ LN)ᵀ dz′");
  say.in_words("the same two lines, from the bottom: an update that comes back, added to what "
               "comes past it. g arrives at the bottom untouched, however many blocks there are.");
  say.code("by hand");
  const Array g = random_normal({B, T, D}, say.seed() + 1);
  const Array hand = by_hand(block, g, z.value()), dz = grad(used(block, z), {z}, g)[0];
  say.table({"size of", "root mean square"},
            {{"g, which comes from above", fmt::format("{:.3f}", size_of(g))},
             {"what the updates add to it", fmt::format("{:.3f}", size_of(Tensor(dz) - Tensor(g)))},
             {"dz", fmt::format("{:.3f}", size_of(dz))}});
  check_equal(say, "dz", "by hand", hand, "tape", dz);
  std::vector<Leaf> leaves = leaves_of(parameters);
  leaves.insert(leaves.begin(), {"z", z});
  check_gradients(say, [&] { return used(block, z); }, {{"z, by the equations", z}});
  check_gradients(say, [&] { return block(z); }, leaves, {.entries = 24});

  say.heading("The residual stream and its readers");
  say.text("A token is only added to: what leaves is z_0 plus all that 2 L updates have said.");
  Tensor stream = z, updates = zeros({B, T, D});
  for (int l = 0; l < 3; ++l) {
    const Tensor first = msa(block, stream);
    updates = updates + first + mlp(block, first + stream);
    stream = block(stream);
  }
  check_equal(say, "after three blocks", "z_3", stream, "z_0 + all updates", (z + updates));

  say.heading("How large");
  Rows rows;
  for (const auto& [name, width, published] : {std::tuple{"Base", 768, 7087872.0},
                                               {"Large", 1024, 12596224.0},
                                               {"Huge", 1280, 19677440.0}}) {
    ViTConfig one, two;
    one.D = two.D = width, one.M = two.M = 4 * width, one.L = 1, two.L = 2, one.h = two.h = 16;
    const auto counted = double(two.parameters() - one.parameters());
    rows.push_back({name, std::to_string(width), fmt::format("{}", counted)});
    say.check(fmt::format("a block of ViT-{}", name), {"counted", counted},
              {"12 D² + 13 D", 12.0 * width * width + 13.0 * width}, 0);
    say.check("the same", {"counted", counted}, {"torchvision", published}, 0);
  }
  say.table({"ViT", "D", "parameters of a block"}, rows);

  say.heading("What goes wrong");
  say.sources_disagree("",
                       "The first Transformer put the norm after the sum (post-LN): the same "
                       "parts, the same names of weights, another function (lesson #residuals).");
  say.code("mistakes");
  check_differs(say, "z_l", "post-LN", post_ln(block, z), "right", right);

  say.heading("A stream that is cut");
  say.sources_disagree("", "`x = ln(x); x = x + msa(x)`: one variable too few, and the residual "
                           "connection "
                           "starts behind the norm. It trains, not badly; but the stream is cut in "
                           "every block, and size no longer passes.");
  check_differs(say, "z_l", "around from the norm", around_from_norm(block, z), "right", right);
  const double loud = size_of(block(z * 100)), cut = size_of(around_from_norm(block, z * 100));
  say.differs("size of z_l for 100 z", {"cut", cut}, {"right", loud}, .5);
  say.sources_disagree("",
                       "Equation 3 reads z′, not z. Some models take z for both, to save time.");
  check_differs(say, "z_l", "side by side", side_by_side(block, z), "right", right);

  say.heading("A rate that nobody reads");
  say.sources_disagree(
      "B 14", "The notebook gives its attention a dropout rate of its own, and its block never "
              "passes it on: it is always 0. A rate that nobody reads is seen in no shape.");
  ViTConfig rates = tiny_vit();
  rates.attention_dropout = .25, rates.dropout = .1;
  const Block drops(rates, Rng(1));
  const Narrator::Value tenth = {"asked for", .1};
  say.check("attention's rate", {"in the block", drops.attn.attn_drop}, {"asked for", .25}, 0);
  say.check("the rate after U_msa", {"in the block", drops.attn.proj_drop.p}, tenth, 0);
  say.check("the rate after W_2", {"in the block", drops.mlp.drop2.p}, tenth, 0);

  say.pytorch(
      "`nn.TransformerEncoderLayer(D, h, M, dropout, activation=\"gelu\", batch_first=True, "
      "norm_first=True)`: three defaults are another model's. Then `nn.Sequential(*blocks)`.");
  say.take_along(
      "Take one block out of a trained residual network: it still classifies most images "
      "(Veit et al., arXiv 1605.06431). Why?",
      "The block only added something. The stream that the next ones read is still the "
      "sum of all other updates, and hardly any update is needed by all that follow.");
}

int main(int argc, char** argv) { return tell(about, {lesson, play}, argc, argv); }
