#pragma once

#include "lessons/experiments/exhibits.hpp"
#include "lessons/telling/source.hpp"
#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/datasets/formats/digits.hpp"
#include "vitruvian/nn/init.hpp"
#include "vitruvian/train/masked.hpp"
#include "vitruvian/train/teacher.hpp"
#include "vitruvian/vit/model.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

// What the lesson miniature runs: one net with switches, its variants, and what was recorded of
// them.

namespace vitruvian::lessons {
inline namespace VITRUVIAN_PRECISION {

/// What it learns from beside the labels: nothing, the colours of hidden patches before them, or
/// what a larger model says with them.
enum class Beside { nothing, colours, teacher };
enum class Places { none, learned_1d, learned_2d, sine_cosine, relative };
struct Variant {
  std::string name;
  Places positions = Places::learned_1d;
  std::size_t depth = 2, width = 48, patch = 7;
  bool mean = false;     ///< read the mean of all tokens, not the class token
  std::size_t stem = 0;  ///< convolutions before the patches: the paper's hybrid
  Beside beside = Beside::nothing;
  std::string teacher = {};  ///< the name of the variant
};
inline ViTConfig config(const Variant& v) {
  ViTConfig c;
  c.D = v.width;
  c.L = v.depth;
  c.P = v.patch;
  c.stem = v.stem;
  c.M = 2 * v.width;
  c.distilled = v.beside == Beside::teacher;
  return c;
}

// [region positions]
// 1-D: a vector for each token. 2-D: half a vector for each row of the grid
// and half for each column; the class token (here the first) has none.
inline Tensor two_dimensional(const Tensor& rows, const Tensor& columns, std::size_t g) {
  std::vector<std::size_t> row, column;
  for (std::size_t n = 0; n < g * g; ++n) row.push_back(n / g), column.push_back(n % g);
  const Tensor grid = concat({index_select(rows, 0, row), index_select(columns, 0, column)}, 1);
  return concat({Tensor(zeros({1, grid.shape()[1]})), grid}, 0);
}
// Sine and cosine of the token's number, not learned (Vaswani et al. 2017).
inline Tensor sines(std::size_t T, std::size_t width) {
  Array e = empty({T, width});
  for (std::size_t t = 0; t < T; ++t) {
    for (std::size_t i = 0; i < width; ++i) {
      const double angle = double(t) / std::pow(10000, double(i / 2 * 2) / double(width));
      e(t, i) = real(i % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  return e;
}
// Relative: nothing is added to tokens; each head adds r[dy, dx] to a score.
inline Tensor bias_of(const Tensor& r, std::size_t g) {
  const std::size_t T = g * g + 1, side = 2 * g - 1;
  std::vector<std::size_t> index(T * T, side * side);  // with the class token
  for (std::size_t i = 1; i < T; ++i) {
    for (std::size_t j = 1; j < T; ++j) {
      const std::size_t a = i - 1, b = j - 1;
      index[i * T + j] = (a / g + g - 1 - b / g) * side + (a % g + g - 1 - b % g);
    }
  }
  const auto t = static_cast<std::ptrdiff_t>(T);
  return reshape(index_select(r, 1, index), {1, -1, t, t});  // (1, h, T, T)
}

// [end]
/// The variant's model, of four heads, for images of 28 x 28 and ten classes.
struct Net {
  Variant v;
  VisionTransformer vit;  ///< its own positions are not used
  Parameter a, b;         ///< what the variant learns of positions

  Net(const Variant& variant, std::uint64_t seed);
  Tensor operator()(const Tensor& images) const;
  void visit(Visitor& see) const;
};

// [region net]
inline Net::Net(const Variant& variant, std::uint64_t seed)
    : v(variant), vit(config(variant), Rng(seed).fork("weights")) {
  const std::size_t g = 28 / v.patch, w = v.width, h = vit.config.h;
  if (v.positions == Places::learned_1d) a = Parameter(zeros({g * g + 1, w}));
  if (v.positions == Places::learned_2d) {
    a = Parameter(zeros({g, w / 2})), b = Parameter(zeros({g, w / 2}));
  }
  if (v.positions == Places::relative) {
    a = Parameter(zeros({h, (2 * g - 1) * (2 * g - 1) + 1}));
  }
  if (a) init::normal(a, Rng(seed).fork("a"), 0.02);
  if (b) init::normal(b, Rng(seed).fork("b"), 0.02);
}

inline Tensor Net::operator()(const Tensor& images) const {
  const std::size_t g = 28 / v.patch, n = images.shape()[0];
  Tensor z = concat({broadcast_to(vit.cls_token, {n, 1, v.width}), vit.patch_embed(images)}, 1);
  Tensor bias;
  if (v.positions == Places::learned_1d) z = z + a;
  if (v.positions == Places::learned_2d) z = z + two_dimensional(a, b, g);
  if (v.positions == Places::sine_cosine) z = z + sines(g * g + 1, v.width);
  if (v.positions == Places::relative) bias = bias_of(a, g);
  for (const Block& block : vit.blocks) {
    const Tensor qkv = block.attn.qkv(block.norm1(z));
    z = block.attn.proj(self_attention(qkv, vit.config.h, {.bias = bias})) + z;  // Eq. 2
    z = block.mlp(block.norm2(z)) + z;                                           // Eq. 3
  }
  return vit.head(v.mean ? mean(vit.norm(z), {1}) : vit.norm(select(z, 1, 0)));
}
// [end]

inline void Net::visit(Visitor& see) const {
  see.parameter("a", Role::position, a), see.parameter("b", Role::position, b);
  see.parameter("cls_token", Role::token, vit.cls_token);
  see.child("patch_embed", vit.patch_embed);
  for (std::size_t i = 0; i < vit.blocks.size(); ++i) see.child("blocks", i, vit.blocks[i]);
  see.child("norm", vit.norm), see.child("head", vit.head);
}

/// Those of the table, in its order: the first without positions, the second the base.
inline const std::vector<Variant>& variants() {
  constexpr std::size_t L = 2, D = 48, P = 7;
  static const std::vector<Variant> list = {
      {"no positions", Places::none},
      {"1-D (the base: D 48, L 2, P 7)"},
      {"2-D", Places::learned_2d},
      {"sine and cosine", Places::sine_cosine},
      {"relative", Places::relative},
      {"depth 1", Places::learned_1d, 1},
      {"depth 4", Places::learned_1d, 4},
      {"width 24", Places::learned_1d, L, 24},
      {"width 96", Places::learned_1d, L, 96},
      {"patches of 14", Places::learned_1d, L, D, 14},
      {"patches of 4", Places::learned_1d, L, D, 4},
      {"mean of all tokens", Places::learned_1d, L, D, P, true},
      {"hybrid: patches of 4 behind 2 convolutions", Places::learned_1d, L, D, 4, false, 2},
      {"hybrid: patches of 14 behind 1 convolution", Places::learned_1d, L, D, 14, false, 1},
      {"hidden patches' colours first", Places::learned_1d, L, D, P, false, 0, Beside::colours},
      {"taught by depth 4", Places::learned_1d, L, D, P, false, 0, Beside::teacher, "depth 4"},
      {"taught by patches of 14", Places::learned_1d, L, D, P, false, 0, Beside::teacher,
       "patches of 14"}};
  return list;
}

// [region colours before labels]
// The same 4000 digits without their labels first: half of the patches are
// hidden, and of each it says the mean colour. Then all of it learns on, with
// the labels and a head of zeros.
inline void learn_colours(const VisionTransformer& vit, const Dataset& train,
                          const FitOptions& how) {
  const MaskedViT masked(vit, train.mean, train.std, Rng(how.seed).fork("colours"));
  fit(learner_of(masked), train, how);
}
// [end]

// [region from a teacher]
// Or a larger model learns first, as many steps. Then half of the student's
// loss asks its class token for the labels, and half asks a second token for
// the class that the larger model gives the same images.
inline void learn_from(const Teacher& teacher, const VisionTransformer& vit, const Dataset& train,
                       const FitOptions& how) {
  fit(teacher.model, train, how);
  fit(learner_of(vit, teacher), train, how);
}
// [end]

/// The variant of this name.
inline const Variant& variant(const std::string& name) {
  const auto named = [&name](const Variant& v) { return v.name == name; };
  return *std::find_if(variants().begin(), variants().end(), named);
}

/// Where the library's own model, which is the same net, learns.
inline VisionTransformer vit_of(const Variant& v, std::uint64_t seed) {
  return {config(v), Rng(seed).fork("weights")};
}

/// Percent of 1000 unseen digits, after 600 steps of 32 out of 4000.
inline double percent(const Variant& v, std::uint64_t seed) {
  static const Dataset train = digits(4000, 1, "train"), test = digits(1000, 1, "test");
  const FitOptions how{.steps = 600, .batch_size = 32, .lr = 3e-3, .seed = seed};
  if (v.beside != Beside::nothing) {
    const VisionTransformer vit = vit_of(v, seed);
    if (v.beside == Beside::teacher) {
      const DataConfig images{train.name, train.mean, train.std, {}};
      learn_from({vit_of(variant(v.teacher), seed), train.mean, train.std, images, ""}, vit, train,
                 how);
    } else {
      learn_colours(vit, train, how);
      fit(vit, train, how);
    }
    return 100 * score(vit, Loader(test)).accuracy;
  }
  const Net net(v, seed);
  fit(net, train, how);
  return 100 * score(net, Loader(test)).accuracy;
}

/// Prints docs/results/miniature.md: every variant under three seeds, or those with `part` in their
/// names.
inline int record(std::string_view part = "") {
  console::print(
      "# The paper in miniature\n\nWhat `build/bin/lesson_miniature --record` printed. Percent "
      "of 1000 unseen built-in digits read after 600 steps\nof 32 images out of 4000 (AdamW, peak "
      "rate 3e-3, cosine), seeds 1, 2 and 3 for weights and order; the spread\nis the largest "
      "minus the smallest of the three. The digits are the same in all runs.\n\n| variant | "
      "parameters | seed 1 | seed 2 | seed 3 | mean | spread |\n|---|---|---|---|---|---|---|\n");
  for (const Variant& v : variants()) {
    if (v.name.find(part) == std::string::npos) continue;
    const double x[] = {percent(v, 1), percent(v, 2), percent(v, 3)};
    const std::size_t parameters =
        v.beside == Beside::nothing ? count_parameters(Net(v, 1)) : config(v).parameters();
    console::print("| {} | {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} |\n", v.name, parameters,
                   x[0], x[1], x[2], (x[0] + x[1] + x[2]) / 3,
                   std::max({x[0], x[1], x[2]}) - std::min({x[0], x[1], x[2]}));
    console::flush();
  }
  return 0;
}

/// The cells of its rows: name, parameters, seeds 1 to 3, mean, spread.
inline Rows recorded() {
  Rows rows;
  for (const std::string& line : source_lines("docs/results/miniature.md")) {
    if (!line.starts_with("| ") || line.starts_with("| variant")) continue;
    std::istringstream cells(line.substr(2));
    rows.emplace_back();
    for (std::string cell; std::getline(cells, cell, '|'); cells.ignore(1)) {
      cell.pop_back();  // the blank before the bar
      rows.back().push_back(cell);
    }
  }
  return rows;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian::lessons
