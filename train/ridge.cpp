#include "vitruvian/train/ridge.hpp"

#include "vitruvian/core/base/error.hpp"

#define EIGEN_DONT_VECTORIZE    // the same bits on every processor, and less for the compiler
#define EIGEN_DONT_PARALLELIZE  // and for every number of threads
#include <Eigen/Cholesky>

#include <cmath>

namespace vitruvian {

LinearMap ridge_regression(std::span<const double> x, std::span<const double> y, std::size_t n,
                           double ridge) {
  using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  if (!(ridge > 0 && std::isfinite(ridge))) {
    fail("ridge_regression: a ridge of {} is not above 0", ridge);
  }
  if (n == 0 || x.size() % n != 0 || y.size() % n != 0 || x.empty() || y.empty()) {
    fail("ridge_regression: {} and {} numbers are no {} rows", x.size(), y.size(), n);
  }
  const auto rows = static_cast<Eigen::Index>(n);
  const auto D = static_cast<Eigen::Index>(x.size() / n);
  const auto K = static_cast<Eigen::Index>(y.size() / n);
  Rows X = Eigen::Map<const Rows>(x.data(), rows, D);
  Rows Y = Eigen::Map<const Rows>(y.data(), rows, K);
  if (!X.allFinite()) fail(Exit::checkpoint, "the model's features are NaN or infinite");
  const Eigen::RowVectorXd x_mean = X.colwise().mean();
  const Eigen::RowVectorXd y_mean = Y.colwise().mean();
  X.rowwise() -= x_mean;
  Y.rowwise() -= y_mean;

  const double variance = X.squaredNorm() / static_cast<double>(x.size());
  // Features that are all the same say nothing: any lambda leaves W = 0.
  const double lambda = variance > 0 ? ridge * variance : 1;
  Rows W(D, K);
  if (D <= rows) {
    Eigen::MatrixXd A = X.transpose() * X;
    A.diagonal().array() += lambda;
    W = A.llt().solve(X.transpose() * Y);
  } else {
    Eigen::MatrixXd A = X * X.transpose();
    A.diagonal().array() += lambda;
    W = X.transpose() * A.llt().solve(Y);
  }
  const Eigen::RowVectorXd b = y_mean - x_mean * W;

  const Rows weight = W.transpose();
  return {{weight.data(), weight.data() + weight.size()}, {b.data(), b.data() + b.size()}};
}

}  // namespace vitruvian
