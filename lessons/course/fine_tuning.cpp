#include "lessons/experiments/exhibits.hpp"
#include "lessons/telling/lesson.hpp"
#include "vitruvian/datasets/formats/digits.hpp"
#include "vitruvian/nn/init.hpp"

using namespace vitruvian::lessons;

const Lesson about = {
    .title = "Fine-tuning at a higher resolution",
    .equation = "E_pos (N, D) → (N′, D)",
    .minutes = 12,
    .rows = "4-13",
    .breaks = {{"as-a-sequence", "stretches all position vectors as if they were a line",
                "the class token has no place between patches, nor do rows follow on."}},
    .play = {"Where do PyTorch's and JAX's finer grids differ most: in the middle or at the edge?",
             {{"patches a side, after", 2, 16, 8, 1}, {"entry of the vectors", 0, 63, 3, 1}}},
};

constexpr std::size_t D = 64, P = 7, g = 4, G = 8, N = g * g, S = 40, B = 32;

// [region weights]
// Row i: how much the new place i takes of each old place. Its centre, in
// units of old places, is u; it lies between two of them.
Tensor bilinear(std::size_t to, std::size_t from) {
  Array R = zeros({to, from});
  for (std::size_t i = 0; i < to; ++i) {
    const double u = (double(i) + 0.5) * double(from) / double(to) - 0.5;
    const double at = std::clamp(u, 0.0, double(from - 1));
    const auto low = static_cast<std::size_t>(at);
    const std::size_t high = std::min(low + 1, from - 1);
    R(i, low) += real(1 - (at - double(low)));
    R(i, high) += real(at - double(low));
  }
  return R;
}

// [region larger]
// All parameters as they were, but the positions, and a fresh head of zeros.
VisionTransformer larger(const VisionTransformer& trained, std::size_t side,
                         const Array& positions) {
  ViTConfig c = trained.config;
  c.H = c.W = side;
  VisionTransformer model(c, Rng(1).fork("fresh"));
  const auto from = named_parameters(trained), to = named_parameters(model);
  for (std::size_t i = 0; i < to.size(); ++i) {
    const Tensor& parameter = to[i].tensor;
    if (to[i].name == "pos_embed") parameter.mutable_value() = positions;
    if (parameter.shape() == from[i].tensor.shape()) {
      parameter.mutable_value() = from[i].tensor.value();
    }
  }
  init::constant(model.head.weight, 0);
  init::constant(model.head.bias, 0);
  return model;
}

// [region fine-tune]
// Table 4 of the paper: SGD with momentum, cosine, clip 1, no weight decay.
TrainOptions fine_tuning() {
  TrainOptions o;
  o.optimizer = OptimizerKind::sgd, o.momentum = 0.9;
  o.lr = 0.03, o.warmup = 0.1, o.clip = 1, o.weight_decay = 0;
  o.epochs = 1, o.batch_size = B, o.micro_batch = 16;
  return o;
}

// [region corners]
// The first and last places stay where they are: JAX's convention.
Tensor bilinear_corners(std::size_t to, std::size_t from) {
  Array R = zeros({to, from});
  for (std::size_t i = 0; i < to; ++i) {
    const double u = double(i) * double(from - 1) / double(to - 1);
    const auto low = std::min(static_cast<std::size_t>(u), from - 2);
    R(i, low) = real(1 - (u - double(low)));
    R(i, low + 1) = real(u - double(low));
  }
  return R;
}

// [region resize]
// E_pos (1, 1 + g g, D) to (1, 1 + G G, D): the grid by rows, then by columns;
// the class token, which is nowhere in the image, as it is.
Tensor resized(const Tensor& E_pos, const Tensor& R) {
  const auto width = std::ptrdiff_t(D), to = std::ptrdiff_t(R.shape()[0]);
  const Tensor grid = reshape(slice(E_pos, 1, 1, N + 1), {g, g * width});
  const Tensor rows = reshape(matmul(R, grid), {to, g, width});
  const Tensor both = reshape(matmul(R, rows), {1, to * to, width});
  return concat({slice(E_pos, 1, 0, 1), both}, 1);
}

// [region sequence]
// All 17 vectors stretched to 65 as if they were a line.
Tensor as_a_sequence(const Tensor& E_pos) {
  const Tensor R = bilinear(G * G + 1, N + 1);
  return reshape(matmul(R, select(E_pos, 0, 0)), {1, G * G + 1, D});
}

// [end]

// One entry of the vectors over the image: (1, side, side).
Tensor over_image(const Tensor& positions, std::ptrdiff_t entry, std::size_t side) {
  const auto n = std::ptrdiff_t(side);
  return reshape(slice(select(positions, 2, entry), 1, 1, n * n + 1), {1, n, n});
}

