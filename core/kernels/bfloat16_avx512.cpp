// C = alpha op(A) op(B) + beta C on one thread, with factors rounded to bfloat16 and sums in
// float32, by the instruction vdpbf16ps: each of its 16 lanes adds the product of the upper halves
// of two 32-bit words to a sum, rounds, then adds that of the lower halves and rounds. So the
// elements of steps p and p + 1 share a word, the earlier one above, and sums have the order of k.
// The blocks are those of product.inl; of these 256 steps decide where sums are rounded.
#include "vitruvian/core/kernels/bfloat16_words.hpp"
#include "vitruvian/core/kernels/table.hpp"

namespace vitruvian::kernels {
namespace {

constexpr std::size_t rows = 13;  // 26 sums, two vectors of B and one element of A: 29 registers
constexpr std::size_t columns = 2 * lanes;
constexpr std::size_t block_m = 16 * rows;
constexpr std::size_t block_n = 512;
constexpr std::size_t block_k = 256;
// Between rows of A that lie row by row: an odd number of cache lines, or they would share few
// sets.
constexpr std::size_t row_step = block_k / 2 + lanes;
static_assert(block_m * row_step + block_n * block_k / 2 == bfloat16_avx512_workspace);

// vdpbf16ps adds the upper product first: the earlier step goes above.
__m512i earlier_above(__m512i words) { return _mm512_rol_epi32(words, 16); }

// A, steps adjacent: row by row.
void pack_rows(const float* from, std::size_t ld, std::size_t m, std::size_t k, Word* to) {
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t p = 0; p < k; p += 2 * lanes) {
      _mm512_store_si512(to + i * row_step + p / 2,
                         earlier_above(words_of_row(from + i * ld + p, k - p)));
    }
  }
}

// A or B, lanes adjacent: panels of `width` lanes, two steps of all of them after the other.
template <std::size_t width>
void pack_lanes(const float* from, std::size_t ld, std::size_t n, std::size_t k, Word* to) {
  for (std::size_t i = 0; i < n; i += width) {
    for (std::size_t p = 0; p < k; p += 2, to += width) {
      const float* const row = from + p * ld + i;
      const float* const next = p + 1 < k ? row + ld : nullptr;
      for (std::size_t j = 0; j < width; j += lanes) {
        const std::size_t there = beyond(smaller(width, n - i), j);
        const __m512i words = there == 0
                                  ? __m512i{}
                                  : earlier_above(words_of_rows(
                                        row + j, next == nullptr ? nullptr : next + j, there));
        _mm512_mask_storeu_epi32(to + j, first(width - j), words);
      }
    }
  }
}

// B, steps adjacent: the panels of pack_lanes, four columns at a time.
void pack_transposed(const float* from, std::size_t ld, std::size_t n, std::size_t k, Word* to) {
  const std::size_t steps = (k + 1) / 2;
  for (std::size_t j = 0; j < n; j += columns, to += columns * steps) {
    for (std::size_t c = 0; c < columns; c += 4) {
      for (std::size_t p = 0; p < k; p += 2 * lanes) {
        __m512i x[4];
        for (std::size_t i = 0; i < 4; ++i) {
          const std::size_t column = j + c + i;
          x[i] =
              column < n ? earlier_above(words_of_row(from + column * ld + p, k - p)) : __m512i{};
        }
        const __m512i a = _mm512_unpacklo_epi32(x[0], x[1]), b = _mm512_unpackhi_epi32(x[0], x[1]);
        const __m512i d = _mm512_unpacklo_epi32(x[2], x[3]), e = _mm512_unpackhi_epi32(x[2], x[3]);
        x[0] = _mm512_unpacklo_epi64(a, d);  // words 0, 4, 8 and 12 of the four columns
        x[1] = _mm512_unpackhi_epi64(a, d);
        x[2] = _mm512_unpacklo_epi64(b, e);
        x[3] = _mm512_unpackhi_epi64(b, e);
        alignas(64) Word words[4][lanes];
        for (std::size_t i = 0; i < 4; ++i) _mm512_store_si512(words[i], x[i]);
        for (std::size_t w = 0; w < smaller(lanes, steps - p / 2); ++w) {
          __builtin_memcpy(to + (p / 2 + w) * columns + c, words[w % 4] + w / 4 * 4,
                           4 * sizeof(Word));
        }
      }
    }
  }
}

struct Factors {
  std::size_t steps;  // of two
  const Word* a;
  const Word* b;
};

struct Result {
  float alpha, beta;
  float* c;
  std::size_t ldc, n;
};

