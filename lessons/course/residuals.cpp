#include "lessons/telling/lesson.hpp"
#include "vitruvian/nn/init.hpp"
#include "vitruvian/nn/layers.hpp"

#include <cstdint>

using namespace vitruvian::lessons;

const Lesson about = {
    .title = "Residuals, pre-LN and post-LN",
    .equation = "z′ = f(LN(z)) + z",
    .minutes = 12,
    .rows = "0-6 1-10 1-19 4-8",
    .teaches = {"add", "layer_norm"},
    .breaks = {{"no-way-around", "nothing comes back along the way around f",
                "z moves y twice: through f, and directly.", "add:drop_cotangent:1"},
               {"flipped-sign", "a sum sends its second cotangent back with a minus",
                "the way around would push against the layer instead of past it.",
                "add:flip_sign:1"}},
    .play = {"How deep may each of them be before nothing comes back to the beginning?",
             {{"depth L", 1, 32, 8, 1}, {"seed", 1, 10, 1, 1}}},
};

constexpr std::size_t T = 8, D = 16, M = 64;

// [region forms]
// One layer, four ways. f is an MLP; LN has no parameters here.
enum class Form { plain, residual, post_ln, pre_ln };
Tensor layer(Form form, const Mlp& f, const LayerNorm& LN, const Tensor& z) {
  if (form == Form::residual) return f(z) + z;
  if (form == Form::post_ln) return LN(f(z) + z);  // Vaswani et al. 2017
  if (form == Form::pre_ln) return f(LN(z)) + z;   // the ViT, Equation 3
  return f(z);
}
// [end]

struct Net {
  std::vector<Mlp> fs;
  LayerNorm LN{{D}, 1e-6, false};

  Net(std::size_t L, std::uint64_t seed) {
    for (std::size_t l = 0; l < L; ++l) fs.emplace_back(D, M, Rng(seed).fork("layer", {l}));
  }
  [[nodiscard]] Tensor operator()(Form form, Tensor z) const {
    for (const Mlp& f : fs) z = layer(form, f, LN, z);
    return z;
  }
};

double norm(const Array& a) { return std::sqrt(sum(square(Tensor(a))).item()); }

// [region measure]
// How large what comes back to z_0 is, beside what was sent in at z_L.
double returned(Form form, std::size_t L, std::uint64_t seed) {
  const Net net(L, seed);
  const Tensor z0(random_normal({T, D}, seed), true);
  const Array g = random_normal({T, D}, seed + 1);
  return norm(grad(net(form, z0), {z0}, g)[0]) / norm(g);
}

// [region last layer]
// A net in which f(z) is as large as a token of size 1, which a norm makes of any.
Net loud_net(std::size_t L) {
  Net net(L, 1);
  for (std::size_t l = 0; l < L; ++l) {
    init::normal(net.fs[l].fc1.weight, Rng(5).fork("fc1", {l}), 1 / std::sqrt(D));
    init::normal(net.fs[l].fc2.weight, Rng(5).fork("fc2", {l}), 1 / std::sqrt(.425 * M));
  }
  return net;
}
// The gradient of its last layer's second matrix.
double last_gradient(Form form, std::size_t L) {
  const Net net = loud_net(L);
  const Tensor z = net(form, random_normal({T, D}, 1));
  const Tensor y = form == Form::pre_ln ? net.LN(z) : z;
  return norm(grad(y, {net.fs.back().fc2.weight}, random_normal({T, D}, 2))[0]);
}
// [end]

// The size of a number of z after each of 64 layers.
Series stream_of(std::string name, Form form) {
  const Net net = loud_net(64);
  Series sizes{std::move(name), {}, {}};
  Tensor z = random_normal({T, D}, 1);
  for (std::size_t l = 0; l <= 64; ++l) {
    sizes.x.push_back(double(l)), sizes.y.push_back(norm(z.value()) / std::sqrt(T * D));
    if (l < 64) z = layer(form, net.fs[l], net.LN, z);
  }
  return sizes;
}

