// C = alpha op(A) op(B) + beta C on one thread, with factors rounded to bfloat16 and sums in
// float32, by the processor's matrix unit (AMX). One instruction multiplies 16 rows of 32 steps of
// A by 32 steps of 16 columns of B: of each element of the result it sums the products of the even
// steps, apart from these those of the odd ones, each from zero in the order of k, and adds both
// sums, then that to the element. Blocks of 640 steps of k are begun anew.
#include "vitruvian/core/kernels/bfloat16_words.hpp"
#include "vitruvian/core/kernels/table.hpp"

#if __has_include(<sys/syscall.h>)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <cpuid.h>

namespace vitruvian::kernels {
namespace {

constexpr std::size_t side = 16;                // of a tile of C; rows of A, columns of B
constexpr std::size_t depth = 32;               // steps of k in a tile
constexpr std::size_t tile = side * depth / 2;  // words: 1 KB
constexpr std::size_t block_m = 256;
constexpr std::size_t block_n = 512;
constexpr std::size_t block_k = 640;  // a micro-batch has at most 600 rows of tokens
static_assert((block_m + block_n) * block_k / 2 + side * side == bfloat16_amx_workspace);

// Tiles that hold so many steps of k.
constexpr std::size_t tiles_of(std::size_t k) { return (k + depth - 1) / depth; }

// Eight tiles of 16 rows of 64 bytes, for this thread, as long as this lives. Whoever leaves them
// set makes every switch of threads save 8 KB more.
struct Tiles {
  struct alignas(64) Layout {
    std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
    std::uint16_t bytes_of_a_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  };
  Tiles() {
    const Layout layout;
    _tile_loadconfig(&layout);
  }
  ~Tiles() { _tile_release(); }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
};

// Activations come from beyond the second level of the cache: panels are read ahead.
void fetch(const float* line, const float* other) {
  _mm_prefetch(line, _MM_HINT_T0);
  _mm_prefetch(other, _MM_HINT_T0);
}

// Tiles in which 16 of `from`'s rows lie word by word, or, `across`, row by row. Steps of k are
// adjacent in a row; rows beyond n and steps beyond k are 0. All tiles of 16 rows, then the next.
template <bool across>
void pack_rows(const float* from, std::size_t ld, std::size_t n, std::size_t k, Word* to) {
  for (std::size_t i = 0; i < n; i += side) {
    for (std::size_t p = 0; p < k; p += depth, to += tile) {
      __m512i x[side];
      for (std::size_t r = 0; r < side; ++r) {
        if (const std::size_t next = i + side + r; next < n) {
          fetch(from + next * ld + p, from + next * ld + p + lanes);
        }
        x[r] = i + r < n ? words_of_row(from + (i + r) * ld + p, k - p) : __m512i{};
      }
      if constexpr (!across) transpose_words(x);
      for (std::size_t r = 0; r < side; ++r) _mm512_store_si512(to + r * lanes, x[r]);
    }
  }
}

// The same of a matrix whose steps of k are its rows, which are read one after the other.
template <bool across>
void pack_columns(const float* from, std::size_t ld, std::size_t n, std::size_t k, Word* to) {
  const std::size_t row_of_tiles = tiles_of(k) * tile;
  for (std::size_t p = 0; p < k; p += depth, to += tile) {
    for (std::size_t i = 0; i < n; i += side) {
      __m512i x[side];
      for (std::size_t s = 0; s < side; ++s) {
        const std::size_t step = p + 2 * s;
        const float* const row = from + step * ld + i;
        if (step + depth < k) fetch(row + depth * ld, row + (depth + 1) * ld);
        x[s] = step < k ? words_of_rows(row, step + 1 < k ? row + ld : nullptr, n - i) : __m512i{};
      }
      if constexpr (across) transpose_words(x);
      Word* const out = to + i / side * row_of_tiles;
      for (std::size_t s = 0; s < side; ++s) _mm512_store_si512(out + s * lanes, x[s]);
    }
  }
}

struct Result {
  float alpha, beta;
  float* c;
  std::size_t ldc, m, n;
};

// 16 x 16 sums to their places in C.
void write(const float* sums, const Result& r, std::size_t row, std::size_t column) {
  const __mmask16 there = first(beyond(r.n, column));
  const __m512 alpha = _mm512_set1_ps(r.alpha);
  const __m512 beta = _mm512_set1_ps(r.beta);
  for (std::size_t i = 0; i < smaller(side, beyond(r.m, row)); ++i) {
    float* const out = r.c + (row + i) * r.ldc + column;
    __m512 value = _mm512_mul_ps(alpha, _mm512_load_ps(sums + i * side));
    if (r.beta != 0) value = _mm512_fmadd_ps(beta, _mm512_maskz_loadu_ps(there, out), value);
    _mm512_mask_storeu_ps(out, there, value);
  }
}

template <int which>
void store(float* to, std::size_t bytes_of_a_row) {
  if constexpr (which == 0) _tile_stored(0, to, bytes_of_a_row);
  if constexpr (which == 1) _tile_stored(1, to, bytes_of_a_row);
  if constexpr (which == 2) _tile_stored(2, to, bytes_of_a_row);
  if constexpr (which == 3) _tile_stored(3, to, bytes_of_a_row);
}

// A tile of sums to its place in C, at once where nothing is to be done to them.
template <int which>
void finish(const Result& r, std::size_t row, std::size_t column, float* sums) {
  if (r.alpha == 1 && r.beta == 0 && r.m >= row + side && r.n >= column + side) {
    return store<which>(r.c + row * r.ldc + column, r.ldc * sizeof(float));
  }
  store<which>(sums, side * sizeof(float));
  write(sums, r, row, column);
}

// Two by two tiles of C, or one where there is no second; `next` tiles lie between the panels.
// Their lines of C are fetched for writing meanwhile.
template <bool second_row, bool second_column>
void multiply_tiles(const Word* a, const Word* b, std::size_t next, const Result& r, float* sums) {
  constexpr std::size_t row_bytes = 64;
  for (std::size_t i = 0; i < smaller(r.m, 2 * side); ++i) {
    __builtin_prefetch(r.c + i * r.ldc, 1);
    if constexpr (second_column) __builtin_prefetch(r.c + i * r.ldc + side, 1);
  }
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (std::size_t p = 0; p < next; ++p, a += tile, b += tile) {
    _tile_loadd(4, a, row_bytes);
    _tile_loadd(6, b, row_bytes);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (second_column) {
      _tile_loadd(7, b + next * tile, row_bytes);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (second_row) {
      _tile_loadd(5, a + next * tile, row_bytes);
      _tile_dpbf16ps(2, 5, 6);
      if constexpr (second_column) _tile_dpbf16ps(3, 5, 7);
    }
  }
  finish<0>(r, 0, 0, sums);
  if constexpr (second_column) finish<1>(r, 0, side, sums);
  if constexpr (second_row) finish<2>(r, side, 0, sums);
  if constexpr (second_row && second_column) finish<3>(r, side, side, sums);
}

void multiply_tiles(const Word* a, const Word* b, std::size_t next, const Result& r, float* sums) {
  if (r.m > side) {
    if (r.n > side) return multiply_tiles<true, true>(a, b, next, r, sums);
    return multiply_tiles<true, false>(a, b, next, r, sums);
  }
  if (r.n > side) return multiply_tiles<false, true>(a, b, next, r, sums);
  multiply_tiles<false, false>(a, b, next, r, sums);
}

}  // namespace

// The processor has it, and the system lets this process use it.
bool has_amx() {
#if defined(SYS_arch_prctl)
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned bfloat16_and_tiles = 1U << 22U | 1U << 24U;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  if ((d & bfloat16_and_tiles) != bfloat16_and_tiles) return false;
  constexpr int request_permission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr int tile_data = 18;               // XFEATURE_XTILEDATA
  return ::syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
#else
  return false;
#endif
}

void bfloat16_product_amx(const Gemm<float>& g, std::uint32_t* workspace) {
  const Tiles tiles;
  Word* const packed_a = workspace;
  Word* const packed_b = packed_a + block_m * block_k / 2;
  float* const sums = reinterpret_cast<float*>(packed_b + block_n * block_k / 2);
  for (std::size_t j = 0; j < g.n; j += block_n) {
    const std::size_t n = smaller(block_n, g.n - j);
    for (std::size_t p = 0; p < g.k; p += block_k) {
      const std::size_t k = smaller(block_k, g.k - p);
      const std::size_t next = tiles_of(k);
      if (g.trans_b) {
        pack_rows<false>(g.b + j * g.ldb + p, g.ldb, n, k, packed_b);
      } else {
        pack_columns<false>(g.b + p * g.ldb + j, g.ldb, n, k, packed_b);
      }
      for (std::size_t i = 0; i < g.m; i += block_m) {
        const std::size_t m = smaller(block_m, g.m - i);
        if (g.trans_a) {
          pack_columns<true>(g.a + p * g.lda + i, g.lda, m, k, packed_a);
        } else {
          pack_rows<true>(g.a + i * g.lda + p, g.lda, m, k, packed_a);
        }
        // Along the rows of C, which is larger than the panels and the slowest to reach.
        for (std::size_t ii = 0; ii < m; ii += 2 * side) {
          for (std::size_t jj = 0; jj < n; jj += 2 * side) {
            const Result r{
                g.alpha, p == 0 ? g.beta : 1, g.c + (i + ii) * g.ldc + j + jj, g.ldc, m - ii,
                n - jj};
            multiply_tiles(packed_a + ii / side * next * tile, packed_b + jj / side * next * tile,
                           next, r, sums);
          }
        }
      }
    }
  }
}

}  // namespace vitruvian::kernels
