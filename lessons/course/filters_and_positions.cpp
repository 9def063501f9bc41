#include "lessons/experiments/exhibits.hpp"
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
};

constexpr std::size_t D = 64, P = 7, N = 16, T = 17, L = 4, h = 4, g = 4;

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

// [region grid units]
// In patches, not in pixels: two models with other P cannot be compared.
double in_patches(const Tensor& A) { return distance(A) / P; }

void lesson(Narrator& say) {
  say.heading("What we want to know");
  say.text("The paper opens a trained model at three places (Figure 7): what does the first layer "
           "look for, does the model know where its patches are, how far does attention reach?");
  say.symbols({{"D", D}, {"P", P}, {"N", N}, {"T", T}, {"L", L}, {"h", h}});
  const VisionTransformer model = digits_model();

  say.heading("Filters");
  say.text(
      "A row of E, laid out as the patch it is multiplied with, is a filter. The principal "
      "components of the D filters are the few patterns that all are mixed from: the directions in "
      "which the filters differ most, eigenvectors of their covariance (P², P²), the largest "
      "eigenvalue first (`inspect::principal_components`).");
  shapes(say, "E (D, P^2)", reshape(model.patch_embed.weight, {std::ptrdiff_t(D), -1}));
  const auto found = inspect::principal_components(inspect::filters(model), 3);
  const Tensor directions = reshape(found.components, {3, P * P});
  for (std::size_t k = 0; k < 3; ++k) {
    const Array v = select(directions, 0, std::ptrdiff_t(k)).value();
    Matrix pixels{P, P, {v.begin(), v.end()}};
    if (v(P * P / 2) < 0) {  // its sign means nothing
      for (double& x : pixels.values) x = -x;
    }
    const double share = found.variances[k] / found.total;
    say.figure(
        {fmt::format("A component: {:.0f} % of the filters' variance.", 100 * share), pixels});
  }
  check_equal(say, "each with each: of length 1, and at right angles", "products",
              matmul(directions, transpose(directions)), "identity", identity(3), 1e-6);
  say.holds("they come in order", std::is_sorted(found.variances.rbegin(), found.variances.rend()));
  const Array known =
      array({6, 3, 1, 1}, {3, 0, 0, -3, 0, 0, 0, 2, 0, 0, -2, 0, 0, 0, 1, 0, 0, -1});
  say.check("largest variance of (±3, 0, 0), (0, ±2, 0), (0, 0, ±1)",
            {"measured", inspect::principal_components(known).variances[0]}, {"3² 2 / 6", 3}, 1e-9);
  const VisionTransformer fresh(model.config, Rng(say.seed()).fork("weights"));
  const auto shares = [](const VisionTransformer& m) {
    const auto three = inspect::principal_components(inspect::filters(m), 3);
    const double together = std::reduce(three.variances.begin(), three.variances.end());
    return fmt::format("{:.0f} %", 100 * together / three.total);
  };
  say.table({"filters", "variance in three components"},
            {{"trained", shares(model)}, {"as drawn at the start", shares(fresh)}});
  say.text("After millions of photos the paper finds colours, gratings and edges, as in a CNN, and "
           "a few components hold nearly everything. After a minute of digits ours have hardly "
           "begun to agree.");

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
  say.check("1 + all others", {"measured", 1 + of_known.rest}, {"1 + 0", 1}, 1e-6);
  say.figure(
      likeness_grids("Each of the 4 x 4 places: its likeness to all 4 x 4 places.", positions));
  const auto ours = inspect::lines(inspect::position_similarity(positions, g));
  const auto tenth = [](double x) { return fmt::format("{:.1f}", std::round(10 * x) / 10 + 0.0); };
  const double size = std::sqrt(double(mean(square(positions)).item()));
  say.table({"positions of the trained model", ""},
            {{"likeness in the same row or column", tenth(ours.line)},
             {"likeness to all others", tenth(ours.rest)},
             {"size of an entry, drawn with 0.02", fmt::format("{:.2f}", size)}});
  say.holds("they have grown", size > 0.03);
  say.text("They are more than ten times as large as they were drawn, but show no rows or columns. "
           "The paper's do, on 14 x 14, where one patch further is nearly the same place. Here "
           "each place means something of its own, and it is enough that they differ (lesson "
           "#miniature).");

  say.heading("How far attention reaches");
  say.equation(R"(d = \frac{1}{N} \sum_i \sum_j A_{ij}\, \lVert c_i - c_j \rVert)",
               "d = (1/N) Σᵢ Σⱼ A[i, j] |cᵢ − cⱼ|");
  say.in_words("the distance to what a patch looks at, in pixels, weighted by how much it looks.");
  say.code("distance");
  const Array even = full({T, T}, real(1.0 / T));
  double all = 0;
  for (std::size_t i = 0; i < N * N; ++i) all += apart(i / N, i % N) / (N * N);
  const double reached = say.broken("in-patches") ? in_patches(even) : distance(even);
  say.check("attention to all alike", {"measured", rounded(reached, 5)}, {"all pairs", all}, 1e-4);
  say.check("attention to itself: 1 + d", {"measured", 1 + distance(identity(T))}, {"1 + 0", 1}, 0);
  const double corners = 7 * std::sqrt(18.0);
  say.check("corner to corner", {"measured", apart(0, N - 1)}, {"7 √18", corners}, 1e-9);
  const Dataset data = digits(32, 1, "test");
  const std::vector<Array> A = inspect::attention(model, all_of(data).images.value()).probs;
  std::vector<std::pair<std::string, double>> heads;
  double nearest = 1e9, farthest = 0;
  for (std::size_t k = 0; k < L * h; ++k) {
    const Tensor of_head = select(A[k / h], 1, std::ptrdiff_t(k % h));  // (32, T, T)
    double d = 0;
    for (int b = 0; b < 32; ++b) d += distance(select(of_head, 0, b)) / 32;
    heads.emplace_back(fmt::format("block {}, head {}", k / h, k % h), rounded(d, 2));
    nearest = std::min(nearest, d), farthest = std::max(farthest, d);
  }
  say.bars("Mean distance of each head, in pixels.", heads);
  say.text(
      "Evenly spread attention would reach {:.1f} pixels. Source S4 reads the paper's figure so: "
      "in low layers some heads look near and some far, in high layers all look far. A convolution "
      "of 3 x 3 can only look near. With 16 patches there is little room for either.",
      all);
  say.holds("heads differ, and the nearest looks nearer than even attention",
            nearest < all && farthest - nearest > 0.5);

  say.heading("What goes wrong");
  say.sources_disagree("", "Distances in patches, where the paper's are in pixels: for one model "
                           "only another unit; between a /14 and a /16 it changes the order.");
  say.code("grid units");
  const double patches = rounded(in_patches(even), 4);
  say.differs("attention to all alike", {"in patches", patches}, {"in pixels", all}, 0.5);
  say.text("The class token is nowhere in the image. Its column must be left out and the rows "
           "brought back to 1, else who looks at it looks near.");

  say.pytorch("`model.patch_embed.proj.weight`, `model.pos_embed[0, 1:]` in timm; "
              "`torch.nn.functional.cosine_similarity` and `torch.pca_lowrank` do the rest.");
  say.take_along("What would the picture look like for sine and cosine (lesson "
                 "#class_and_positions), before any training?");
}

int main(int argc, char** argv) { return tell(about, lesson, argc, argv); }
