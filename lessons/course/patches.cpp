#include "lessons/experiments/exhibits.hpp"
#include "lessons/telling/lesson.hpp"
#include "vitruvian/core/base/text.hpp"

using namespace vitruvian::lessons;

const Lesson about = {
    .title = "Patches",
    .equation = "x (C, H, W) → xₚ (N, P² C)",
    .minutes = 12,
    .rows = "0-3 1-5 1-11 1-24 1-25 2-9 3-1 3-2 4-5 4-6 4-23",
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
    .play = {"Halve P: how many times as many tokens is that, and how many times as large a map of "
             "who attends to whom?",
             {{"P", 2, 14, 7, 1}, {"digit", 0, 9, 3, 1}, {"by rows 0, by columns 1", 0, 1, 0, 1}}},
};

constexpr std::size_t B = 2, C = 3, H = 8, W = 12, P = 4, D = 5;
constexpr std::size_t columns = W / P, N = H / P * columns, length = P * P * C;

// [region loops]
// Where entry i of patch n lies in an image (C, H, W). Raster order, as one reads: row n / columns
// and column n % columns of the grid.
std::size_t place(std::size_t n, std::size_t i) {
  const std::size_t c = i / (P * P), dy = i / P % P, dx = i % P;
  return (c * H + n / columns * P + dy) * W + n % columns * P + dx;
}
// The same for entry k of x_p (B, N, P^2 C).
std::size_t from(std::size_t k) {
  return k / length / N * C * H * W + place(k / length % N, k % length);
}
Array cut(const Array& x) {
  Array x_p = empty({B, N, length});
  for (std::size_t k = 0; k < x_p.size(); ++k) x_p.data()[k] = x.data()[from(k)];
  return x_p;
}

// [region shapes]
// The image's axes, cut in two each and laid out in an order.
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
  for (std::size_t k = 0; k < g.size(); ++k) dx.data()[from(k)] = g.data()[k];
  return dx;
}
// All B N patches share E, so its gradient is a sum over all of them.
std::vector<Leaf> by_hand(const Tensor& g, const Tensor& x_p, const Tensor& E) {
  const Tensor dE = matmul(transpose(reshape(g, {B * N, D})), reshape(x_p, {B * N, length}));
  return {{"dx", glue(matmul(g, reshape(E, {D, length})).value())},
          {"dE", reshape(dE, {D, C, P, P})},
          {"dbias", sum(g, {0, 1})}};
}
// [end]

// The image, or its grid, moved to the right; what leaves comes in at the left.
Tensor moved(const Tensor& x, std::ptrdiff_t by) {
  const auto rest = std::ptrdiff_t(x.size(3)) - by;
  return concat({slice(x, 3, rest, rest + by), slice(x, 3, 0, rest)}, 3);
}

// A digit in patches of p x p, laid out in the order of their sequence.
void play(Narrator& say, const std::vector<double>& at) {
  const auto p = std::size_t(at[0]), n = 28 / p;
  const auto side = std::ptrdiff_t(n * p), across = std::ptrdiff_t(n), square = across * across;
  const Tensor digit = digit_image(std::size_t(at[1]));
  const Tensor whole = slice(slice(digit, 2, 0, side), 3, 0, side);  // 28 may leave a rest
  Tensor x_p = unfold(whole, {.height = p, .width = p, .stride_y = p, .stride_x = p});
  if (at[2] > 0) {
    const Tensor grid = reshape(x_p, {across, across, -1});
    x_p = reshape(transpose(grid, 0, 1), {1, square, -1});
  }
  const Array pieces = reshape(x_p, {square, std::ptrdiff_t(p), std::ptrdiff_t(p)}).value();
  say.figure(tiles(fmt::format("{} patches of {} x {}, laid out as one reads: the first of the "
                               "sequence is top left, the second right of it.",
                               n * n, p, p),
                   pieces, n));
  if (28 % p != 0) {
    say.text("{} does not divide 28: {} and {} of pixels are in no patch. The model says: `{}`", p,
             counted(28 % p, "row"), counted(28 % p, "column"),
             refusal([&] { const VisionTransformer model({.P = p}, Rng(1)); }));
  }
  const std::size_t tokens = n * n + 1;
  say.table({"P", "x_p (N, P² C)", "tokens T", "a map A (T, T)"},
            {row(p, fmt::format("({}, {})", n * n, p * p), tokens, tokens * tokens)});
}

