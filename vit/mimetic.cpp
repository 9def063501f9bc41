#include "vitruvian/vit/mimetic.hpp"

#include "vitruvian/core/base/parallel.hpp"
#include "vitruvian/core/guards.hpp"
#include "vitruvian/vit/symmetric_eigen.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

// a Z + b I, n rows of n.
std::vector<double> near_identity(double a, double b, std::size_t n, const Rng& rng) {
  std::vector<double> x(n * n);
  const double std = 1 / std::sqrt(static_cast<double>(n));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = a * std * rng.normal(i);
  for (std::size_t i = 0; i < n; ++i) x[i * n + i] += b;
  return x;
}

// The first k rows of S^(1/2) U^T, to `left`, and of S^(1/2) V^T, to `right`, where x = U S V^T: by
// the eigenvectors V of x^T x, whose eigenvalues are S^2, and x V = U S.
void split(const std::vector<double>& x, std::size_t n, std::size_t k, real* left, real* right) {
  std::vector<double> gram(n * n);
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = i; j < n; ++j) gram[i * n + j] += x[r * n + i] * x[r * n + j];
    }
  }
  const SymmetricEigen eigen = symmetric_eigen(gram, n);
  for (std::size_t i = 0; i < k; ++i) {
    const double root = std::sqrt(std::sqrt(std::max(eigen.values[i], 0.0)));
    const double* const v = &eigen.vectors[i * n];
    for (std::size_t r = 0; r < n; ++r) {
      double sum = 0;  // of U S
      for (std::size_t j = 0; j < n; ++j) sum += x[r * n + j] * v[j];
      left[i * n + r] = static_cast<real>(root > 0 ? sum / root : 0);
      right[i * n + r] = static_cast<real>(root * v[r]);
    }
  }
}

}  // namespace

void mimetic_attention(const MultiHeadSelfAttention& attention, const Rng& rng) {
  const std::size_t D = attention.proj.in(), h = attention.heads, D_h = D / h;
  std::vector<real> q(3 * D * D), proj(D * D);  // U^T of q, k and v; U_msa
  real* const k = &q[D * D];
  real* const v = k + D * D;
  parallel_for(h + 1, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (i < h) {
        split(near_identity(0.7, 0.7, D, rng.fork("qk", {i})), D, D_h, &q[i * D_h * D],
              k + i * D_h * D);
      } else {
        split(near_identity(0.4, -0.4, D, rng.fork("v proj")), D, D, v, proj.data());
      }
    }
  });
  const Tensor U_msa = attention.proj.weight;
  const WriteGuard out = U_msa.mutable_value();
  for (std::size_t i = 0; i < D; ++i) {
    for (std::size_t j = 0; j < D; ++j) (*out)(j, i) = proj[i * D + j];
  }
  // One matrix of q, k and v of all heads, or for each head one of its own.
  const auto fill = [&](const Linear& linear, std::size_t first, std::size_t rows) {
    const Tensor weight = linear.weight;
    const WriteGuard to = weight.mutable_value();
    for (std::size_t part = 0; part < 3; ++part) {
      std::copy_n(&q[(part * D + first) * D], rows * D, to->data() + part * rows * D);
    }
  };
  if (attention.head_qkv.empty()) return fill(attention.qkv, 0, D);
  for (std::size_t i = 0; i < h; ++i) fill(attention.head_qkv[i], i * D_h, D_h);
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
