#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace vitruvian {

/// y = W x + b.
struct LinearMap {
  std::vector<double> weight;  ///< W (K, D)
  std::vector<double> bias;    ///< b (K)
};

/// Ridge regression, in closed form and in double: the W and b that make
///   sum_i |W x_i + b - y_i|^2 + lambda |W|^2
/// least, of rows x_i (n, D) and y_i (n, K). b is not held back, so that it takes both means away;
/// then, with centred X and Y,
///   W^T = (X^T X + lambda I)^-1 X^T Y = X^T (X X^T + lambda I)^-1 Y,
/// of which the smaller system is solved, by the eigenvectors of its matrix. lambda is `ridge`
/// times the mean variance of the D features, as if each had been scaled to 1: a value means the
/// same for every model. Throws where ridge is not above 0, there is no row, and (Exit::checkpoint)
/// where a feature is not finite.
LinearMap ridge_regression(std::span<const double> x, std::span<const double> y, std::size_t n,
                           double ridge);

}  // namespace vitruvian
