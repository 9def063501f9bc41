// The face of the matrix product: cuts it into blocks and gives each to the back end.
#include "vitruvian/core/kernels/gemm.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/parallel.hpp"
#include "vitruvian/core/kernels/faster.hpp"
#include "vitruvian/core/kernels/kept_panels.hpp"
#include "vitruvian/core/kernels/table.hpp"
#include "vitruvian/core/kernels/workspace.hpp"
#include "vitruvian/core/profile.hpp"

#if __has_include(<sys/resource.h>)
#include <sys/resource.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <type_traits>

namespace vitruvian::kernels {
namespace {

struct ForPacking;
struct ForLanes;
struct ForTranspose;

// oneDNN ends the process where it gets no memory for the code that it writes and for its threads:
// under a narrow limit (ulimit -v) it is not asked.
bool has_room() {
#if __has_include(<sys/resource.h>)
  constexpr ::rlim_t enough = 1U << 30U;
  ::rlimit limit = {};
  return ::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
         limit.rlim_cur >= enough;
#else
  return true;
#endif
}

GemmBackend wanted_backend() {
  const char* set = std::getenv("VITRUVIAN_GEMM");
  if (!set || !*set) return GemmBackend::fastest;
  const GemmBackend backend = gemm_backend_named(set);
  if (!gemm_backend_available(backend)) {
    fail(Exit::usage, "VITRUVIAN_GEMM: this build has no {}", set);
  }
  return backend;
}

std::atomic<GemmBackend>& current_backend() {
  static std::atomic<GemmBackend> backend = wanted_backend();
  return backend;
}

std::atomic<GemmPrecision> current_precision = GemmPrecision::float32;

template <class T>
void scale(const Gemm<T>& g) {
  for (std::size_t i = 0; i < g.m; ++i) {
    T* row = g.c + i * g.ldc;
    for (std::size_t j = 0; j < g.n; ++j) row[j] = g.beta == T{0} ? T{0} : g.beta * row[j];
  }
}

// oneDNN copies A whole before it multiplies: with so few columns the copy is a good part of the
// work, and our own product, which then copies nothing of A, is faster.
constexpr std::size_t narrow = 64;

// By a transposed B, a weight in a forward pass, oneDNN is a tenth to a quarter slower than by the
// same numbers row by row. With so many rows of A it pays to transpose B first, as long as the copy
// stays in the cache.
constexpr std::size_t many_rows = 256;
constexpr std::size_t in_cache = 128 * 1024;

Gemm<float> with_rows_of_b(Gemm<float> g) {
  if (!g.trans_b || g.m < many_rows || g.n * g.k > in_cache) return g;
  float* const rows = workspace<float, ForTranspose>(g.n * g.k);
  table<float>().transpose(g.b, g.ldb, g.n, g.k, rows, g.n);
  g.b = rows;
  g.ldb = g.n;
  g.trans_b = false;
  return g;
}

template <class T>
void by_packed(const Gemm<T>& g) {
  if (g.kept == nullptr) return packed_product(g);
  const Table<T>& bodies = table<T>();
  g.kept->multiply(g, &bodies, bodies.panels(g.n, g.k) * sizeof(T), packed_product<T>);
}

void by_onednn(const Gemm<float>& g) {
  if (g.n < narrow) return by_packed(g);
  onednn_product(with_rows_of_b(g));
}

void round_and_multiply(const Gemm<float>& g) { bfloat16_product(g); }

void by_bfloat16(const Gemm<float>& g) {
  const std::size_t words = g.kept == nullptr ? 0 : bfloat16_panels(g.n, g.k);
  if (words == 0) return round_and_multiply(g);
  static const char format = 0;
  g.kept->multiply(g, &format, words * sizeof(std::uint32_t), round_and_multiply);
}

// Below, a look at what is known would cost more than it brings.
constexpr std::uint64_t worth_measuring = 250'000;

bool library_is_asked() {
  static const bool asked = has_onednn() && has_room();
  return asked;
}

void by_fastest(const Gemm<float>& g) {
  if (!library_is_asked()) return by_packed(g);
  static FasterProduct faster(by_onednn, by_packed);
  const bool large = g.n >= narrow && std::uint64_t{g.m} * g.n * g.k >= worth_measuring;
  (large ? faster(g) : by_onednn)(g);
}

// The matrix unit has bits of its own, so the clock is not asked, and the answer depends neither on
// how a product is cut nor on the rows of A: so an image has the same bits alone and among others,
// as long as its sums are not cut (below). In smaller ones the unit's tiles are not filled.
constexpr std::size_t fills_tiles = 32;

template <class T>
using Body = void (*)(const Gemm<T>&);

// Who multiplies the blocks of g.
template <class T>
Body<T> body_of(const Gemm<T>& g) {
  const GemmBackend backend = gemm_backend();
  if constexpr (std::is_same_v<T, float>) {
    if (gemm_precision() == GemmPrecision::bfloat16) return by_bfloat16;
    if (backend == GemmBackend::fastest && matrix_unit_available()) {
      return g.n >= fills_tiles && g.k >= fills_tiles ? matrix_unit_product : by_packed<float>;
    }
    if (backend == GemmBackend::onednn) return by_onednn;
    if (backend == GemmBackend::fastest) return by_fastest;
  }
  return backend == GemmBackend::cblas ? static_cast<Body<T>>(cblas_product) : by_packed<T>;
}

// One block on this thread.
template <class T>
void multiply(const Gemm<T>& g, Body<T> body) {
  if (g.m == 0 || g.n == 0) return;
  if (g.k == 0) return scale(g);
  body(g);
}

// Rows [i, i + m) and columns [j, j + n) of the product, over steps [p, p + k) of the sum.
template <class T>
Gemm<T> block(Gemm<T> g, std::size_t i, std::size_t m, std::size_t j, std::size_t n, std::size_t p,
              std::size_t k) {
  g.a += g.trans_a ? p * g.lda + i : i * g.lda + p;
  g.b += g.trans_b ? j * g.ldb + p : p * g.ldb + j;
  g.c += i * g.ldc + j;
  g.m = m;
  g.n = n;
  g.k = k;
  return g;
}

// How a product is cut: rows x columns of C a block and steps of k a lane.
struct Cut {
  std::size_t rows, columns, steps;
};

// Multiplications that are not worth a second thread; in 64 bits, as not every std::size_t has.
constexpr std::uint64_t small = 1'000'000;

std::size_t parts(std::size_t n, std::size_t size) { return (n + size - 1) / size; }

// n in about `wanted_parts` equal parts, each a multiple of 16.
std::size_t even(std::size_t n, std::size_t wanted_parts) {
  return std::max<std::size_t>(16, parts(parts(n, wanted_parts), 16) * 16);
}

Cut cut(std::size_t m, std::size_t n, std::size_t k) {
  if (std::uint64_t{m} * n * k <= small) return {m, n, k};
  std::size_t down = parts(m, 512);
  std::size_t across = parts(n, 512);
  if (down * across < 4 && k >= 1024) {
    return {even(m, down), even(n, across), even(k, std::min<std::size_t>(8, parts(k, 512)))};
  }
  // Where blocks are few, a multiple of four: two or four threads have the same to do.
  std::size_t& longer = m > n ? down : across;
  while (down * across < 16 && down * across % 4 != 0) ++longer;
  return {even(m, down), even(n, across), k};
}

// C += the lanes, one after the other.
template <class T>
void add_lanes(const Gemm<T>& g, const T* lanes, std::size_t count) {
  parallel_for(g.m, std::max<std::size_t>(1, 32768 / g.n), [&](std::size_t begin, std::size_t end) {
    for (std::size_t l = 0; l < count; ++l) {
      for (std::size_t i = begin; i < end; ++i) {
        T* row = g.c + i * g.ldc;
        const T* lane = lanes + (l * g.m + i) * g.n;
        for (std::size_t j = 0; j < g.n; ++j) row[j] += lane[j];
      }
    }
  });
}

}  // namespace

template <class T>
void packed_product(const Gemm<T>& g) {
  const Table<T>& bodies = table<T>();
  bodies.product(g, workspace<T, ForPacking>(bodies.product_workspace));
}

template <class T>
void gemm(const Gemm<T>& g) {
  if (g.m == 0 || g.n == 0 || g.k == 0) return scale(g);
  Profile::count_flops(2 * std::uint64_t{g.m} * g.n * g.k);
  const Body<T> body = body_of(g);
  if (inside_parallel_for()) return multiply(g, body);  // the others have work of their own
  const Cut c = cut(g.m, g.n, g.k);
  const std::size_t across = parts(g.n, c.columns);
  const std::size_t blocks = parts(g.m, c.rows) * across;
  const std::size_t lanes = parts(g.k, c.steps);
  T* const sums = lanes > 1 ? workspace<T, ForLanes>((lanes - 1) * g.m * g.n) : nullptr;
  parallel_for(blocks * lanes, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t task = begin; task < end; ++task) {
      const std::size_t i = task % blocks / across * c.rows;
      const std::size_t j = task % blocks % across * c.columns;
      const std::size_t lane = task / blocks;
      const std::size_t p = lane * c.steps;
      Gemm<T> part = block(g, i, std::min(c.rows, g.m - i), j, std::min(c.columns, g.n - j), p,
                           std::min(c.steps, g.k - p));
      if (lane > 0) {
        part.c = sums + ((lane - 1) * g.m + i) * g.n + j;
        part.ldc = g.n;
        part.beta = 0;
      }
      multiply(part, body);
    }
  });
  if (lanes > 1) add_lanes(g, sums, lanes - 1);
}

