#pragma once

#include "vitruvian/core/base/real.hpp"

#include <cstddef>
#include <vector>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

/// The eigenvalues of a real symmetric matrix, the largest first, and their eigenvectors.
struct SymmetricEigen {
  std::vector<double> values;   ///< n
  std::vector<double> vectors;  ///< n rows of n, orthonormal
};

/// Of `a`, n rows of n, of which the upper triangle is read: Householder's reduction to a
/// tridiagonal matrix, then QL steps with Wilkinson's shift (Golub and Van Loan, "Matrix
/// Computations", sections 8.3.1 and 8.3.5). About 5 n^3 operations: a second for n = 768. Throws
/// where an entry is not finite.
SymmetricEigen symmetric_eigen(std::vector<double> a, std::size_t n);

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
