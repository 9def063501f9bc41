#include "lessons/experiments/exhibits.hpp"
#include "lessons/experiments/scenes.hpp"
#include "lessons/telling/lesson.hpp"
#include "vitruvian/datasets/formats/digits.hpp"
#include "vitruvian/vit/inspect/inspect.hpp"

using namespace vitruvian::lessons;

const Lesson about = {
    .title = "Filters, positions, distances",
    .equation = "cos(E_pos,i, E_pos,j)",
    .minutes = 10,
    .rows = "4-20 4-21 4-22",
    .breaks = {{"in-patches", "measures in patches in place of pixels",
                "the centres of neighbouring patches are P pixels apart, not 1."}},
    .play = {"Do places in the same row look alike to a model, and to which?",
             {{"row", 1, 8, 3, 1}, {"column", 1, 8, 5, 1}}},
};

constexpr std::size_t D = 64, P = 7, N = 16, T = 17, L = 4, h = 4, g = 4;  // of the digits' model

// [region similarity]
Tensor cosine(const Tensor& e) {  // (N, D) to (N, N)
  const Tensor unit = e / sqrt(sum(square(e), {1}, true));
  return matmul(unit, transpose(unit));
}

// [region distance]
// Pixels between the centres of patches i and j.
double apart(std::size_t i, std::size_t j) {
  const double dy = double(i / g) - double(j / g);
  const double dx = double(i % g) - double(j % g);
  return P * std::sqrt(dy * dy + dx * dx);
}
// Of one head's map A (T, T): mean over queries of the distance, weighted by
// attention. The class token is left out, and rows sum to 1 again.
double distance(const Tensor& A) {
  double mean = 0;
  for (std::size_t i = 0; i < N; ++i) {
    double weighted = 0, weights = 0;
    for (std::size_t j = 0; j < N; ++j) {
      const double a = double(A.value()(i + 1, j + 1));
      weights += a, weighted += a * apart(i, j);
    }
    mean += weighted / weights / N;
  }
  return mean;
}

// [region learned]
// What training added to the filters. They began as noise, which this seed
// draws again, and most of it is still there: a times the first filters.
Array learned(const VisionTransformer& model) {
  const VisionTransformer first(model.config, Rng(1).fork("weights"));
  const Tensor now(inspect::filters(model)), then(inspect::filters(first));
  const Tensor a = sum(now * then) / sum(then * then);
  return (now - a * then).value();
}

// [region grid units]
// In patches, not in pixels: two models with other P cannot be compared.
double in_patches(const Tensor& A) { return distance(A) / P; }

// [end]

// 28 principal components, each in the full range of a picture; grey is 0.
ImageGrid components(const Array& filters) {
  const Array all = inspect::principal_components(filters).components;
  const std::size_t channels = all.shape(1), side = all.shape(2);
  ImageGrid grid{.images = {}, .columns = 7, .width = 60};
  for (std::size_t k = 0; k < all.shape(0); ++k) {
    const std::vector<double> filter = numbers_of(select(Tensor(all), 0, k));
    const double most = symmetric_range_of(filter).high;
    std::vector<std::uint8_t> planes;
    for (const double x : filter) {
      planes.push_back(std::uint8_t(std::lround(127.5 + 127 * x / most)));
    }
    grid.images.push_back(from_planes(planes.data(), channels, side, side));
  }
  return grid;
}

// Where a place's likeness to all places is drawn, in the place's own position: (gh gw, gh, gw).
ImageGrid likeness(const VisionTransformer& model) {
  const Array alike = inspect::position_similarity(model);
  const auto side = std::ptrdiff_t(alike.shape(0));
  return {.images = shades(reshape(alike, {side * side, side, side}).value()),
          .columns = alike.shape(0),
          .width = 420.0 / double(side)};
}

