#include "lessons/experiments/exhibits.hpp"
#include "lessons/telling/lesson.hpp"
#include "vitruvian/nn/init.hpp"
#include "vitruvian/vit/model.hpp"
#include "vitruvian/vit/variants.hpp"

using namespace vitruvian::lessons;

const Lesson about = {
    .title = "The whole Vision Transformer",
    .equation = "y = LN(z_L⁰)",
    .minutes = 15,
    .rows = "0-1 0-7 1-3 1-6 1-8 1-12 2-1 2-2 2-3 2-11 2-12 4-12",
    .teaches = {"concat", "layer_norm", "linear"},
    .breaks = {{"mean-token", "reads the average of all tokens in place of the class token",
                "Equation 4 has the index 0: others speak only through attention."},
               {"no-final-norm", "hands the head a class token that is not normalised",
                "a pre-LN stream grows with every block; the head was made for size 1."},
               {"lost-token", "nothing comes back to the class token from the concatenation",
                "it is in front of every image, so it hears from each.",
                "concat:drop_cotangent:0"}},
    .play = {"Which of the three makes a ViT dearer to run and hardly larger?",
             {{"depth L", 1, 32, 12, 1},
              {"heads, of 64 numbers each", 1, 20, 12, 1},
              {"log₂ P", 2, 5, 4, 1}}},
};

// [region equations]
Tensor encoder(const VisionTransformer& vit, const Tensor& images) {
  const Tensor x_class = broadcast_to(vit.cls_token, {images.size(0), 1, vit.config.D});
  const Tensor x_p_E = vit.patch_embed(images);
  Tensor z = concat({x_class, x_p_E}, 1) + vit.pos_embed.table;  // Equation 1
  for (const Block& block : vit.blocks) {
    z = block.attn(block.norm1(z)) + z;  // Equation 2
    z = block.mlp(block.norm2(z)) + z;   // Equation 3
  }
  return z;
}
Tensor logits_of(const VisionTransformer& vit, const Tensor& images) {
  const Tensor y = vit.norm(select(encoder(vit, images), 1, 0));  // Equation 4
  return vit.head(y);
}

// [end]

// The sizes of a ViT for photographs of 224 x 224 and 1,000 classes.
void play(Narrator& say, const std::vector<double>& at) {
  ViTConfig c{.C = 3, .H = 224, .W = 224, .P = std::size_t(1) << std::size_t(at[2])};
  c.L = std::size_t(at[0]), c.h = std::size_t(at[1]), c.K = 1000;
  c.D = 64 * c.h, c.M = 4 * c.D;
  ViTConfig deeper = c;
  ++deeper.L;
  const double all = double(c.parameters()),
               blocks = double((deeper.parameters() - c.parameters()) * c.L);
  const double end = double(2 * c.D + c.D * c.K + c.K);
  say.bars("Where its parameters sit, in millions.",
           {{"E, class token, positions", (all - blocks - end) / 1e6},
            {fmt::format("{} blocks", c.L), blocks / 1e6},
            {"last norm and head", end / 1e6},
            {"all", all / 1e6}});
  say.table(
      {"", "here", "ViT-B/16"},
      {{"D, M", fmt::format("{}, {}", c.D, c.M), "768, 3072"},
       {"z (T, D)", fmt::format("({}, {})", c.T(), c.D), "(197, 768)"},
       {"A of a block (h, T, T)", fmt::format("({}, {}, {})", c.h, c.T(), c.T()), "(12, 197, 197)"},
       {"parameters", with_commas(c.parameters()), "86,567,656"},
       {"GMAC for an image", fmt::format("{:.2f}", double(c.macs()) / 1e9), "17.56"}});
}

