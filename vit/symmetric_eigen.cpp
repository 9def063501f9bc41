#include "vitruvian/vit/symmetric_eigen.hpp"

#include "vitruvian/core/base/error.hpp"

#define EIGEN_DONT_VECTORIZE  // the same bits on every processor, and less for the compiler
#include <Eigen/Eigenvalues>

namespace vitruvian {

SymmetricEigen symmetric_eigen(const std::vector<double>& a, std::size_t n) {
  // Eigen goes by columns and reads the lower triangle: our upper one.
  const auto order = static_cast<Eigen::Index>(n);
  const Eigen::Map<const Eigen::MatrixXd> matrix(a.data(), order, order);
  if (!matrix.allFinite()) fail("eigenvalues: the matrix has NaN or infinite entries");
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(matrix);
  if (solver.info() != Eigen::Success) fail("eigenvalues: no convergence");
  SymmetricEigen result;
  for (Eigen::Index i = order; i-- > 0;) {  // its smallest is the first
    const auto v = solver.eigenvectors().col(i);
    result.values.push_back(solver.eigenvalues()[i]);
    result.vectors.insert(result.vectors.end(), v.begin(), v.end());
  }
  return result;
}

}  // namespace vitruvian