template <class T>
void gemm_batch(const Gemm<T>& first, std::size_t batch, std::size_t stride_a, std::size_t stride_b,
                std::size_t stride_c) {
  const std::uint64_t work = std::uint64_t{first.m} * first.n * first.k;
  const auto at = [&](std::size_t i) {
    Gemm<T> g = first;
    g.a += i * stride_a;
    g.b += i * stride_b;
    g.c += i * stride_c;
    return g;
  };
  if (work > small) {
    for (std::size_t i = 0; i < batch; ++i) gemm(at(i));
    return;
  }
  Profile::count_flops(2 * std::uint64_t{batch} * work);
  const auto chunk = static_cast<std::size_t>(small / std::max<std::uint64_t>(1, work));
  const Body<T> body = body_of(first);
  parallel_for(batch, chunk, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) multiply(at(i), body);
  });
}

template void packed_product(const Gemm<float>&);
template void packed_product(const Gemm<double>&);
template void gemm(const Gemm<float>&);
template void gemm(const Gemm<double>&);
template void gemm_batch(const Gemm<float>&, std::size_t, std::size_t, std::size_t, std::size_t);
template void gemm_batch(const Gemm<double>&, std::size_t, std::size_t, std::size_t, std::size_t);

GemmBackend gemm_backend() { return current_backend(); }