// One entry of the learned positions on another grid.
void play(Narrator& say, const std::vector<double>& at) {
  static const Tensor E_pos = digits_model().pos_embed.table.tensor().detach();
  const auto to = std::size_t(at[0]);
  const auto entry = std::ptrdiff_t(at[1]);
  const auto grid = [&](const Tensor& R) {
    return over_image(resized(E_pos, R), entry, R.size(0)).value();
  };
  const Array old = grid(bilinear(g, g)), fine = grid(bilinear(to, g)),
              corners = grid(bilinear_corners(to, g));
  say.figure(
      tiles(fmt::format("Entry {} over the image: the 4 x 4 that were learned.", entry), old, 1));
  say.figure(tiles(fmt::format("The {} x {} of a picture of {} pixels.", to, to, 7 * to), fine, 1));
  const auto top = [](const char* name, const Array& of, Mark mark) {
    Series row{name, {}, numbers_of(select(select(Tensor(of), 0, 0), 0, 0)), mark};
    const std::size_t n = row.y.size();
    for (std::size_t i = 0; i < n; ++i) row.x.push_back((double(i) + .5) / double(n));
    return row;
  };
  say.figure({"The top row: 0 is the image's left edge, 1 its right one.",
              Chart{.x_label = "place of the patch's centre",
                    .y_label = "entry",
                    .series = {top("learned", old, Mark::dots), top("PyTorch's", fine, Mark::line),
                               top("JAX's", corners, Mark::line)}}});
  say.text("{} tokens in place of 17, and {} times the work of attention's maps.", to * to + 1,
           fmt::format("{:.1f}", std::pow(double(to * to + 1) / 17, 2)));
}

