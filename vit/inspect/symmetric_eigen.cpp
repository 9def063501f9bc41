#include "vitruvian/vit/inspect/symmetric_eigen.hpp"

#include "vitruvian/core/base/error.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

double dot(const double* a, const double* b, std::size_t n) {
  return std::inner_product(a, a + n, b, 0.0);
}
// y += c x
void add_multiple(double* y, double c, const double* x, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) y[i] += c * x[i];
}

// A = Q T Q^T, T with `diagonal` and, below and above it, `beside` (entry i between i and i + 1).
struct Tridiagonal {
  std::vector<double> diagonal, beside;
  std::vector<double> rows;  // Q^T
};

// Reflections I - beta v v^T, one a column, each of which clears what lies below the subdiagonal.
Tridiagonal tridiagonal(std::vector<double> a, std::size_t n) {
  Tridiagonal t{std::vector<double>(n), std::vector<double>(n, 0), std::vector<double>(n * n, 0)};
  std::vector<double> betas(n, 0), v(n), w(n);
  for (std::size_t k = 0; k + 1 < n; ++k) {
    const std::size_t m = n - k - 1;  // what is left after row k
    double* const x = &a[k * n + k + 1];
    const double length = std::sqrt(dot(x, x, m));
    const double alpha = x[0] > 0 ? -length : length;
    t.beside[k] = alpha;
    if (length == 0) continue;
    x[0] -= alpha;  // row k now holds v
    const double beta = betas[k] = 2 / dot(x, x, m);
    // A <- A - v w^T - w v^T with p = beta A v, w = p - beta (p . v) / 2 v
    for (std::size_t i = 0; i < m; ++i) w[i] = beta * dot(&a[(k + 1 + i) * n + k + 1], x, m);
    add_multiple(w.data(), -beta * dot(w.data(), x, m) / 2, x, m);
    for (std::size_t i = 0; i < m; ++i) {
      double* const row = &a[(k + 1 + i) * n + k + 1];
      add_multiple(row, -x[i], w.data(), m);
      add_multiple(row, -w[i], x, m);
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    t.diagonal[i] = a[i * n + i];
    t.rows[i * n + i] = 1;
  }
  for (std::size_t k = n; k-- > 0;) {  // Q^T = ... H_1 H_0, from the last
    if (betas[k] == 0) continue;
    const std::size_t m = n - k - 1;
    const double* const x = &a[k * n + k + 1];
    for (std::size_t i = k + 1; i < n; ++i) {
      double* const row = &t.rows[i * n + k + 1];
      add_multiple(row, -betas[k] * dot(row, x, m), x, m);
    }
  }
  return t;
}

// One implicit QL step on rows l to m: rotations from the bottom up chase the bulge, and turn the
// vectors with them.
void ql_step(Tridiagonal& t, std::size_t l, std::size_t m, std::size_t n) {
  std::vector<double>& d = t.diagonal;
  std::vector<double>& e = t.beside;
  double g = (d[l + 1] - d[l]) / (2 * e[l]);
  double r = std::hypot(g, 1.0);
  g = d[m] - d[l] + e[l] / (g + std::copysign(r, g));  // d_m - shift
  double s = 1, c = 1, p = 0;
  for (std::size_t i = m; i-- > l;) {
    const double f = s * e[i];
    const double b = c * e[i];
    r = e[i + 1] = std::hypot(f, g);
    if (r == 0) {  // the matrix fell apart on the way
      d[i + 1] -= p;
      e[m] = 0;
      return;
    }
    s = f / r;
    c = g / r;
    g = d[i + 1] - p;
    r = (d[i] - g) * s + 2 * c * b;
    p = s * r;
    d[i + 1] = g + p;
    g = c * r - b;
    double* const upper = &t.rows[i * n];
    double* const lower = upper + n;
    for (std::size_t k = 0; k < n; ++k) {
      const double z = lower[k];
      lower[k] = s * upper[k] + c * z;
      upper[k] = c * upper[k] - s * z;
    }
  }
  d[l] -= p;
  e[l] = g;
  e[m] = 0;
}

}  // namespace

SymmetricEigen symmetric_eigen(std::vector<double> a, std::size_t n) {
  if (a.size() != n * n) fail("eigenvalues: {} numbers are not {} x {}", a.size(), n, n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) a[i * n + j] = a[j * n + i];
  }
  if (!std::all_of(a.begin(), a.end(), [](double x) { return std::isfinite(x); })) {
    fail("eigenvalues: the matrix has entries that are not finite");
  }
  Tridiagonal t = tridiagonal(std::move(a), n);
  // What is this small beside the whole matrix is rounding: compared with its own neighbours, the
  // noise of a null space would never be small.
  double negligible = 0;
  for (std::size_t i = 0; i < n; ++i) {
    negligible = std::max(negligible, std::abs(t.diagonal[i]) + std::abs(t.beside[i]));
  }
  negligible *= std::numeric_limits<double>::epsilon();
  for (std::size_t l = 0; l < n; ++l) {
    for (int step = 0;; ++step) {
      std::size_t m = l;  // the first place from l where the matrix falls apart
      while (m + 1 < n && std::abs(t.beside[m]) > negligible) ++m;
      if (m == l) break;
      if (step == 60) fail("eigenvalues: no convergence");
      ql_step(t, l, m, n);
    }
  }
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t i, std::size_t j) { return t.diagonal[i] > t.diagonal[j]; });
  SymmetricEigen result;
  for (const std::size_t i : order) {
    result.values.push_back(t.diagonal[i]);
    result.vectors.insert(result.vectors.end(), &t.rows[i * n], &t.rows[i * n] + n);
  }
  return result;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