void set_gemm_backend(GemmBackend backend) {
  if (!gemm_backend_available(backend)) fail("set_gemm_backend: that one is not in this build");
  current_backend() = backend;
}

bool gemm_backend_available(GemmBackend backend) {
  if (backend == GemmBackend::onednn) return has_onednn();
  if (backend == GemmBackend::cblas) return has_cblas();
  return true;
}

GemmBackend gemm_backend_named(std::string_view name) {
  return static_cast<GemmBackend>(
      index_of(name, {"packed", "onednn", "cblas", "fastest"}, "VITRUVIAN_GEMM"));
}

GemmPrecision gemm_precision() { return current_precision; }
void set_gemm_precision(GemmPrecision precision) { current_precision = precision; }

std::string gemm_description() {
  const std::string packed = "packed " + simd_description();
  if (gemm_precision() == GemmPrecision::bfloat16) {
    const Bfloat16Body body = bfloat16_body();
    return fmt::format("bfloat16 {} (float), {} (double)",
                       body == Bfloat16Body::amx      ? "AMX"
                       : body == Bfloat16Body::avx512 ? "AVX512_BF16"
                                                      : "rounded, " + packed,
                       packed);
  }
  const GemmBackend backend = gemm_backend();
  if (backend == GemmBackend::cblas) return cblas_description();
  const bool fastest = backend == GemmBackend::fastest;
  if (fastest && matrix_unit_available()) {
    return fmt::format("AMX or {} (float), {} (double)", packed, packed);
  }
  if (backend == GemmBackend::packed || (fastest && !library_is_asked())) return packed;
  const std::string either = fastest ? " or " + packed : "";
  return onednn_description() + either + " (float), " + packed + " (double)";
}

}  // namespace vitruvian::kernels
