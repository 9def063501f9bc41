#include "lessons/experiments/exhibits.hpp"
#include "lessons/experiments/small_nets.hpp"
#include "lessons/telling/lesson.hpp"
#include "vitruvian/datasets/formats/digits.hpp"

using namespace vitruvian::lessons;

const Lesson about = {
    .title = "Inductive bias",
    .equation = "f(shift x) = shift f(x)?",
    .minutes = 12,
    .rows = "4-3 4-4",
    .breaks = {{"with-positions", "leaves the positions in the encoder without positions",
                "a patch that moves then meets another position, and is another token."}},
    .play =
        {"By how many pixels must the image move, that the patch embedding moves along, and does "
         "the encoder, too?",
         {{"pixels", 0, 14, 7, 1}, {"positions 0 without, 1 with", 0, 1, 0, 1}}},
};

constexpr std::size_t H = 28, P = 7, D = 32, K = 10;

// [region shift]
// All pixels dy down and dx to the right; what leaves on one side comes back on the other.
Tensor roll(const Tensor& x, int axis, std::size_t by) {
  const std::size_t n = x.size(axis);
  std::vector<std::size_t> from(n);
  for (std::size_t i = 0; i < n; ++i) from[i] = (i + n - by) % n;
  return index_select(x, axis, from);
}
Tensor shifted(const Tensor& x, std::size_t by) { return roll(roll(x, 2, by), 3, by); }

// [region measures]
// |f(shift x) - shift f(x)| against |f(x)|: 0 is equivariant. The map's own
// shift is `by_map`.
using Map = std::function<Tensor(const Tensor&)>;
double broken_by(const Map& f, const Tensor& x, std::size_t by, std::size_t by_map) {
  const Tensor y = f(x), d = f(shifted(x, by)) - shifted(y, by_map);
  return std::sqrt(double(sum(square(d)).item()) / double(sum(square(y)).item()));
}
// The pixels that the middle of the map depends on: 1 where its derivative
// is not 0.
Array seen_by(const Map& f, const Array& image) {
  const Tensor x(image, true);
  const Tensor y = f(x);
  const auto middle = std::ptrdiff_t(y.size(2) / 2);
  Array dx = grad(sum(select(select(y, 2, middle), 2, middle)), {x})[0];
  for (real& d : dx) d = d == 0 ? 0 : 1;
  return dx;
}
// How many they are.
double sees(const Map& f, const Array& image) {
  return double(sum(Tensor(seen_by(f, image))).item());
}

// [end]

// A digit moved by some pixels: how far each map of it is from having moved along.
void play(Narrator& say, const std::vector<double>& at) {
  static const Maps m = maps(1);
  const auto by = std::size_t(at[0]), by_map = (by + P / 2) / P;  // the nearest whole patch
  const bool positions = at[1] > 0;
  const Tensor x = digit_image(3);
  const NoGrad no_grad;
  const auto error = [&](const Map& f, std::size_t along) {
    return std::round(1e3 * broken_by(f, x, by, along)) / 1e3;
  };
  const Map conv = [](const Tensor& t) { return m.convolution(t); };
  const Map dense = [](const Tensor& t) { return m.dense(t); };
  const Map patches = [](const Tensor& t) { return m.patches(t); };
  const Map encoder = [&](const Tensor& t) { return m.encoder(t, positions); };
  say.figure(picture_of(fmt::format("The digit, and the same {} pixels down and to the right.", by),
                        {x, shifted(x, by)}));
  say.bars("How much each map fails to move along: |f(shift x) − shift f(x)| / |f(x)|. 0 is "
           "equivariant.",
           {{"convolution", error(conv, by)},
            {"linear layer over all pixels", error(dense, by)},
            {fmt::format("patches, moved by {}", by_map), error(patches, by_map)},
            {fmt::format("encoder {} positions", positions ? "with" : "without"),
             error(encoder, by_map)}});
}

