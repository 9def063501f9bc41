#include "lessons/experiments/exhibits.hpp"
#include "lessons/telling/lesson.hpp"

using namespace vitruvian::lessons;

const Lesson about = {
    .title = "Class token and positions",
    .equation = "z₀ = [x_class; xₚ E] + E_pos",
    .minutes = 15,
    .rows = "0-5 1-4 1-7 1-13 1-14 1-26 1-27 2-10 3-4 4-7",
    .teaches = {"concat", "add", "broadcast_to"},
    .breaks = {{"own-token", "only the first image sends something back to the class token",
                "all images begin with the same token, so it gathers what comes back from all."},
               {"ones", "starts with all positions equal",
                "what is added to every patch alike tells none of them where it is."},
               {"index-one", "reads token 1 in place of the class token",
                "the class token was put in front: it is token 0."}},
    .play =
        {"Which places are most like place 5: those around it in the image, or those before and "
         "after it in reading order?",
         {{"place", 0, 15, 5, 1}, {"waves 0, learned 1", 0, 1, 0, 1}}},
};

constexpr std::size_t B = 3, N = 16, T = N + 1, D = 8;

// [region equation 1]
// z_0 = [x_class; x_p E] + E_pos; class token and positions serve all images.
Tensor z_0_of(const Tensor& x_class, const Tensor& x_p_E, const Tensor& E) {
  return concat({broadcast_to(x_class, {B, 1, D}), x_p_E}, 1) + E;
}

// [region own token]
// The same z_0, but every image but the first begins with a copy that is not on the tape.
Tensor with_copies(const Tensor& x_class, const Tensor& x_p_E, const Tensor& E) {
  const Tensor copies = broadcast_to(x_class.detach(), {B - 1, 1, D});
  return concat({concat({x_class, copies}, 0), x_p_E}, 1) + E;
}

// [region by hand]
std::vector<Leaf> by_hand(const Tensor& g) {
  return {{"dx_class", sum(slice(g, 1, 0, 1), {0}, true)},  // row 0, of all images
          {"dpatches", slice(g, 1, 1, T)},                  // the other rows
          {"dE_pos", sum(g, {0}, true)}};                   // of all images
}

// [region sine-cosine]
// Row p: sin(p w_0), cos(p w_0), sin(p w_1), cos(p w_1), ... with
// w_i = 10000^(-2 i / width).
Array sine_cosine(std::size_t rows, std::size_t width) {
  Array E = empty({rows, width});
  for (std::size_t i = 0; i < E.size(); ++i) {
    const std::size_t p = i / width, d = i % width;
    const double angle = double(p) * std::pow(10000, -2 * double(d / 2) / double(width));
    E(p, d) = d % 2 == 0 ? std::sin(angle) : std::cos(angle);
  }
  return E;
}
// [end]

const std::vector<std::size_t> shuffled = {11, 4, 8, 2, 15, 0, 7, 13, 6, 1, 10, 14, 3, 9, 5, 12};

// How alike the position of one place is to all.
void play(Narrator& say, const std::vector<double>& at) {
  static const Tensor learned = slice(digits_model().pos_embed.table.tensor(), 1, 1, T).detach();
  const std::size_t place = std::size_t(at[0]);
  const Tensor E = at[1] > 0 ? reshape(learned, {N, 64}) : Tensor(sine_cosine(N, 64));
  const Tensor unit = E / sqrt(sum(square(E), {1}, true));
  const std::vector<double> alike =
      numbers_of(select(matmul(unit, transpose(unit)), 0, std::ptrdiff_t(place)));
  const Series line{"likeness", places(0, N - 1), alike};
  const Series here{"the place itself", {double(place)}, {1}, Mark::dots};
  say.figure({fmt::format("Place {}, row {} and column {}: how alike all 16 places are to it, as "
                          "they lie in the image. Bright is alike.",
                          place, place / 4, place % 4),
              Matrix{4, 4, alike}});
  say.figure(
      {"The same in reading order: the cosine of the two vectors.", Chart{.x_label = "place",
                                                                          .y_label = "cosine",
                                                                          .series = {line, here},
                                                                          .y = Range{-0.5, 1},
                                                                          .whole_x = true}});
}