// m x n of C, n at most 16 vectors; A row by row, or in panels.
template <std::size_t m, std::size_t vectors, bool by_rows>
void multiply_tile(const Factors& f, const Result& r) {
  constexpr std::size_t lane = by_rows ? row_step : 1;
  constexpr std::size_t step = by_rows ? 1 : rows;
  __m512 sum[m][vectors] = {};
  const Word* a = f.a;
  const Word* b = f.b;
  for (std::size_t p = 0; p < f.steps; ++p, a += step, b += columns) {
    __m512bh row[vectors];
#pragma GCC unroll 2
    for (std::size_t j = 0; j < vectors; ++j) {
      row[j] = reinterpret_cast<__m512bh>(_mm512_load_si512(b + j * lanes));
    }
#pragma GCC unroll 13
    for (std::size_t i = 0; i < m; ++i) {
      const auto x = reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(a[i * lane])));
#pragma GCC unroll 2
      for (std::size_t j = 0; j < vectors; ++j) {
        sum[i][j] = _mm512_dpbf16_ps(sum[i][j], x, row[j]);
      }
    }
  }
  const __m512 alpha = _mm512_set1_ps(r.alpha);
  const __m512 beta = _mm512_set1_ps(r.beta);
#pragma GCC unroll 13
  for (std::size_t i = 0; i < m; ++i) {
#pragma GCC unroll 2
    for (std::size_t j = 0; j < vectors; ++j) {
      float* const out = r.c + i * r.ldc + j * lanes;
      const __mmask16 there = first(beyond(r.n, j * lanes));
      __m512 value = _mm512_mul_ps(alpha, sum[i][j]);
      if (r.beta != 0) value = _mm512_fmadd_ps(beta, _mm512_maskz_loadu_ps(there, out), value);
      _mm512_mask_storeu_ps(out, there, value);
    }
  }
}

// The tile of m rows, for any m up to 13.
template <std::size_t vectors, bool by_rows, std::size_t m = rows>
void multiply_rows(std::size_t count, const Factors& f, const Result& r) {
  if constexpr (m > 0) {
    if (count == m) return multiply_tile<m, vectors, by_rows>(f, r);
    multiply_rows<vectors, by_rows, m - 1>(count, f, r);
  }
}

// A block of A against a panel of B.
template <bool by_rows>
void multiply_panel(Factors f, Result r, std::size_t m) {
  for (std::size_t i = 0; i < m; i += rows) {
    const std::size_t count = smaller(rows, m - i);
    if (r.n > lanes) {
      multiply_rows<2, by_rows>(count, f, r);
    } else {
      multiply_rows<1, by_rows>(count, f, r);
    }
    f.a += by_rows ? rows * row_step : rows * f.steps;
    r.c += rows * r.ldc;
  }
}

}  // namespace

bool has_avx512_bf16() {
  return __builtin_cpu_supports("avx512bf16") && isa_available(Isa::avx512);
}

void bfloat16_product_avx512(const Gemm<float>& g, std::uint32_t* workspace) {
  Word* const packed_a = workspace;
  Word* const packed_b = workspace + block_m * row_step;
  for (std::size_t j = 0; j < g.n; j += block_n) {
    const std::size_t n = smaller(block_n, g.n - j);
    for (std::size_t p = 0; p < g.k; p += block_k) {
      const std::size_t k = smaller(block_k, g.k - p);
      const std::size_t steps = (k + 1) / 2;
      if (g.trans_b) {
        pack_transposed(g.b + j * g.ldb + p, g.ldb, n, k, packed_b);
      } else {
        pack_lanes<columns>(g.b + p * g.ldb + j, g.ldb, n, k, packed_b);
      }
      for (std::size_t i = 0; i < g.m; i += block_m) {
        const std::size_t m = smaller(block_m, g.m - i);
        if (g.trans_a) {
          pack_lanes<rows>(g.a + p * g.lda + i, g.lda, m, k, packed_a);
        } else {
          pack_rows(g.a + i * g.lda + p, g.lda, m, k, packed_a);
        }
        for (std::size_t jj = 0; jj < n; jj += columns) {
          const Factors f{steps, packed_a, packed_b + jj * steps};
          const Result r{g.alpha, p == 0 ? g.beta : 1, g.c + i * g.ldc + j + jj, g.ldc,
                         smaller(columns, n - jj)};
          if (g.trans_a) {
            multiply_panel<false>(f, r, m);
          } else {
            multiply_panel<true>(f, r, m);
          }
        }
      }
    }
  }
}

}  // namespace vitruvian::kernels
