#pragma once

#include <cstddef>
#include <vector>

namespace vitruvian {

/// The eigenvalues of a real symmetric matrix, the largest first, and their eigenvectors.
struct SymmetricEigen {
  std::vector<double> values;   ///< n
  std::vector<double> vectors;  ///< n rows of n, orthonormal
};

/// Of `a`, n rows of n, of which the upper triangle is read. Throws where an entry is not finite.
SymmetricEigen symmetric_eigen(const std::vector<double>& a, std::size_t n);

}  // namespace vitruvian