void lesson(Narrator& say) {
  say.heading("What we want to know");
  say.text(
      "A trained ViT need not be trained anew for another task or for larger pictures: that it "
      "transfers is the paper's main point. It pre-trains at 224 pixels and fine-tunes at 384. "
      "The patches stay as large, so there are more of them. All weights can go on with more "
      "tokens, but one: the model has learned N + 1 positions, and now needs more. Here the "
      "model that reads small digits learns, in 40 steps, to read large ones.");
  say.symbols(
      {{"D", D}, {"P", P}, {"g", g, "patches a side"}, {"G", G, "the same, after"}, {"N", N}});
  const VisionTransformer kept = digits_model();
  const Tensor E_pos = kept.pos_embed.table;
  shapes(say, "E_pos (1, N + 1, D)", E_pos);

  say.heading("The equation");
  say.equation(R"(E'_{pos}[i, j] = \sum_{a,b} R[i, a]\, R[j, b]\; E_{pos}[a, b])",
               "E′_pos[i, j] = Σ R[i, a] R[j, b] E_pos[a, b]");
  say.in_words("lay the position vectors out on their grid, put a finer grid over it, and let each "
               "new place be the weighted mean of the four old ones around it.");
  say.code("weights");
  const Tensor R = bilinear(G, g), two = bilinear(4, 2);
  shapes(say, "R (G, g)", R);
  Rows weights;
  for (std::size_t i = 0; i < 4; ++i) {
    weights.push_back(row(i, two.value()(i, 0), two.value()(i, 1)));
  }
  say.table({"from 2 places to 4: new place", "of old place 0", "of old place 1"}, weights);
  check_equal(say, "R from 2 to 4", "here", two, "PyTorch's",
              array({4, 2}, {1, 0, .75, .25, .25, .75, 0, 1}), 1e-6);
  check_equal(say, "rows of R", "sum", sum(R, {1}), "1", full({G}, 1), 1e-6);
  say.code("resize");
  const Tensor E_new = say.broken("as-a-sequence") ? as_a_sequence(E_pos) : resized(E_pos, R);
  shapes(say, "E'_pos (1, G G + 1, D)", E_new);
  const auto same = [&](const char* what, const Tensor& ours, const Tensor& before) {
    check_equal(say, what, "resized", ours, "before", before, 1e-6);
  };

  const auto entry = [](const Tensor& positions, std::size_t side, std::size_t zoom) {
    const auto n = std::ptrdiff_t(side), large = std::ptrdiff_t(side * zoom);
    const Tensor small = reshape(over_image(positions, 3, side), {n, 1, n, 1});
    return reshape(broadcast_to(small, {side, zoom, side, zoom}), {1, large, large});
  };
  say.figure(tiles("One entry of the position vectors over the image: the 4 x 4 that were learned, "
                   "and the 8 x 8 between them.",
                   concat({entry(E_pos, g, 2), entry(E_new, G, 1)}, 0).value(), 2));
  same("the same size again", resized(E_pos, bilinear(g, g)), E_pos);
  same("the class token's", select(E_new, 1, 0), select(E_pos, 1, 0));
  same("the place in the corner", select(E_new, 1, 1), select(E_pos, 1, 1));
  const Tensor leaf(random_normal({1, N + 1, D}, say.seed()), true);
  const Array cotangent = random_normal({1, G * G + 1, D}, say.seed() + 1);
  const double forward = double(sum(resized(leaf, R) * Tensor(cotangent)).item());
  const Array back = grad(resized(leaf, R), {leaf}, cotangent)[0];
  say.check("the dot-product test of lesson #broadcasting", {"<r, R x>", rounded(forward, 4)},
            {"<Rᵀ r, x>", rounded(double(sum(Tensor(back) * leaf).item()), 4)}, 1e-3);

  say.heading("Does it help?");
  say.text("The digits at 56 x 56: 64 patches in place of 16. Two models get the trained one's "
           "weights but the head, one its positions resized, one new ones. A third starts from "
           "nothing. Each makes {} steps of {} images.",
           S, B);
  say.code("larger");
  say.code("fine-tune");
  const Tensor R_56 = bilinear(56, 28);
  const Dataset train = enlarged(digits(S * B, 1, "train"), R_56),
                test = enlarged(digits(400, 1, "test"), R_56);
  const Tensor drawn(zeros({1, G * G + 1, D}));
  init::normal(drawn, Rng(say.seed()).fork("positions"), 0.02);
  ViTConfig c = kept.config;
  c.H = c.W = 56;
  const VisionTransformer one = larger(kept, 56, E_new.value()),
                          other = larger(kept, 56, drawn.value()),
                          nothing(c, Rng(say.seed()).fork("weights"));
  std::vector<Series> series;
  Rows rows;
  std::vector<double> reached;
  const auto compare = [&](const char* name, const Learner& net) {
    TrainOptions how = fine_tuning();
    how.seed = say.seed();
    const Diary run = trained(how, net, train, test);
    series.push_back(curve_of(name, run.losses));
    reached.push_back(run.epoch.test_accuracy);
    rows.push_back({name, in_fives(reached.back())});
  };
  compare("resized positions", one), compare("new positions", other);
  compare("from nothing", nothing);
  say.curves("The loss of each step.", series);
  say.table({"", "read of 400 unseen digits (to the next 5 %)"}, rows);
  say.holds("trained weights help, and resized positions help most",
            reached[0] > reached[1] && reached[1] > reached[2]);

  say.heading("What goes wrong");
  say.sources_disagree(
      "", "The 17 vectors as a line that is stretched to 65. The shape is right, but the end of "
          "one row is mixed with the next, and the class token with the first patch.");
  say.code("sequence");
  check_differs(say, "E'_pos", "as a line", as_a_sequence(E_pos), "as a grid", resized(E_pos, R),
                0.05);
  say.sources_disagree(
      "", "\"Bilinear\" is not one thing: places may be fields with a centre, as here, or points "
          "whose first and last stay put. JAX's code does the latter, linearly; torchvision too, "
          "but cubically; timm and Hugging Face take fields, cubically. Four programs, three "
          "answers; fine-tuning goes on from any of them.");
  say.code("corners");
  check_equal(say, "corners, from 2 to 4", "here", bilinear_corners(4, 2), "thirds",
              array({4, 2}, {1, 0, 2. / 3, 1. / 3, 1. / 3, 2. / 3, 0, 1}), 1e-6);
  check_differs(say, "E'_pos", "corners", resized(E_pos, bilinear_corners(G, g)), "fields",
                resized(E_pos, R), 0.01);

  say.pytorch(
      "`F.interpolate(grid, size=(8, 8), mode=\"bilinear\", align_corners=False)` for a grid (1, "
      "D, 4, 4); timm does it when `img_size` differs, torchvision in `interpolate_embeddings`.");
  const auto length = [](const Tensor& E, std::size_t n) {
    const Tensor grid = slice(E, 1, 1, std::ptrdiff_t(n) + 1);
    return double(mean(sqrt(sum(square(grid), {2}))).item());
  };
  say.take_along(
      "A mean of two vectors is shorter than they are, unless they point the same way. What does "
      "resizing do to the length of position vectors?",
      fmt::format("It shortens them: here from {:.2f} on average to {:.2f}. Cubic weights, some of "
                  "which are negative, shorten less; so DeiT (arXiv 2012.12877) takes these.",
                  length(E_pos, N), length(resized(E_pos, R), G * G)));
}

int main(int argc, char** argv) { return tell(about, {lesson, play}, argc, argv); }
