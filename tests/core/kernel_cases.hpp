#pragma once

#include "tests/expect.hpp"
#include "vitruvian/core/kernels/gemm.hpp"
#include "vitruvian/core/kernels/kernels.hpp"

#include <random>

// What the tests of the kernels share: every instruction set, awkward sizes, and numbers wide
// enough to judge by.

namespace kernel_cases {

using Wide = long double;
using Row = std::vector<Wide>;

/// Runs `body` with the kernels of each instruction set that this machine has.
template <class Body>
void for_each_isa(const Body& body) {
  using vitruvian::kernels::Isa;
  const Isa before = vitruvian::kernels::isa();
  for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512}) {
    if (!vitruvian::kernels::isa_available(isa)) continue;
    vitruvian::kernels::set_isa(isa);
    CAPTURE(vitruvian::kernels::simd_description());
    body();
  }
  vitruvian::kernels::set_isa(before);
}

template <class T>
inline constexpr T nan_of = std::numeric_limits<T>::quiet_NaN();
template <class T>
inline constexpr T inf_of = std::numeric_limits<T>::infinity();

template <class T>
std::vector<T> random(std::size_t n, unsigned seed, double scale = 1) {
  std::mt19937 bits(seed);
  std::normal_distribution<double> normal;
  std::vector<T> x(n);
  for (T& v : x) v = static_cast<T>(scale * normal(bits));
  return x;
}

template <class T>
Row row(const std::vector<T>& x, std::size_t r, std::size_t n) {
  return Row(x.begin() + static_cast<std::ptrdiff_t>(r * n),
             x.begin() + static_cast<std::ptrdiff_t>((r + 1) * n));
}

// |got - want| in units of eps max(|want|, scale).
template <class T>
double error(T got, Wide want, Wide scale = 1) {
  if (static_cast<Wide>(got) == want) return 0;
  const Wide unit = std::numeric_limits<T>::epsilon() * std::max(std::abs(want), scale);
  return static_cast<double>(std::abs(got - want) / unit);
}

template <class T>
double worst(const std::vector<T>& got, std::size_t r, const Row& want, Wide scale = 1) {
  double most = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double e = error(got[r * want.size() + i], want[i], scale);
    if (!(e <= most)) most = e;
  }
  return most;
}

/// C = alpha A B + beta C, its matrices in the middle of larger ones: rows lie `gap` further apart
/// than they are long.
template <class T>
struct Product {
  std::size_t m, n, k;
  bool trans_a = false, trans_b = false;
  T alpha = 1, beta = 0;
  std::size_t gap = 0;
  std::size_t lda = (trans_a ? m : k) + gap, ldb = (trans_b ? k : n) + gap, ldc = n + gap;
  unsigned seed = static_cast<unsigned>(m * 31 + n * 7 + k);
  std::vector<T> a = random<T>((trans_a ? k : m) * lda, seed);
  std::vector<T> b = random<T>((trans_b ? n : k) * ldb, seed + 1);
  std::vector<T> c = random<T>(m * ldc, seed + 2);

  /// One of four: every transpose, some scales, a gap in all but the first.
  static Product of_variant(std::size_t m, std::size_t n, std::size_t k, int variant,
                            std::size_t gap) {
    const T beta = variant == 2 ? 1 : variant == 3 ? T(0.25) : 0;
    return {m, n, k, (variant & 1) != 0, (variant & 2) != 0, variant == 1 ? T(-0.5) : 1, beta, gap};
  }
  [[nodiscard]] T a_at(std::size_t i, std::size_t p) const {
    return a[trans_a ? p * lda + i : i * lda + p];
  }
  [[nodiscard]] T b_at(std::size_t p, std::size_t j) const {
    return b[trans_b ? j * ldb + p : p * ldb + j];
  }
  [[nodiscard]] vitruvian::kernels::Gemm<T> into(std::vector<T>& result) const {
    return {m,   n,     k,   a.data(), lda, trans_a, b.data(), ldb, trans_b, result.data(),
            ldc, alpha, beta};
  }
};

template <class T>
bool same_bits(const std::vector<T>& x, const std::vector<T>& y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0;
}

/// Who multiplies, until it goes.
class Backend {
 public:
  explicit Backend(vitruvian::kernels::GemmBackend backend) { set_gemm_backend(backend); }
  ~Backend() { set_gemm_backend(before_); }
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

 private:
  vitruvian::kernels::GemmBackend before_ = vitruvian::kernels::gemm_backend();
};

inline Wide sum(const Row& x, const std::function<Wide(std::size_t)>& term) {
  Wide s = 0;
  for (std::size_t i = 0; i < x.size(); ++i) s += term(i);
  return s;
}

template <class Body>
void over_sizes(const Body& body) {
  for_each_isa([&] {
    for (const std::size_t n : {1, 2, 3, 7, 16, 17, 33, 65, 100, 193}) {
      CAPTURE(n);
      body(n);
    }
  });
}

}  // namespace kernel_cases
