#pragma once

#include "lessons/experiments/exhibits.hpp"
#include "vitruvian/vit/model.hpp"

#include <string>
#include <vector>

// Lesson 28's experiment: one net with switches, its variants, and what was
// recorded of them.

namespace vitruvian::lessons {
inline namespace VITRUVIAN_PRECISION {

enum class Places { none, learned_1d, learned_2d, sine_cosine, relative };
struct Variant {
  std::string name;
  Places positions = Places::learned_1d;
  std::size_t depth = 2, width = 48, patch = 7;
  bool mean = false;  ///< read the mean of all tokens, not the class token
};
/// Those of the table, in its order: the first without positions, the second
/// the base.
const std::vector<Variant>& variants();

/// Half a vector for each row of the grid (g, width / 2), half for each column:
/// (g g + 1, width).
Tensor two_dimensional(const Tensor& rows, const Tensor& columns, std::size_t g);
/// Sine and cosine of the token's number: (T, width).
Tensor sines(std::size_t T, std::size_t width);

/// The variant's model, of four heads, for images of 28 x 28 and ten classes.
struct Net {
  Variant v;
  VisionTransformer vit;  ///< its own positions are not used
  Parameter a, b;         ///< what the variant learns of positions

  Net(const Variant& variant, std::uint64_t seed);
  Tensor operator()(const Tensor& images) const;
  void visit(Visitor& see) const;
};

/// Percent of 1000 unseen digits, after 600 steps of 32 out of 4000.
double percent(const Variant& v, std::uint64_t seed);
/// Prints docs/results/miniature.md: every variant under three seeds.
int record();
/// The cells of its rows: name, parameters, seeds 1 to 3, mean, spread.
std::vector<std::vector<std::string>> recorded();

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian::lessons