void lesson(Narrator& say) {
  say.heading("What we want to know");
  const ViTConfig demo = variant("mini_vit").config;
  const std::size_t T = demo.T(), D = demo.D;
  say.text(
      "All parts are there; now they become the model that reads. The slides count five steps, "
      "as the paper's Figure 1 does: cut the image into patches and embed each; tell each "
      "where it is; put a class token in front; let all look at each other; read the class "
      "off that, with an \"MLP head\".");
  say.diagram(
      "Figure 1 of the paper, with the shapes of the demonstration below.",
      {.boxes = {{"image",
                  {"an image, cut into patches",
                   fmt::format("(C, H, W) = ({}, {}, {})", demo.C, demo.H, demo.W)},
                  0,
                  0},
                 {"x_p", {"(N, P² C)", to_string({demo.N(), demo.patch_length()})}, 1, 0},
                 {"x_p E", {"(N, D)", to_string({demo.N(), D})}, 2, 0},
                 {"x_class", {"the class token, in front", to_string({1, D})}, 0, 1},
                 {"E_pos", {"positions", to_string({T, D})}, 1, 1},
                 {"z_0", {"(N + 1, D)", to_string({T, D})}, 2, 1},
                 {"logits", {fmt::format("K = {}, by the head", demo.K)}, 0, 2},
                 {"y", {"LN(z_L⁰)", fmt::format("({})", D)}, 1, 2},
                 {"z_L", {fmt::format("after {} blocks", demo.L), to_string({T, D})}, 2, 2}},
       .arrows = {{"image", "x_p", ""},
                  {"x_p", "x_p E", ""},
                  {"x_p E", "z_0", "in a row"},
                  {"x_class", "z_0", ""},
                  {"E_pos", "z_0", "+"},
                  {"z_0", "z_L", "encoder"},
                  {"z_L", "y", ""},
                  {"y", "logits", ""}}});
  say.text("Is that the ViT? The equations say what the boxes do.");

  say.heading("The equations");
  say.symbols(symbols_of(1, demo));
  say.text("In ViT-Base/16: H 224, P 16, N 196, D 768, h 12, D_h 64, L 12, M 3072, K 1000.");
  say.equation(R"(z_0 = [x_\mathrm{class};\; x_p^1 E;\; \dots;\; x_p^N E] + E_{pos})",
               "z₀ = [x_class; xₚ¹ E; …; xₚᴺ E] + E_pos", "1");
  say.equation(R"(z'_\ell = \mathrm{MSA}(\mathrm{LN}(z_{\ell-1})) + z_{\ell-1})",
               "z′ₗ = MSA(LN(zₗ₋₁)) + zₗ₋₁", "2");
  say.equation(R"(z_\ell = \mathrm{MLP}(\mathrm{LN}(z'_\ell)) + z'_\ell)",
               "zₗ = MLP(LN(z′ₗ)) + z′ₗ", "3");
  say.equation(R"(y = \mathrm{LN}(z_L^0))", "y = LN(z_L⁰)", "4");
  say.in_words("normalise the first token of what leaves the last block: what the model thinks of "
               "the image. A linear layer, the classification head, makes K logits of it.");

  say.heading("Where each part was explained");
  say.table({"equation", "part", "lesson"},
            {{"1", "unfold and linear, class token, positions", "#patches, #class_and_positions"},
             {"2", "layer norm, attention, residual", "#layer_norm, #heads, #residuals"},
             {"3", "layer norm, MLP, residual", "#layer_norm, #mlp, #residuals"},
             {"2, 3", "encoder block", "#block"},
             {"4", "layer norm of the class token, then the head", "#layer_norm, #linear"}});

  say.heading("The equations as code");
  say.code("equations");
  const VisionTransformer tiny = tiny_vit_of_order_one(Rng(say.seed()));
  const Tensor small(random_normal({2, 2, 8, 8}, say.seed()));
  Trace seen, trace;
  const Tensor z_end = encoder(tiny, small), bare = tiny.head(select(z_end, 1, 0));
  const Tensor averaged = tiny.head(tiny.norm(mean(z_end, {1})));
  const Tensor ours = say.broken("mean-token")      ? averaged
                      : say.broken("no-final-norm") ? bare
                                                    : logits_of(tiny, small);
  const Tensor watched = tiny(small, {.trace = &seen});
  check_equal(say, "a tiny ViT", "library", tiny(small), "equations", ours);
  check_equal(say, "watched by a trace", "library", watched, "equations", ours);

  say.heading("One row is enough");
  say.text(
      "Equation 4 reads one row of z_L. So where no trace is watching, the last block is asked for "
      "that row alone, from one query: of a block's 12 D² products a token, the other tokens need "
      "only the 2 D² of their keys and values, and 10/12 are saved. The library's lines:");
  say.code_of("vit/model.cpp", "Tensor VisionTransformer::encode(");
  say.code_of("vit/model.cpp", "Tensor VisionTransformer::features(");
  say.code_of("vit/model.cpp", "Tensor VisionTransformer::output(");
  say.text("The other rows hear nothing back:");
  const Tensor z_L(encoder(tiny, small).value(), true), y = tiny.norm(select(z_L, 1, 0));
  const Tensor back(grad(y, {z_L}, random_normal({2, 8}, say.seed() + 1))[0]);
  say.is_zero("cotangent of z_L, rows 1 to N", {"largest", amax(abs(slice(back, 1, 1, 5))).item()},
              0);

  say.heading("The demonstration of the sources, line for line");
  VisionTransformer vit(demo, Rng(say.seed()));
  init::normal(vit.head.weight, Rng(say.seed()).fork("head"), .1);
  const Tensor image(random_normal({1, 3, 224, 224}, say.seed()));
  const Tensor logits = vit(image, {.trace = &trace});
  Rows lines;
  double same = 0;
  using View = std::string_view;
  const auto line = [&](View name, const Tensor& t, View symbols, View expected) {
    shapes(say, fmt::format("{} {}", name, symbols), t);
    const std::string found = joined(t.shape());
    lines.push_back({fmt::format("{}: torch.Size([{}])", name, found)});
    same += found == expected ? 1 : 0;
  };
  line("Eq.(1) z0", trace.at("z_0"), "(B, N + 1, D)", "1, 197, 192");
  line("After layer 1", trace.at("blocks.0.z"), "(B, N + 1, D)", "1, 197, 192");
  line("After layer 2", trace.at("blocks.1.z"), "(B, N + 1, D)", "1, 197, 192");
  line("Eq.(4) y (pre-head)", trace.at("y"), "(B, D)", "1, 192");
  line("Logits", logits, "(B, K)", "1, 10");
  say.table({"as the notebook prints it"}, lines);
  say.check("lines that are the notebook's", {"same", same}, {"all", 5}, 0);
  const std::uint64_t embed = 16 * 16 * 3 * 192 + 192 + 192 + 197 * 192;
  const std::uint64_t block = count_parameters(vit.blocks[0]);
  say.table({"part", "parameters"}, {{"E and its bias, class token, positions", with_commas(embed)},
                                     {"two blocks of 12 D² + 13 D", with_commas(2 * block)},
                                     {"last norm, 2 D", with_commas(count_parameters(vit.norm))},
                                     {"head, D K + K", with_commas(count_parameters(vit.head))},
                                     {"all", with_commas(count_parameters(vit))}});
  say.bars("Where they sit, in thousands: more than four fifths in the blocks, though there are "
           "only two.",
           {{"E, class token, positions", double(embed) / 1e3},
            {"two blocks", 2 * double(block) / 1e3},
            {"last norm", double(count_parameters(vit.norm)) / 1e3},
            {"head", double(count_parameters(vit.head)) / 1e3}});
  say.check("parameters", {"counted", double(count_parameters(vit))}, {"PyTorch", 1077706}, 0);
  say.check("parameters", {"sum", double(embed + 2 * block + 384 + 1930)},
            {"formula", double(demo.parameters())}, 0);

  say.heading("Its derivative, sampled");
  say.text("Lesson #every_parameter checks all of a small ViT; here one entry of a few "
           "parameters.");
  const std::vector<Leaf> sampled = {{"cls_token", vit.cls_token},
                                     {"pos_embed", vit.pos_embed.table},
                                     {"patch_embed.proj.weight", vit.patch_embed.weight},
                                     {"blocks.0.attn.qkv.weight", vit.blocks[0].attn.qkv.weight},
                                     {"blocks.1.norm2.weight", vit.blocks[1].norm2.weight},
                                     {"head.bias", vit.head.bias}};
  const std::vector<std::size_t> label = {3};
  const auto loss = [&] { return cross_entropy(vit(image), label); };
  check_gradients(say, loss, sampled, {.entries = 1});

  say.heading("The models of the paper");
  Rows rows;
  const auto model = [&](const std::string& name, const char* builder, const char* paper,
                         double torchvision) {
    const ViTConfig& c = variant(builder).config;
    const std::string gmac = fmt::format("{:.2f}", double(c.macs()) / 1e9);
    rows.push_back(row(name, c.L, c.D, c.M, c.h, paper, with_commas(c.parameters()), gmac));
    const auto formula = double(c.parameters());
    say.check("parameters of " + name, {"formula", formula}, {"torchvision", torchvision}, 0);
  };
  model("ViT-B/16", "vit_b_16", "86M", 86567656);
  model("ViT-B/32", "vit_b_32", "86M", 88224232);
  model("ViT-L/16", "vit_l_16", "307M", 304326632);
  model("ViT-L/32", "vit_l_32", "307M", 306535400);
  model("ViT-H/14", "vit_h_14", "632M", 632045800);
  say.text("GMAC: thousand millions of multiplications, each with its addition, for one image.");
  say.table({"model", "L", "D", "M", "h", "Table 1", "exactly", "GMAC"}, rows);
  say.sources_disagree(
      "B 28", "Table 1 says 307M for Large: L/32. L/16 has 304.3: more tokens, a smaller E.");

  say.heading("What goes wrong");
  say.sources_disagree(
      "B 12", "The notebook normalises the class token alone, others all tokens first. A norm "
              "looks at one token only: the same. Not so when the tokens are averaged:");
  const Tensor all = tiny.norm(z_L);
  const Tensor read = select(z_L, 1, 0);
  check_equal(say, "class token", "LN(z_L) row 0", select(all, 1, 0), "LN(z_L⁰)", tiny.norm(read));
  const Tensor mean_first = tiny.norm(mean(z_L, {1}));
  check_differs(say, "average", "mean(LN(z_L))", mean(all, {1}), "LN(mean(z_L))", mean_first);

  say.heading("The last norm");
  say.sources_disagree(
      "B 13", "Without Equation 4's norm (so the repository behind the annotated code) the "
              "head sees a sum of 2 L updates.");
  check_differs(say, "logits", "no last norm", bare, "right", tiny(small));

  say.heading("The head");
  say.sources_disagree(
      "B 23", "\"MLP head\" or linear? Both: the paper pre-trains with a hidden layer of tanh, and "
              "fine-tunes with one linear layer that starts at zero. Then the loss is ln K, and "
              "the first step moves nothing below a head that knows nothing.");
  const VisionTransformer fresh(tiny_vit(), Rng(say.seed()));
  const Tensor first = cross_entropy(fresh(small), std::vector<std::size_t>{0, 2});
  say.check("first loss", {"fresh", first.item()}, {"ln K", std::log(3.0)}, 1e-12);
  first.backward();
  double below = 0;
  for (const Leaf& p : leaves_of(named_parameters(fresh)))
    if (!p.name.starts_with("head.")) below += sum(abs(Tensor(*p.tensor.grad()))).item();
  say.is_zero("gradients below the head", {"sum of sizes", below}, 0);
  const double bias = fresh.head.bias.grad()->data()[1];
  say.check("gradient of the head's bias", {"tape", bias}, {"(1/3 + 1/3) / 2", 1.0 / 3}, 1e-12);
  say.pytorch("`torchvision.models.vit_b_16()`, `timm.create_model(\"vit_base_patch16_224\")`: the "
              "numbers of the table; timm's parameters have our names.");
  say.take_along("How many parameters more has ViT-Base for 384 x 384? Where?",
                 fmt::format("{}, all of them in E_pos: 577 tokens instead of 197, of 768 numbers.",
                             with_commas((577 - 197) * 768)));
}

int main(int argc, char** argv) { return tell(about, {lesson, play}, argc, argv); }
