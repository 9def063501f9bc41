// Lesson 14. Patches: from an image to a sequence.

#include "core/gradcheck.hpp"
#include "lessons/exhibits.hpp"
#include "lessons/tensors.hpp"
#include "nn/init.hpp"
#include "vit/model.hpp"

using namespace vitruvian;
using namespace vitruvian::lessons;

namespace {

constexpr std::size_t B = 2, C = 3, H = 8, W = 12, P = 4, D = 5;
constexpr std::size_t columns = W / P, N = H / P * columns, length = P * P * C;

// [region loops]
// Where entry i of patch n lies in an image (C, H, W). Patch n stands in row
// n / columns and column n % columns of the grid: raster order, as one reads.
std::size_t place(std::size_t n, std::size_t i) {
  const std::size_t c = i / (P * P), dy = i / P % P, dx = i % P;
  return (c * H + n / columns * P + dy) * W + n % columns * P + dx;
}
Array cut(const Array& x) {
  Array x_p = empty({B, N, length});
  for (std::size_t k = 0; k < x_p.size(); ++k) {
    const std::size_t b = k / length / N, n = k / length % N, i = k % length;
    x_p.data()[k] = x.data()[b * C * H * W + place(n, i)];
  }
  return x_p;
}

// [region shapes]
// The image's axes, cut in two each; `order` is how they are laid out.
Tensor cut_by_shapes(const Tensor& x, const Axes& order) {
  const Tensor grid = reshape(x, {B, C, H / P, P, W / P, P});  // y dy, x dx
  return reshape(permute(grid, order), {B, N, length});
}
const Axes raster = {0, 2, 4, 1, 3, 5};         // b y x, c dy dx
const Axes columns_first = {0, 4, 2, 1, 3, 5};  // b x y, c dy dx
const Axes channels_last = {0, 2, 4, 3, 5, 1};  // b y x, dy dx c

// [region convolution]
// A kernel as large as a patch, moved by a whole patch each time.
Tensor by_convolution(const Tensor& x, const Tensor& E, const Tensor& bias) {
  const Tensor y = conv2d(x, E, bias, P);         // (B, D, H / P, W / P)
  return transpose(reshape(y, {B, D, N}), 1, 2);  // (B, N, D)
}

// [region by hand]
// Every pixel lies in one patch: its cotangent goes back to where it was.
Array glue(const Array& g) {
  Array dx = empty({B, C, H, W});
  for (std::size_t k = 0; k < g.size(); ++k) {
    const std::size_t b = k / length / N, n = k / length % N, i = k % length;
    dx.data()[b * C * H * W + place(n, i)] = g.data()[k];
  }
  return dx;
}
// All B N patches share E, so its gradient is a sum over all of them.
Array of_E(const Tensor& g, const Tensor& x_p) {
  return matmul(transpose(reshape(g, {B * N, D})), reshape(x_p, {B * N, length})).value();
}
// [end]

// The image moved to the right by `by` pixels; what leaves comes in at the left.
Tensor moved(const Tensor& x, std::ptrdiff_t by) {
  const std::ptrdiff_t width = W;
  return concat({slice(x, 3, width - by, width), slice(x, 3, 0, width - by)}, 3);
}

void lesson(Narrator& say) {
  say.heading("What we want to know");
  say.text("A convolutional network eats an image as it is. A Transformer eats a sequence of "
           "vectors, and does not ask what they stand for. So the first step of a ViT, the only "
           "one that looks at pixels, makes a sequence of an image. A digit of 28 x 28 pixels, and "
           "its patches of 7 x 7:");
  const Tensor digit = digit_image(3);
  say.figure(tiles("The digit.", reshape(digit, {1, 28, 28}).value(), 1));
  const Tensor pieces = unfold(digit, {.height = 7, .width = 7, .stride_y = 7, .stride_x = 7});
  say.figure(
      tiles("Its 16 patches, counted as one reads: 0 at the top left, 15 at the bottom right.",
            reshape(pieces, {16, 7, 7}).value(), 4));

  say.heading("The equation");
  say.symbols({{"B", B}, {"C", C}, {"H", H}, {"W", W}, {"P", P}, {"N", N}, {"D", D}});
  say.equation(R"(x \in \mathbb{R}^{C \times H \times W} \to x_p \in \mathbb{R}^{N \times P^2 C},)"
               R"( \qquad N = \frac{HW}{P^2}, \qquad x_p E, \quad E \in)"
               R"( \mathbb{R}^{P^2 C \times D})",
               "x (C, H, W) → xₚ (N, P² C),    N = H W / P²\nxₚ E,    E (P² C, D)", "1, in part");
  say.in_words("cut the image into squares that do not overlap, write each square's pixels into "
               "one row, and multiply every row by the same matrix. A patch is now a vector of D "
               "numbers: a token, what a word is to a Transformer for text.");

  say.heading("The equation as code");
  say.code("loops");
  say.text("No pixel is computed; they only move. A change of shape can do it:");
  say.code("shapes");
  say.text("The library's op is `unfold`; the layer is that and a linear layer:");
  say.code_of("vit/model.cpp", "Tensor PatchEmbed::operator()(");
  ViTConfig config;
  config.C = C, config.H = H, config.W = W, config.P = P, config.D = D;
  const PatchEmbed layer(config);
  const Tensor &E = layer.weight, &bias = layer.bias;
  init::normal(E, Rng(say.seed()).fork("E"), 1);
  init::normal(bias, Rng(say.seed()).fork("bias"), 1);
  const Tensor x(random_normal({B, C, H, W}, say.seed()), true);
  const Tensor x_p = unfold(x, {.height = P, .width = P, .stride_y = P, .stride_x = P});
  const Tensor y = layer(x);
  shape(say, "x", "(B, C, H, W)", x);
  shape(say, "x_p", "(B, N, P^2 C)", x_p);
  shape(say, "E, as it is stored", "(D, C, P, P)", E);
  shape(say, "x_p E", "(B, N, D)", y);
  const Axes& order = say.broken("columns-first") ? columns_first : raster;
  const Array by_shapes = cut_by_shapes(x, order).value();
  check_equal(say, "x_p", "by shapes", by_shapes, "loops", cut(x.value()), 0);
  check_equal(say, "x_p", "unfold", x_p, "loops", cut(x.value()), 0);

  say.heading("It is a convolution");
  say.text("E is stored as (D, C, P, P): D filters of the size of a patch. Most code writes this "
           "step as a convolution whose stride is its kernel. Same numbers:");
  say.code("convolution");
  const Tensor convolved = by_convolution(x, E, bias);
  check_equal(say, "x_p E + bias", "convolution", convolved, "unfold and linear", y);
  say.text(
      "So a ViT keeps two habits of a convolutional network, and only here. It is local: a token "
      "sees the pixels of its patch. And it is equivariant to translation by whole patches: one "
      "matrix serves all places, so when the image moves, the tokens move along.");
  const auto next = [](const Tensor& t) {  // each row of the grid, moved by a patch
    return reshape(index_select(reshape(t, {B, H / P, columns, D}), 2, {2, 0, 1}), {B, N, D});
  };
  check_equal(say, "moved by a patch", "its tokens", layer(moved(x, P)), "the tokens, moved",
              next(y));
  check_differs(say, "moved by one pixel", "its tokens", layer(moved(x, 1)), "before", y, .1);

  say.heading("The derivative by hand");
  say.equation(R"(\bar x_p = g E^\top, \qquad \bar E = \sum_{b,n} x_{p,b,n}^\top g_{b,n})",
               "dxₚ = g Eᵀ,    dE = Σ over all patches of xₚᵀ g");
  say.in_words("cutting loses nothing and doubles nothing, so going back is gluing. What all "
               "patches share gathers what comes back from all of them.");
  say.code("by hand");
  const Tensor g(random_normal({B, N, D}, say.seed() + 1));
  const std::vector<Array> tape = grad(y, {x, E, bias}, g.value());
  const Tensor flat = reshape(E.detach(), {D, length});
  const Array dE = reshape(Tensor(of_E(g, x_p.detach())), {D, C, P, P}).value();
  check_by_hand(say, {{"dx", glue(matmul(g, flat).value())}, {"dE", dE}, {"dbias", sum(g, {0, 1})}},
                tape);
  const std::vector<Leaf> leaves = {{"x", x}, {"E", E}, {"bias", bias}};
  const auto by_layer = [&] { return layer(x); };
  check_gradients(say, by_layer, leaves);
  say.text("The convolution's gradients are the same as well:");
  check_twins(
      say, [&] { return by_convolution(x, E, bias); }, by_layer, leaves);

  say.heading("How large");
  std::vector<std::vector<std::string>> rows;
  const auto size = [&](const char* what, std::size_t c, std::size_t side, std::size_t p) {
    ViTConfig of;
    of.C = c, of.H = of.W = side, of.P = p;
    rows.push_back({what, std::to_string(p), fmt::format("({}, {})", of.N(), of.patch_length())});
    return double(of.N() * of.patch_length());
  };
  const double base = size("ImageNet, (3, 224, 224)", 3, 224, 16);
  size("a source's example, (3, 256, 256)", 3, 256, 16);
  const double cifar = size("CIFAR-10, (3, 32, 32)", 3, 32, 4);
  size("our digits, (1, 28, 28)", 1, 28, 7);
  say.table({"image", "P", "x_p (N, P² C)"}, rows);
  say.check("ViT-Base/16: numbers in x_p", {"N P² C", base}, {"C H W", 3 * 224 * 224}, 0);
  say.check("CIFAR-10: numbers in x_p", {"N P² C", cifar}, {"64 48", 64 * 48}, 0);
  say.text("So ViT-Base's x_p has 196 rows of 768 numbers. That source goes on with CIFAR-10: at D "
           "= 128 its x_p E is (64, 128), and z_0, with a class token, (65, 128). Its code cuts "
           "the patches in the data set; then the model begins with the linear layer.");

  say.heading("What goes wrong");
  say.sources_disagree(
      "B 16",
      "Which number of a patch comes first? Three sources flatten (C, P, P), as PyTorch's unfold "
      "and convolution do; the paper writes P² C, and its code really has the channel last. Both "
      "learn as well. But weights of one order, read in the other, are noise:");
  const Tensor last = cut_by_shapes(x, channels_last);
  const Tensor E_last = reshape(permute(E, {0, 2, 3, 1}), {D, length});  // (D, P, P, C)
  const Tensor mixed = linear(last, reshape(E, {D, length}), bias);
  check_mistake(say, "channels-last", "x_p (P, P, C), E (C, P, P)", "mixed", mixed, "right", y, .1);
  check_equal(say, "x_p and E (P, P, C)", "both", linear(last, E_last, bias), "right", y);
  say.sources_disagree("B 17",
                       "Slides flatten a tensor (14, 14, 768) to (196, 768). The convolution "
                       "returns (768, 14, 14): its grid comes last. Reshaped without exchanging "
                       "the axes it has the right shape and scrambled tokens.");
  const Tensor scrambled = reshape(conv2d(x, E, bias, P), {B, N, D});
  check_mistake(say, "scrambled", "reshaped, not transposed", "tokens", scrambled, "right", y);
  say.pytorch("`nn.Conv2d(C, D, kernel_size=P, stride=P)`, then `.flatten(2).transpose(1, 2)`; or "
              "`nn.Unfold(P, stride=P)`, then `.transpose(1, 2)` and `nn.Linear(P * P * C, D)`.");
  say.question(
      "Had we counted the patches column by column, would a model trained that way be any worse?",
      "No. Nothing that follows knows which patch is whose neighbour: each place gets a position "
      "embedding, and those are learned (lesson 15). Only weights trained with the other order "
      "fail.");
}

}  // namespace

int main(int argc, char** argv) {
  return tell(
      {.number = 14,
       .teaches = {"unfold", "linear", "conv2d"},
       .breaks =
           {{"columns-first", "counts the patches column by column",
             "the tokens are all there, in another order: patch 1 is right of patch 0, not below."},
            {"channels-last", "flattens patches as (P, P, C) for weights that are (C, P, P)",
             "the same pixels meet other weights."},
            {"scrambled", "reshapes (B, D, N) to (B, N, D) instead of transposing it",
             "a reshape moves no number: a token mixes one feature of many patches."},
            {"flipped-sign", "a pixel's cotangent comes back with a minus",
             "every pixel is copied once, so its slope is that of its copy.", "unfold:flip_sign"}},
       .rows = {"0-3", "1-5", "1-11", "1-24", "1-25", "2-9", "3-1", "3-2", "4-5", "4-6", "4-23"}},
      argc, argv, lesson);
}