void lesson(Narrator& say) {
  say.heading("What we want to know");
  say.text(
      "The networks before it (CNNs, convolutional neural networks: small filters moved over the "
      "picture) eat the raw image, a grid of pixels. A Transformer eats a sequence of vectors, "
      "whatever they stand for. So the first step of a ViT that reads digits makes a sequence of "
      "an image, patch by patch. A digit of 28 x 28 pixels:");
  const Tensor digit = digit_image(3);
  const Array pieces = reshape(patches_of(digit), {16, 7, 7}).value();
  const Matrix ruled = std::get<Matrix>(tiles("", pieces, 4).data);
  say.figure(
      {"Its 16 patches of 7 x 7, with lines between them. They are counted as one reads: 0 to "
       "3 on top, patch 5 in row 1 and column 1.",
       ImageGrid{.images = {coloured(ruled, ColourMap::grey, range_of(ruled.values))},
                 .width = 232,
                 .x_count = 4,
                 .y_count = 4}});
  const Array rows_of_49 = reshape(patches_of(digit), {16, 49}).value();

  say.heading("A sequence");
  say.figure({"The same as a sequence, x_p: 16 rows, a patch each, of 49 pixels.",
              Matrix{16, 49, {rows_of_49.begin(), rows_of_49.end()}}});

  say.heading("The equation");
  say.symbols({{"B", B}, {"C", C}, {"H", H}, {"W", W}, {"P", P}, {"N", N}, {"D", D}});
  say.equation(R"(x \in \mathbb{R}^{C \times H \times W} \to x_p \in \mathbb{R}^{N \times P^2 C},)"
               R"( \quad N = \frac{HW}{P^2}, \qquad x_p E, \ E \in \mathbb{R}^{P^2 C \times D})",
               "x (C, H, W) → xₚ (N, P² C),    N = H W / P²\nxₚ E,    E (P² C, D)", "1, in part");
  say.in_words("cut the image into squares, write each square's pixels into a row, multiply all "
               "rows by one matrix. This patch embedding makes each patch D numbers: a token, as a "
               "word is in a text.");

  say.heading("The equation as code");
  say.code("loops");

  say.heading("By a change of shape");
  say.text("No pixel is computed; they only move. A change of shape can do it:");
  say.code("shapes");

  say.heading("In the library");
  say.text("The library's op is `unfold`; the layer is that and a linear layer:");
  say.code_of("vit/model.cpp", "Tensor PatchEmbed::operator()(");
  const PatchEmbed layer({.C = C, .H = H, .W = W, .P = P, .D = D});
  const Tensor &E = layer.weight, &bias = layer.bias;
  draw(named_parameters(layer), Rng(say.seed()));
  const Tensor x(random_normal({B, C, H, W}, say.seed()), true);
  const Tensor x_p = unfold(x, {.height = P, .width = P, .stride_y = P, .stride_x = P});
  const Tensor y = layer(x);
  shapes(say, "x (B, C, H, W)", x, "x_p (B, N, P^2 C)", x_p, "E, as stored (D, C, P, P)", E,
         "x_p E (B, N, D)", y);
  const Array by_loops = cut(x.value());
  const Axes& order = say.broken("columns-first") ? columns_first : raster;
  check_equal(say, "x_p", "by shapes", cut_by_shapes(x, order), "loops", by_loops, 0);
  check_equal(say, "x_p", "unfold", x_p, "loops", by_loops, 0);

  say.heading("It is a convolution");
  say.text(
      "A convolution lays a small filter, a square of weights, on a place of the image, sums the "
      "products, and moves on by its stride. E is D filters as large as a patch, so most code "
      "has a convolution whose stride is P:");
  say.code("convolution");
  const auto by_kernel = [&] { return by_convolution(x, E, bias); };
  check_equal(say, "x_p E + bias", "convolution", by_kernel(), "unfold and linear", y);
  say.text("Two habits of a CNN: a token sees its patch alone (locality), and when "
           "the image moves by patches, the tokens move along (equivariance).");
  const Tensor next = reshape(moved(reshape(y, {B, 1, H / P, columns, D}), 1), {B, N, D});
  check_equal(say, "moved by a patch", "its tokens", layer(moved(x, P)), "tokens, moved", next);
  check_differs(say, "moved by one pixel", "its tokens", layer(moved(x, 1)), "before", y, .1);

  say.heading("The derivative by hand");
  say.equation(R"(dx_p = g E^\top, \qquad dE = \sum_{b,n} x_{p,b,n}^\top g_{b,n})",
               "dxₚ = g Eᵀ,    dE = Σ over all patches of xₚᵀ g");
  say.in_words(
      "cutting loses and doubles nothing: going back is gluing. What all share gathers from all.");
  say.code("by hand");
  const Tensor g(random_normal({B, N, D}, say.seed() + 1));
  check_by_hand(say, by_hand(g, x_p.detach(), E.detach()), grad(y, {x, E, bias}, g.value()));
  const std::vector<Leaf> leaves = {{"x", x}, {"E", E}, {"bias", bias}};
  const auto by_layer = [&] { return layer(x); };
  check_gradients(say, by_layer, leaves);
  check_twins(say, by_kernel, by_layer, leaves);

  say.heading("How large");
  Rows rows;
  const auto size = [&](const char* data, std::size_t c, std::size_t side, std::size_t p) {
    const ViTConfig of = {.C = c, .H = side, .W = side, .P = p};
    rows.push_back(row(data, p, fmt::format("({}, {})", of.N(), of.patch_length())));
    return double(of.N() * of.patch_length());
  };
  const double base = size("ImageNet, (3, 224, 224)", 3, 224, 16);
  size("the blog post's example, (3, 256, 256)", 3, 256, 16);
  const double cifar = size("CIFAR-10, (3, 32, 32)", 3, 32, 4);
  size("our digits, (1, 28, 28)", 1, 28, 7);
  say.table({"image", "P", "x_p (N, P² C)"}, rows);
  say.check("ViT-Base/16: numbers in x_p", {"N P² C", base}, {"C H W", 3 * 224 * 224}, 0);
  say.check("CIFAR-10: numbers in x_p", {"N P² C", cifar}, {"64 48", 64 * 48}, 0);
  say.text(
      "The blog post goes on with CIFAR-10: at D = 128 its x_p E is (64, 128), and z_0, with a "
      "class token, (65, 128). Its code cuts the patches in the data set.");

  say.heading("What goes wrong");
  say.sources_disagree(
      "B 16", "Which number of a patch comes first? Tutorials flatten (C, P, P), as PyTorch "
              "does; the paper writes P² C, and its code has the channel last. Both learn as well, "
              "but weights of one order, read in the other, are noise:");
  const Tensor last = cut_by_shapes(x, channels_last), E_last = permute(E, {0, 2, 3, 1});
  const auto times = [&](const Tensor& e) { return linear(last, reshape(e, {D, length}), bias); };
  check_mistake(say, "channels-last", "x_p (P, P, C), E (C, P, P)", "mixed", times(E), "right", y);
  check_equal(say, "x_p and E (P, P, C)", "both", times(E_last), "right", y);

  say.heading("Scrambled tokens");
  say.sources_disagree(
      "B 17", "The slides flatten (14, 14, 768) to (196, 768). The convolution returns (768, "
              "14, 14): reshaped as it lies it has the right shape and scrambled tokens.");
  const Tensor scrambled = reshape(conv2d(x, E, bias, P), {B, N, D});
  check_mistake(say, "scrambled", "reshaped, not transposed", "tokens", scrambled, "right", y);
  say.pytorch("`nn.Conv2d(C, D, kernel_size=P, stride=P)`, then `.flatten(2).transpose(1, 2)`; or "
              "`nn.Unfold(P, stride=P)`, then `.transpose(1, 2)` and `nn.Linear(P * P * C, D)`.");
  say.question("Had we counted the patches column by column, would a model be any worse?",
               "No: each place learns its position (lesson #class_and_positions). Weights of the "
               "other order fail.");
}

int main(int argc, char** argv) { return tell(about, {lesson, play}, argc, argv); }