void lesson(Narrator& say) {
  say.heading("What we want to know");
  say.text(
      "Why does a ViT that reads digits need more of them than a net of convolutions? What a model "
      "assumes before it has seen anything is its inductive bias; without one nothing follows from "
      "examples. A convolution assumes that what is worth finding is small, and may "
      "be anywhere. The ViT assumes much less, says the paper. How much less can be measured.");
  say.symbols({{"H", H, "side of the image"}, {"P", P}, {"D", D}, {"K", K}});

  say.heading("Translation");
  say.equation(R"(f(\mathrm{shift}\, x) = \mathrm{shift}\, f(x))", "f(shift x) = shift f(x)");
  say.in_words("move the input, and the output moves along. Such an f is called translation "
               "equivariant. What it has learned in one place it knows in all.");
  say.code("shift");
  say.code("maps", "lessons/experiments/small_nets.hpp");
  const Maps m = maps(say.seed());
  const Tensor x(random_normal({1, 1, H, H}, say.seed() + 2));
  shapes(say, "x (1, 1, H, H)", x, "encoder(x) (1, D, 4, 4)", m.encoder(x, true));
  say.code("measures");
  const auto conv = [&](const Tensor& t) { return m.convolution(t); };
  const auto dense = [&](const Tensor& t) { return m.dense(t); };
  const auto patches = [&](const Tensor& t) { return m.patches(t); };
  const bool keeps = say.broken("with-positions");
  const auto bare = [&](const Tensor& t) { return m.encoder(t, keeps); };
  const auto placed = [&](const Tensor& t) { return m.encoder(t, true); };
  std::vector<std::pair<std::string, double>> errors;
  const auto error_of = [&](const char* what, const Map& f, std::size_t by, std::size_t by_map) {
    const double error = broken_by(f, x, by, by_map);
    errors.emplace_back(what, std::round(error * 1e3) / 1e3);
    return error;
  };
  const auto keeps_shift = [&](const char* what, const Map& f, std::size_t by, double tolerance) {
    const double error = error_of(what, f, by, by == P ? 1 : by);
    say.is_zero(what, {"error", std::round(error * 1e4) / 1e4}, tolerance);
  };
  const auto loses_shift = [&](const char* what, const Map& f, std::size_t by, std::size_t by_map,
                               double at_least) {
    const double error = error_of(what, f, by, by_map);
    say.holds(fmt::format("{}: an error above {}", what, at_least), error > at_least);
  };
  keeps_shift("convolution, by 1 pixel", conv, 1, 1e-5);
  keeps_shift("patches, by a whole patch", patches, P, 1e-5);
  keeps_shift("encoder without positions, by a patch", bare, P, 1e-4);
  loses_shift("linear layer over all pixels, by 1 pixel", dense, 1, 1, 0.3);
  loses_shift("patches, by 1 pixel", patches, 1, 0, 0.3);
  loses_shift("encoder with positions, by a patch", placed, P, 1, 0.1);
  say.bars("How much each map fails to move along: |f(shift x) − shift f(x)| / |f(x)|.", errors);
  say.text(
      "The patch embedding is a convolution of stride P: weights are shared between patches, not "
      "inside one. The blocks treat all tokens alike and keep that. The positions end it, on "
      "purpose: without them the encoder cannot tell any order of the patches from any other.");

  say.heading("Locality");
  say.text("How many of the 784 pixels does one place of the output depend on? The tape knows.");
  const Array& image = x.value();
  say.check("convolution", {"pixels", sees(conv, image)}, {"3 x 3", 9}, 0);
  say.check("linear layer over all pixels", {"pixels", sees(dense, image)}, {"28 x 28", 784}, 0);
  say.check("patches", {"pixels", sees(patches, image)}, {"7 x 7", 49}, 0);
  say.check("encoder, one block or many", {"pixels", sees(placed, image)}, {"28 x 28", 784}, 0);
  say.figure(picture_of(
      "The pixels that one place depends on, of 28 x 28: a convolution's, a patch's, an encoder's.",
      {seen_by(conv, image), seen_by(patches, image), seen_by(placed, image)}));
  say.text("A convolution must be repeated until it has seen the whole image; attention sees all "
           "of it at once, and has to learn where to look. \"MLP has neither, attention is "
           "global\", says the blog post. Of a network of MLPs alone that is so. In a ViT, says "
           "the paper, the "
           "MLP layers are local and translationally equivariant, each token for itself; only "
           "attention is global.");

  say.heading("What it is worth");
  say.text("Three models of at most 26,000 numbers learn from 1,000 centred digits. Then they read "
           "1,000 others, and the same ones moved by two pixels, down and right.");
  say.code("mlp and cnn", "lessons/experiments/small_nets.hpp");
  const Dataset train = digits(1000, 1, "train"), test = digits(1000, 1, "test");
  const Rng rng = Rng(say.seed()).fork("nets");
  const MlpNet mlp(rng);
  const ConvNet cnn(rng);
  const FitOptions how{.steps = 200, .lr = 4e-3, .seed = say.seed()};
  Rows rows;
  std::vector<double> centred, away;
  for (const auto& [name, net] :
       {std::pair<const char*, Learner>{"MLP", mlp}, {"convolutions", cnn}, {"ViT", m.vit}}) {
    std::size_t size = 0;
    for (const NamedParameter& p : net.parameters) size += p.tensor.size();
    fit(net, train, how);
    centred.push_back(score(net, Loader(test)).accuracy);
    away.push_back(score(net, Loader(moved(test))).accuracy);
    rows.push_back({name, std::to_string(size), in_fives(centred.back()), in_fives(away.back())});
  }
  say.table({"model", "parameters", "as they were", "moved (both to the next 5 %)"}, rows);
  const auto lost = [&](std::size_t i) { return centred[i] - away[i]; };
  say.holds("convolutions lose least by the move", lost(1) < lost(0) && lost(1) < lost(2));
  say.holds("moved, they read best", away[1] > away[0] && away[1] > away[2]);
  say.text("So soon, convolutions are behind on centred digits, and the only ones to read moved "
           "ones: where the assumption holds, it replaces data. So, on ImageNet alone, the paper's "
           "ViTs stay below ResNets of their size (section 4.3, Figure 3), and the order turns "
           "with JFT's "
           "303 million images: an assumption also forbids.");

  say.pytorch("`torch.roll(x, (dy, dx), (2, 3))` shifts; `nn.Conv2d(..., "
              "padding_mode=\"circular\")` is the convolution that comes back on the other side.");
  say.question(
      "Could one teach the ViT what the convolution assumes?",
      "Yes: show it the digits moved at random. Augmentation is inductive bias by example.");
}

int main(int argc, char** argv) { return tell(about, {lesson, play}, argc, argv); }