void lesson(Narrator& say) {
  say.heading("What we want to know");
  say.text("Lesson #patches made N tokens of a digit, one a patch. In the end one vector must say "
           "which digit it is: which one? And attention treats tokens as a set: how does it learn "
           "that patch "
           "5 lies beside 6?");

  say.heading("The equation");
  say.symbols({{"B", B}, {"N", N}, {"T", T, "tokens, N + 1"}, {"D", D}});
  say.equation(R"(z_0 = [x_\mathrm{class};\; x_p^1 E;\; x_p^2 E;\; \dots;\; x_p^N E] + E_{pos})",
               "z₀ = [x_class; xₚ¹ E; xₚ² E; …; xₚᴺ E] + E_pos", "1");
  say.in_words("put one more token in front, which stands for no patch and is learned, as in BERT: "
               "the class token, "
               "in code cls_token. Add to every token a learned vector, its position embedding, "
               "pos_embed. After the last layer only token 0 is read.");
  say.code("equation 1");
  const Tensor x_class(random_normal({1, 1, D}, say.seed()), true);
  const Tensor patches(random_normal({B, N, D}, say.seed() + 1), true);
  const Tensor E_pos(random_normal({1, T, D}, say.seed() + 2), true);
  const auto embedded = say.broken("own-token") ? with_copies : z_0_of;
  if (say.broken("own-token")) say.code("own token");
  const Tensor z_0 = embedded(x_class, patches, E_pos);
  shapes(say, "x_class (1, 1, D)", x_class, "x_p E (B, N, D)", patches, "E_pos (1, T, D)", E_pos,
         "z_0 (B, N + 1, D)", z_0);
  Array loops = empty({B, T, D});
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t t = 0; t < T; ++t) {
      for (std::size_t d = 0; d < D; ++d) {
        const double token = t == 0 ? x_class.value()(0, 0, d) : patches.value()(b, t - 1, d);
        loops(b, t, d) = token + E_pos.value()(0, t, d);
      }
    }
  }
  check_equal(say, "z_0", "equation 1", z_0, "loops", loops, 0);

  say.heading("The derivative by hand");
  say.equation(R"(dx_\mathrm{class} = \sum_b g_{b,0}, \qquad dE_{pos} = \sum_b g_b)",
               "dx_class = Σ_b g[b, 0],    dE_pos = Σ_b g[b]");
  say.in_words("concatenation goes back by cutting; what all images share gathers from all.");
  say.code("by hand");
  const Tensor g(random_normal({B, T, D}, say.seed() + 3));

  const std::vector<Array> tape = grad(z_0, {x_class, patches, E_pos}, g.value());
  say.sources_disagree("B 5", "The slides make the class token `ones(batch_size, 1, 768)`: one "
                              "for each place in the batch. It learns; but token 3 only from "
                              "images that happen to come third: one share of the sum.");
  const Tensor own = slice(slice(g, 0, 0, 1), 1, 0, 1);
  check_differs(say, "dx_class", "the first image's share", own, "the sum",
                sum(slice(g, 1, 0, 1), {0}, true), .1);
  const std::vector<Leaf> hand = by_hand(g);
  say.table({"dx_class", "its numbers"},
            {{"by hand", entries_text(reshape(hand[0].tensor, {D}).value(), 2)},
             {"tape", entries_text(reshape(Tensor(tape[0]), {D}).value(), 2)}});
  check_by_hand(say, hand, tape);
  check_gradients(say, [&] { return embedded(x_class, patches, E_pos); },
                  {{"x_class", x_class}, {"patches", patches}, {"E_pos", E_pos}});

  say.heading("Without positions an image is a bag of patches");
  say.text("A ViT does not even know that an image has two dimensions. Show the model that comes "
           "with this project, without its positions, a digit and the same patches shuffled:");
  const VisionTransformer model = digits_model();
  const Tensor digit = digit_image(3);
  const Tensor grid = reshape(index_select(patches_of(digit), 1, shuffled), {4, 4, 7, 7});
  const Tensor puzzle = reshape(permute(grid, {0, 2, 1, 3}), {1, 1, 28, 28});
  say.figure(picture_of("To a ViT without positions these are the same.", {digit, puzzle}));
  const Array E_learned = model.pos_embed.table.value();
  const auto logits = [&](const Tensor& image, const Array& positions) {
    model.pos_embed.table.tensor().mutable_value() = positions;
    return model(image).detach();
  };
  const auto shuffling = [&](bool matters, const char* what, const Array& positions, double by) {
    (matters ? check_differs : check_equal)(say, what, "shuffled", logits(puzzle, positions),
                                            "digit", logits(digit, positions), by);
  };
  shuffling(false, "logits, no positions", zeros(E_learned.shape()), 1e-10);
  shuffling(true, "logits, learned positions", E_learned, .1);
  say.text("Attention and MLP are equivariant to permutation: what goes in shuffled comes out so. "
           "The class token, which stays in place, notices nothing.");

  say.heading("Three kinds of positions");
  say.text("Positions are sine and cosine \"or learnable\", say the slides. The first Transformer "
           "used waves; the ViT learns T D numbers.");
  say.equation(R"(E_{p,\,2i} = \sin(p\,\omega_i), \quad E_{p,\,2i+1} = \cos(p\,\omega_i),)"
               R"( \quad \omega_i = 10000^{-2i/D})",
               "E[p, 2i] = sin(p ωᵢ),  E[p, 2i+1] = cos(p ωᵢ),  ωᵢ = 10000^(−2i/D)");
  say.in_words(
      "each pair of numbers is a clock hand, the first fast, the last hardly moving. How alike two "
      "times p are depends on their distance alone: sin a sin b + cos a cos b = cos(a − b).");
  say.code("sine-cosine");
  const Tensor waves(sine_cosine(N, 64));
  double by_distance = 0;
  for (int i = 0; i < 32; ++i) by_distance += std::cos(3 * std::pow(10000, -2 * i / 64.0));
  const Array times = matmul(waves, transpose(waves)).value();
  say.check("row 2 times row 5", {"ours", times(2, 5)}, {"Σ cos(3 ωᵢ)", by_distance}, 1e-12);
  say.check("row 9 times row 12", {"ours", times(9, 12)}, {"Σ cos(3 ωᵢ)", by_distance}, 1e-12);

  say.heading("How alike they are");
  say.figure(likeness_grids("Sine-cosine: how alike each of the 16 places is to all 16. They know "
                            "the order in which one reads, not what lies below.",
                            waves));
  const Tensor learned = reshape(slice(Tensor(E_learned), 1, 1, T), {N, 64});

  say.heading("Positions that were learned");
  say.figure(likeness_grids(
      "The learned positions of our model: each place is most like itself. Those of the paper's "
      "ViT-L/32 show rows and columns, which nobody told it (Figure 7; lesson "
      "#filters_and_positions looks for them in a small model).",
      learned));

  say.heading("Which is best");
  say.table({"positions (the paper's Appendix D.4)", "ImageNet, 5 images a class, linear"},
            {{"none", "0.614"},
             {"learned, one for each place", "0.642"},
             {"learned, one for each row and each column", "0.640"},
             {"relative", "0.640"}});
  say.text("To have any matters; which, hardly. So the paper keeps the simplest. (Quoted; lesson "
           "#miniature measures.)");

  say.heading("What goes wrong");
  say.sources_disagree("B 6", "The slides start all positions at 1: all places are the same, a "
                              "bag of patches. The original draws from N(0, 0.02²).");
  const Array ones = full(E_learned.shape(), 1);
  const VisionTransformer fresh(model.config, Rng(say.seed()));
  const Array& start = say.broken("ones") ? ones : fresh.pos_embed.table.value();
  shuffling(false, "logits, all positions 1", ones, 1e-10);
  shuffling(true, "logits, positions N(0, .02²)", start, 1e-4);

  say.heading("How large they begin");
  say.sources_disagree(
      "B 26", "Annotated code and blog post draw positions and class token from N(0, 1); the "
              "notebook from a normal of "
              "0.02 that PyTorch truncates at ±2, a hundred standard deviations: a plain one.");
  const auto size = [](const Tensor& t) { return std::sqrt(mean(square(t)).item()); };
  const double small = size(fresh.pos_embed.table);
  const double patch = size(fresh.patch_embed(digit));
  say.check("standard deviation of the positions", {"measured", small}, {"0.02", .02}, .1);
  say.text("In a new model a patch of the digit, times E, has numbers of size {:.2f}, its position "
           "of {:.2f}. With 1.00, a token says at first where it is as loudly as what it shows.",
           patch, small);
  say.sources_disagree("B 18",
                       "The blog post counts tokens z¹ … zᴺ⁺¹, the paper z⁰ … zᴺ. The class "
                       "token is index 0, in code and in Equation 4.");
  const Tensor read = slice(select(z_0, 1, say.broken("index-one") ? 1 : 0), 0, 0, 1);
  const Tensor expected = reshape(x_class, {1, D}) + select(E_pos, 1, 0);
  check_equal(say, "x_class + E_pos[0]", "what is read", read, "expected", expected, 0);

  say.pytorch("`nn.Parameter(torch.zeros(1, 1, D))`, `.expand(B, -1, -1)`, `torch.cat((cls, x), "
              "dim=1) + pos`. There is no module for it.");
  say.take_along("The class token starts as the same vector for every image; after the first block "
                 "it differs. Where did the difference come in?",
                 "In attention. Its query is the same for all images, but keys and values are the "
                 "patches': what it receives is a mixture of them (lesson #self_attention).");
}

int main(int argc, char** argv) { return tell(about, {lesson, play}, argc, argv); }