const std::pair<const char*, Form> forms[] = {{"plain", Form::plain},
                                              {"residual", Form::residual},
                                              {"post-LN", Form::post_ln},
                                              {"pre-LN", Form::pre_ln}};

// What comes back to z_0 through L layers, in each of the four forms.
void play(Narrator& say, const std::vector<double>& at) {
  const auto L = std::size_t(at[0]);
  std::vector<std::pair<std::string, double>> sizes;
  for (const auto& [name, form] : forms)
    sizes.emplace_back(name, returned(form, L, std::uint64_t(at[1])));
  say.bars(fmt::format("What comes back to z_0 through {} layers, beside what was sent in at the "
                       "end (logarithmic).",
                       L),
           sizes, true);
}

void lesson(Narrator& say) {
  say.heading("What we want to know");
  say.text(
      "A ViT that reads digits is a stack of layers, attention and MLP in turns: 24 in ViT-Base, "
      "twelve of each. The error at its end, a 3 read as an 8, must come back through all of "
      "them to be of use to the first. Why does it arrive? Because every layer has a way "
      "around it: a residual connection, or skip connection.");

  say.heading("The equation");
  say.symbols({{"T", T}, {"D", D}, {"M", M}});
  say.equation(R"(z'_\ell = \mathrm{MSA}(\mathrm{LN}(z_{\ell-1})) + z_{\ell-1})",
               "z′ = MSA(LN(z)) + z", "2");
  say.equation(R"(z_\ell = \mathrm{MLP}(\mathrm{LN}(z'_\ell)) + z'_\ell)", "z = MLP(LN(z′)) + z′",
               "3");
  say.in_words(
      "a layer adds to its input. What it looks at is normalised; what it adds to is not.");

  say.heading("The block of the library");
  say.text("The library's block, whose two lines are these equations:");
  say.code_of("vit/model.cpp", "Tensor Block::operator()(");

  say.heading("Four forms to compare");
  say.text("We compare four such layers. The original Transformer put the norm after the sum; "
           "that is the difference which the blog post points out.");
  say.code("forms");
  const Net two(2, say.seed());
  const Tensor z(random_normal({T, D}, say.seed()), true);
  shapes(say, "z (T, D)", z, "layer(z) (T, D)", two(Form::pre_ln, z));

  say.heading("The derivative by hand");
  say.equation(R"(y = f(z) + z \qquad\Rightarrow\qquad dz = J_f^\top g + g)",
               "y = f(z) + z    ⇒    dz = Jᵀ g + g");
  say.in_words("the sum hands its cotangent to both sides whole. So g itself arrives at the input, "
               "next to whatever comes back through f.");
  const Mlp& f = two.fs[0];
  const Array g = random_normal({T, D}, say.seed() + 1);
  const Array through = grad(f(z), {z}, g)[0];
  check_equal(say, "dz of f(z) + z", "by hand", (Tensor(through) + Tensor(g)), "tape",
              grad(f(z) + z, {z}, g)[0]);
  for (const auto& [form, name] : {std::pair{Form::pre_ln, "z, two pre-LN layers"},
                                   std::pair{Form::post_ln, "z, two post-LN layers"}}) {
    check_gradients(say, [&, kind = form] { return two(kind, z); }, {{name, z}}, {.entries = 24});
  }

  say.text("Of what is sent in at the end of 24 pre-LN layers, {:.2f} times as much arrives at the "
           "beginning.",
           returned(Form::pre_ln, 24, say.seed()));

  say.heading("A case that can be worked out");
  say.text("Let f be a = 0.1 times z, twenty times: a²⁰ = {:.0e} comes back; with a way around, "
           "(1 + a)²⁰ = {:.2f}.",
           std::pow(0.1, 20), std::pow(1.1, 20));
  const Tensor s(scalar(1), true);
  Tensor without = s, with = s;
  for (int l = 0; l < 20; ++l) without = without * 0.1, with = with * 0.1 + with;
  say.check("without a way around", {"tape", grad(without, {s})[0]()},
            {"0.1^20", std::pow(0.1, 20)}, 1e-9);
  say.check("with it", {"tape", grad(with, {s})[0]()}, {"1.1^20", std::pow(1.1, 20)}, 1e-12);

  say.heading("Measured against depth");
  say.code("measure");
  const std::vector<double> depths = {1, 2, 4, 8, 12, 16, 24, 32};
  std::vector<Series> series;
  for (const auto& [name, form] : forms) {
    series.push_back(graph_of(name, depths, [&, of = form](double L) {
      return returned(of, std::size_t(L), say.seed());
    }));
  }
  Rows rows;
  for (std::size_t i = 0; i < depths.size(); ++i) {
    rows.push_back(row(depths[i]));
    for (const Series& line : series) rows.back().push_back(fmt::format("{:.1e}", line.y[i]));
  }

  say.heading("What arrives");
  say.table({"layers", "plain", "residual", "post-LN", "pre-LN"}, rows);
  say.curves("What arrives at z_0 for a cotangent of size 1 at z_L, against the number of "
             "layers (upwards logarithmic): the plain stack falls off, the others stay.",
             series, true);
  const double plain = series[0].y.back(), power = std::log10(series[3].y.back());
  say.is_zero("what 32 plain layers return", {"size", plain}, 1e-9);
  say.holds("32 pre-LN layers return what was sent, within a factor of three",
            std::abs(power) < 0.5);
  say.text("A plain stack forgets everything; the other three do not, wherever the norm stands.");

  say.heading("Pre-LN or post-LN");
  say.text("Now let every f add as much as a token of size 1, as it may once a net has learned. In "
           "post-LN each layer brings the sum back to size 1. In pre-LN nothing does: after L "
           "layers z has size √(1 + L), so one more norm stands at the end, the LN of Equation 4. "
           "It divides by that, on the way back too.");
  const Series stream = stream_of("pre-LN", Form::pre_ln);
  say.figure({"The residual stream: how large z is after each layer, when every f adds as much as "
              "a token of size 1. Pre-LN grows like √L.",
              Chart{.x_label = "layers",
                    .y_label = "size of z",
                    .series = {stream, stream_of("post-LN", Form::post_ln)},
                    .from_zero = true}});
  say.check("size of z after 64 pre-LN layers", {"measured", stream.y.back()},
            {"√(1 + 64)", std::sqrt(65.0)}, 0.3);

  say.heading("The last layer's gradient");
  say.code("last layer");
  Rows last;
  for (const std::size_t L : {4, 16, 64}) {
    last.push_back({std::to_string(L), fmt::format("{:.1f}", last_gradient(Form::post_ln, L)),
                    fmt::format("{:.1f}", last_gradient(Form::pre_ln, L))});
  }
  say.table({"layers", "last layer's gradient, post-LN", "pre-LN"}, last);
  const auto shrinks = [](Form form) { return last_gradient(form, 4) / last_gradient(form, 64); };
  say.check("4 layers against 64, pre-LN", {"measured", shrinks(Form::pre_ln)}, {"√16", 4}, 0.3);
  say.check("4 layers against 64, post-LN", {"measured", shrinks(Form::post_ln)}, {"no change", 1},
            0.3);
  say.text("However deep the net, post-LN's last layers feel the full gradient from the first "
           "step: it needs a long warm-up. Pre-LN spreads it over the depth (Xiong et al., arXiv "
           "2002.04745). The ViT is pre-LN.");

  say.heading("Without the last norm");
  say.sources_disagree(
      "B 13", "The repository behind the annotated code has no final norm. It trains, but it is "
              "not Equation 4, and weights of other ViTs do not fit it.");

  say.pytorch("`torch.nn.TransformerEncoderLayer(..., norm_first=True)` is pre-LN; the default, "
              "False, is post-LN.");
  say.question("The way around has no weights. Then what do the layers of a pre-LN net learn?",
               "Corrections. Each reads the normalised sum of all before it, and adds what is "
               "missing; at first each adds little, and the net behaves as if it were shallow.");
}

int main(int argc, char** argv) { return tell(about, {lesson, play}, argc, argv); }