// One place of the photographs' model: its likeness to all 8 x 8.
void play(Narrator& say, const std::vector<double>& at) {
  static const ImageGrid all = likeness(cifar_model().model);
  const std::size_t place = (std::size_t(at[0]) - 1) * 8 + std::size_t(at[1]) - 1;
  ImageGrid one = all;
  one.images = {all.images.at(place)};
  one.x_names.clear(), one.y_names.clear();
  one.x_count = one.y_count = 0, one.columns = 1, one.width = 260;
  say.figure({fmt::format("Row {}, column {}: its position's likeness to the positions of all "
                          "places. Bright is alike.",
                          at[0], at[1]),
              one});
}

void lesson(Narrator& say) {
  say.heading("What we want to know");
  say.text(
      "The ViT reads digits. What did it learn for that? The paper opens a trained model at "
      "three places (Figure 7): what does the first layer look for, does the model know where "
      "its patches are, how far does attention reach? We open two: the model that reads "
      "digits, on a grid of 4 x 4 patches, whose sizes the table shows, and one that was shown "
      "50,000 photographs in colour, CIFAR-10, on a grid of 8 x 8 patches of 4 x 4 pixels "
      "(`models/cifar.safetensors`, 12 epochs). Where they differ, both are shown.");
  say.symbols({{"D", D}, {"P", P}, {"N", N}, {"T", T}, {"L", L}, {"h", h}});
  const VisionTransformer model = digits_model(), photos = cifar_model().model;

  say.heading("Filters");
  say.text(
      "A row of E, laid out as the patch it is multiplied with, is a filter. The principal "
      "components of the D filters are the few patterns that all are mixed from: the directions in "
      "which the filters differ most, eigenvectors of their covariance (P², P²), the largest "
      "eigenvalue first (`inspect::principal_components`).");
  shapes(say, "E (D, P^2)", reshape(model.patch_embed.weight, {std::ptrdiff_t(D), -1}));
  const auto found = inspect::principal_components(inspect::filters(model), 3);
  const Tensor directions = reshape(found.components, {3, P * P});
  check_equal(say, "each with each: of length 1, and at right angles", "products",
              matmul(directions, transpose(directions)), "identity", identity(3), 1e-6);
  say.holds("they come in order", std::is_sorted(found.variances.rbegin(), found.variances.rend()));
  const Array known =
      array({6, 3, 1, 1}, {3, 0, 0, -3, 0, 0, 0, 2, 0, 0, -2, 0, 0, 0, 1, 0, 0, -1});
  say.check("largest variance of (±3, 0, 0), (0, ±2, 0), (0, 0, ±1)",
            {"measured", inspect::principal_components(known).variances[0]}, {"3² 2 / 6", 3}, 1e-9);
  const auto shares = [](const Array& filters) {
    const auto three = inspect::principal_components(filters, 3);
    return std::reduce(three.variances.begin(), three.variances.end()) / three.total;
  };
  const auto percent = [](double share) { return fmt::format("{:.0f} %", 100 * share); };
  const Array from_photos = learned(photos), from_digits = learned(model);
  const auto drawn = [](const VisionTransformer& m) {
    return Array(inspect::filters(VisionTransformer(m.config, Rng(1).fork("weights"))));
  };
  say.text("One model learned for half a minute, the other for twelve epochs, the paper's for "
           "days. So most of their filters is still "
           "the noise that they began with, and hides what was learned; we take it off:");
  say.code("learned");
  say.table(
      {"variance in three components", "photographs", "digits"},
      {{"as drawn at the start", percent(shares(drawn(photos))), percent(shares(drawn(model)))},
       {"trained", percent(shares(inspect::filters(photos))),
        percent(shares(inspect::filters(model)))},
       {"what training added", percent(shares(from_photos)), percent(shares(from_digits))}});
  say.figure(
      {"The first 28 components of what photographs added, the largest first: light to dark and "
       "colour to colour, then edges, then finer stuff, as in the paper's Figure 7, left.",
       components(from_photos)});
  say.figure({"The same of the digits: bars that lie and bars that stand, then noise.",
              components(from_digits)});

  say.heading("Positions");
  say.equation(
      R"(s_{ij} = \frac{E_{pos,i} \cdot E_{pos,j}}{\lVert E_{pos,i}\rVert\, \lVert E_{pos,j}\rVert})",
      "s[i, j] = cos(E_pos,i, E_pos,j)");
  say.in_words("how much alike are the vectors that were added at places i and j?");
  say.code("similarity");
  const Array positions = inspect::patch_positions(model);
  const Tensor s = cosine(positions);
  shapes(say, "s (N, N)", s);
  check_equal(say, "s", "ours", s, "library",
              reshape(inspect::position_similarity(positions, g), {N, N}), 1e-5);
  say.text("First a known case: let a position be its row, one of four, beside its column, one of "
           "four. Two places of one row or column share half of their vector, all others nothing:");
  Array grid = zeros({N, 2 * g});
  for (std::size_t n = 0; n < N; ++n) grid(n, n / g) = grid(n, g + n % g) = 1;
  const auto of_known = inspect::lines(inspect::position_similarity(grid, g));
  say.check("same row or column", {"measured", of_known.line}, {"1/2", 0.5}, 1e-6);
  say.is_zero("all others", {"measured", of_known.rest}, 1e-6);
  say.figure(
      {"The photographs' model: each of the 8 x 8 places, its likeness to all 8 x 8. Bright is "
       "alike: near places are. Left and right edge are alike, too, because half of the "
       "pictures were mirrored in training.",
       likeness(photos)});
  say.figure(
      {"The digits' model: each of the 4 x 4 places. No rows, no columns.", likeness(model)});
  const auto ours = inspect::lines(inspect::position_similarity(positions, g)),
             theirs = inspect::lines(inspect::position_similarity(photos));
  const auto tenth = [](double x) { return fmt::format("{:.1f}", std::round(10 * x) / 10 + 0.0); };
  const auto size_of = [](const Array& e) {
    return std::sqrt(double(mean(square(Tensor(e))).item()));
  };
  const double size = size_of(positions);
  say.table({"positions of the trained models", "photographs", "digits"},
            {{"likeness in the same row or column", tenth(theirs.line), tenth(ours.line)},
             {"likeness to all others", tenth(theirs.rest), tenth(ours.rest)},
             {"size of an entry, drawn with 0.02",
              fmt::format("{:.2f}", size_of(inspect::patch_positions(photos))),
              fmt::format("{:.2f}", size)}});
  say.holds("the digits' positions have grown", size > 0.03);
  say.holds("photographs: rows and columns are alike, others not",
            theirs.line > 0.15 && theirs.rest < theirs.line / 2);
  say.text(
      "Nobody told the model that patches lie on a grid: it was given 64 vectors without order. "
      "From photographs, where one patch further is nearly the same place, it found the grid, as "
      "the paper's model did (Figure 7, centre). The digits' positions have grown as well, but "
      "each place means something of "
      "its own, and it is enough that they differ (lesson #miniature).");

  say.heading("How far attention reaches");
  say.equation(R"(d = \frac{1}{N} \sum_i \sum_j A_{ij}\, \lVert c_i - c_j \rVert)",
               "d = (1/N) Σᵢ Σⱼ A[i, j] |cᵢ − cⱼ|");
  say.in_words("the attention distance: how far it is to what a patch looks at, in pixels, "
               "weighted by how much it looks.");
  say.code("distance");
  const Array even = full({T, T}, real(1.0 / T));
  double all = 0;
  for (std::size_t i = 0; i < N * N; ++i) all += apart(i / N, i % N) / (N * N);
  const double reached = say.broken("in-patches") ? in_patches(even) : distance(even);
  say.check("attention to all alike", {"measured", rounded(reached, 5)}, {"all pairs", all}, 1e-4);
  say.is_zero("d where each attends to itself", {"measured", distance(identity(T))}, 0);
  const double corners = 7 * std::sqrt(18.0);
  say.check("corner to corner", {"measured", apart(0, N - 1)}, {"7 √18", corners}, 1e-9);
  const Dataset data = digits(32, 1, "test");
  const std::vector<Array> A = inspect::attention(model, all_of(data).images.value()).probs;
  const double unit = say.broken("in-patches") ? P : 1;
  Series digit_heads{"digits", {}, {}, Mark::dots},
      photo_heads{"drawn pictures", {}, {}, Mark::dots};
  double nearest = 1e9, farthest = 0;
  for (std::size_t k = 0; k < L * h; ++k) {
    const Tensor of_head = select(A[k / h], 1, std::ptrdiff_t(k % h));  // (32, T, T)
    double d = 0;
    for (int b = 0; b < 32; ++b) d += distance(select(of_head, 0, b)) / 32;
    digit_heads.x.push_back(double(k / h + 1)),
        digit_heads.y.push_back(std::round(10 * d / unit) / 10);
    nearest = std::min(nearest, d), farthest = std::max(farthest, d);
  }
  const TrainedModel colour = cifar_model();
  std::vector<Tensor> pictures;
  for (const Scene& scene : scenes()) pictures.push_back(normalised(scene.picture, colour.data));
  const inspect::Attention seen = inspect::attention(photos, concat(pictures, 0).value());
  const Array reach = inspect::heads(seen).distance;
  for (std::size_t i = 0; i < reach.size(); ++i) {
    photo_heads.x.push_back(double(i / reach.shape(1) + 1));
    photo_heads.y.push_back(std::round(10 * double(reach.data()[i])) / 10);
  }
  const auto depths = [](const Series& dots) {
    return Chart{.title = dots.name,
                 .x_label = "block",
                 .y_label = "pixels",
                 .series = {dots},
                 .whole_x = true};
  };
  say.figure({fmt::format("Mean distance of each head by depth, digits' model: a dot a head. Even "
                          "attention would reach {:.1f} pixels.",
                          all),
              depths(digit_heads)});
  const Array apart_there = inspect::patch_distances(photos.config);
  say.figure({fmt::format("The same of the photographs' model over four drawn pictures (lesson "
                          "#attention_maps shows them). Even attention would reach {:.1f} pixels.",
                          double(mean(Tensor(apart_there)).item())),
              depths(photo_heads)});
  say.text(
      "The blog post reads the paper's figure so: in low layers some heads look near and some far, "
      "in high layers all look far. A convolution of 3 x 3 can only look near. The photographs' "
      "model leans that way: over 256 real photographs the heads of its first two blocks reach "
      "13.0 to 16.4 "
      "pixels, those of its last two 15.8 to 17.3 (`docs/results/inside.md`). Truly short "
      "distances, "
      "as the paper's heads learned them from 14 million images and more, are not there.");
  say.holds("heads differ, and the nearest looks nearer than even attention",
            nearest < all && farthest - nearest > 0.5);

  say.heading("What goes wrong");
  say.sources_disagree("", "Distances in patches, where the paper's are in pixels: for one model "
                           "only another unit; between a /14 and a /16 it can change the order.");
  say.code("grid units");
  const double patches = rounded(in_patches(even), 4);
  say.differs("attention to all alike", {"in patches", patches}, {"in pixels", all}, 0.5);
  say.text("The class token is nowhere in the image. Its column must be left out and the rows "
           "brought back to 1, else who looks at it looks near.");

  say.pytorch("`model.patch_embed.proj.weight`, `model.pos_embed[0, 1:]` in timm; "
              "`torch.nn.functional.cosine_similarity` and `torch.pca_lowrank` do the rest.");
  say.take_along(
      "What would the picture look like for sine and cosine (lesson "
      "#class_and_positions), before any training?",
      "A band: places whose numbers in the row of tokens are near are alike, so a place is "
      "like its neighbours left and right, and the last of a row like the first of the "
      "next. It knows an order, but no columns.");
}

int main(int argc, char** argv) { return tell(about, {lesson, play}, argc, argv); }
