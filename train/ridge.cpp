#include "vitruvian/train/ridge.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/kernels/gemm.hpp"
#include "vitruvian/vit/symmetric_eigen.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace vitruvian {
namespace {

// Rows that follow each other: (rows, columns).
struct Matrix {
  std::size_t rows = 0, columns = 0;
  std::vector<double> entries = std::vector<double>(rows * columns, 0.0);

  [[nodiscard]] std::span<double> row(std::size_t i) {
    return std::span(entries).subspan(i * columns, columns);
  }
};

// A B, or A^T B, or A B^T.
Matrix product(const Matrix& A, const Matrix& B, bool trans_a = false, bool trans_b = false) {
  Matrix C{trans_a ? A.columns : A.rows, trans_b ? B.rows : B.columns};
  kernels::gemm<double>({.m = C.rows,
                         .n = C.columns,
                         .k = trans_a ? A.rows : A.columns,
                         .a = A.entries.data(),
                         .lda = A.columns,
                         .trans_a = trans_a,
                         .b = B.entries.data(),
                         .ldb = B.columns,
                         .trans_b = trans_b,
                         .c = C.entries.data(),
                         .ldc = C.columns});
  return C;
}

// Takes the mean row from every row, and returns it.
Matrix centre(Matrix& X) {
  Matrix mean = product({1, X.rows, std::vector<double>(X.rows, 1.0)}, X);
  for (double& one : mean.entries) one /= static_cast<double>(X.rows);
  for (std::size_t i = 0; i < X.rows; ++i) {
    const std::span<double> x = X.row(i);
    for (std::size_t j = 0; j < X.columns; ++j) x[j] -= mean.entries[j];
  }
  return mean;
}

}  // namespace

LinearMap ridge_regression(std::span<const double> x, std::span<const double> y, std::size_t n,
                           double ridge) {
  if (!(ridge > 0 && std::isfinite(ridge))) {
    fail("ridge_regression: a ridge of {} is not above 0", ridge);
  }
  if (n == 0 || x.size() % n != 0 || y.size() % n != 0 || x.empty() || y.empty()) {
    fail("ridge_regression: {} and {} numbers are no {} rows", x.size(), y.size(), n);
  }
  if (!std::all_of(x.begin(), x.end(), [](double one) { return std::isfinite(one); })) {
    fail(Exit::checkpoint, "the model's features are NaN or infinite");
  }
  Matrix X{n, x.size() / n, {x.begin(), x.end()}};
  Matrix Y{n, y.size() / n, {y.begin(), y.end()}};
  const Matrix x_mean = centre(X);
  const Matrix y_mean = centre(Y);

  double variance = 0;
  for (const double one : X.entries) variance += one * one / static_cast<double>(x.size());
  // Features that are all the same say nothing: any lambda leaves W = 0.
  const double lambda = variance > 0 ? ridge * variance : 1;

  // A = Q^T diag(v) Q, so that (A + lambda I)^-1 B = Q^T diag(1 / (v + lambda)) Q B.
  const bool by_features = X.columns <= n;
  const Matrix A = by_features ? product(X, X, true) : product(X, X, false, true);
  SymmetricEigen eigen = symmetric_eigen(A.entries, A.rows);
  const Matrix Q{A.rows, A.rows, std::move(eigen.vectors)};
  Matrix QB = product(Q, by_features ? product(X, Y, true) : Y);
  for (std::size_t i = 0; i < QB.rows; ++i) {
    const double v = std::max(eigen.values[i], 0.0);  // none is negative but by rounding
    for (double& one : QB.row(i)) one /= v + lambda;
  }
  // W (K, D), and b = y_mean - x_mean W^T
  const Matrix W = product(QB, by_features ? Q : product(Q, X), true);
  const Matrix at_mean = product(x_mean, W, false, true);
  std::vector<double> b;
  for (std::size_t k = 0; k < Y.columns; ++k) b.push_back(y_mean.entries[k] - at_mean.entries[k]);
  return {W.entries, b};
}

}  // namespace vitruvian
