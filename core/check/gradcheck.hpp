#pragma once

#include "vitruvian/core/tensor.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

// Derivatives against numbers. Meant for float64; in float32 only the coarsest mistakes show.

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

/// How a gradient is checked: the whole Jacobian, or, of more than 20,000 (output x input)
/// elements, the gradient of sum(y * c) for one random cotangent c.
struct GradcheckOptions {
  /// The readable form: (f(x + h) - f(x - h)) / 2h at h = 6e-6, relative error at most 1e-6.
  /// The strict form: the better of the four-point stencil at 1e-3 and at 1e-4, at most 1e-8.
  bool strict = false;
  /// How many entries of each input are perturbed, drawn at random; 0 means all.
  std::size_t entries = 0;
  std::uint64_t seed = 1;
};

/// What was found. `error` is |a - n| / max(|a|, |n|, 1e-3 max|g|), the largest of all entries, and
/// the other fields tell where; max|g| is over all derivatives in that input. Where none of them
/// reaches 1e-6, the gradient is zero but for rounding and `error` is |a - n| / 1e-3. `problem` is
/// set when something was thrown.
struct GradcheckReport {
  bool passed = false;
  std::size_t checked = 0;  ///< entries compared; 0, and passed, where no input has an element
  double error = 0;
  std::size_t input = 0;
  std::size_t index = 0;
  double analytic = 0;
  double numeric = 0;
  std::string problem;
};

using Function = std::function<Tensor(const std::vector<Tensor>&)>;

/// Compares the tape's derivative of `f` at `inputs` with differences.
GradcheckReport gradcheck(const Function& f, const std::vector<Array>& inputs,
                          const GradcheckOptions& options = {});

/// The same for what `f` computes from leaves that it knows, such as the parameters of a model: the
/// leaves are moved in place, and put back.
GradcheckReport gradcheck(const std::function<Tensor()>& f, const std::vector<Tensor>& leaves,
                          const GradcheckOptions& options = {});

/// One row of the table: an op at one shape.
struct GradcheckCase {
  std::string op;     ///< the name that `record` was given
  std::string label;  ///< the shapes and attributes: "(2, 1, 3) + (4, 1)"
  std::vector<Array> inputs;
  Function f;
};

/// The table: every op on at least eight shapes. Adding an op means adding its rows here.
std::vector<GradcheckCase> gradcheck_cases();

/// Arrays for the table: normal entries; in [low, high]; at least `gap` apart from each other (for
/// maxima) and from zero (for kinks).
Array random_normal(const Shape& shape, std::uint64_t seed);
Array random_uniform(const Shape& shape, double low, double high, std::uint64_t seed);
Array random_distinct(const Shape& shape, double gap, std::uint64_t seed);

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
