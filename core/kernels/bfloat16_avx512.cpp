// C = alpha op(A) op(B) + beta C on one thread, with factors rounded to bfloat16 and sums in
// float32, by the instruction vdpbf16ps: each of its 16 lanes adds the product of the upper halves
// of two 32-bit words to a sum, rounds, then adds that of the lower halves and rounds. So the
// elements of steps p and p + 1 share a word, the earlier one above, and sums have the order of k.
// The blocks are those of product.inl; of these the steps decide where sums are rounded.
#include "vitruvian/core/kernels/bfloat16_words.hpp"
#include "vitruvian/core/kernels/table.hpp"

namespace vitruvian::kernels {
namespace {

constexpr std::size_t rows = 13;  // 26 sums, two vectors of B and one element of A: 29 registers
constexpr std::size_t columns = 2 * lanes;
constexpr std::size_t block_m = 16 * rows;
constexpr std::size_t block_n = 512;
constexpr std::size_t block_k = most_steps;
// Between rows of A that lie row by row: an odd number of cache lines, or they would share few
// sets.
constexpr std::size_t row_step = block_k / 2 + lanes;
constexpr std::size_t whole_vectors(std::size_t n) { return (n + lanes - 1) / lanes * lanes; }
constexpr std::size_t panel_step = whole_vectors(rows);  // between steps of A in panels
// A panel and, before the next, a line of the cache: panels begin in sets of their own.
constexpr std::size_t panel_words(std::size_t step, std::size_t steps) {
  return step * steps + lanes;
}
constexpr std::size_t words_of_a = block_m / rows * panel_words(panel_step, block_k / 2);
constexpr std::size_t words_of_b = block_n / columns * panel_words(columns, block_k / 2);
static_assert(words_of_a >= block_m * row_step);
static_assert(words_of_a + words_of_b == bfloat16_avx512_workspace);

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

// A or B, lanes adjacent: panels of `width` lanes, two steps of all of them after the other, whole
// vectors apart; what is behind the last lane of a vector nobody reads. Row by row of the source:
// where those lie 2 KB apart, whoever follows one panel down finds the lines of the cache gone that
// its neighbour reads next.
template <std::size_t width>
void pack_lanes(const float* from, std::size_t ld, std::size_t n, std::size_t k, Word* to) {
  constexpr std::size_t step = whole_vectors(width);
  const std::size_t panel = panel_words(step, (k + 1) / 2);
  for (std::size_t p = 0; p < k; p += 2, from += 2 * ld, to += step) {
    const float* const next = p + 1 < k ? from + ld : nullptr;
    Word* out = to;
    for (std::size_t i = 0; i < n; i += width, out += panel) {
      for (std::size_t j = 0; j < width; j += lanes) {
        const std::size_t at = i + j;
        const __m512i words =
            at < n ? words_of_rows(from + at, next == nullptr ? nullptr : next + at, n - at)
                   : __m512i{};
        _mm512_store_si512(out + j, earlier_above(words));
      }
    }
  }
}

// B, steps adjacent: the panels of pack_lanes, 16 columns at a time.
void pack_transposed(const float* from, std::size_t ld, std::size_t n, std::size_t k, Word* to) {
  const std::size_t steps = (k + 1) / 2;
  for (std::size_t j = 0; j < n; j += columns, to += panel_words(columns, steps)) {
    for (std::size_t c = 0; c < columns; c += lanes) {
      for (std::size_t p = 0; p < k; p += 2 * lanes) {
        __m512i x[lanes];
        for (std::size_t i = 0; i < lanes; ++i) {
          const std::size_t column = j + c + i;
          x[i] = column < n ? words_of_row(from + column * ld + p, k - p) : __m512i{};
        }
        transpose_words(x);
        const std::size_t there = smaller(lanes, steps - p / 2);
        for (std::size_t w = 0; w < there; ++w) {
          _mm512_store_si512(to + (p / 2 + w) * columns + c, earlier_above(x[w]));
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

// m x n of C, m at most `tile`, n at most two vectors; A row by row, or in panels. Sums of rows
// behind the last are of whatever lies in the workspace, and nobody stores them.
template <std::size_t tile, std::size_t vectors, bool by_rows>
void multiply_tile(const Factors& f, const Result& r, std::size_t m) {
  constexpr std::size_t lane = by_rows ? row_step : 1;
  constexpr std::size_t step = by_rows ? 1 : panel_step;
  // Its lines arrive while the sums are computed.
#pragma GCC unroll 13
  for (std::size_t i = 0; i < tile && i < m; ++i) {
#pragma GCC unroll 2
    for (std::size_t j = 0; j < vectors; ++j) __builtin_prefetch(r.c + i * r.ldc + j * lanes, 1);
  }
  __m512 sum[tile][vectors] = {};
  const Word* a = f.a;
  const Word* b = f.b;
  for (std::size_t p = 0; p < f.steps; ++p, a += step, b += columns) {
    __m512bh row[vectors];
#pragma GCC unroll 2
    for (std::size_t j = 0; j < vectors; ++j) {
      row[j] = reinterpret_cast<__m512bh>(_mm512_load_si512(b + j * lanes));
    }
#pragma GCC unroll 13
    for (std::size_t i = 0; i < tile; ++i) {
      const auto x = reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(a[i * lane])));
#pragma GCC unroll 2
      for (std::size_t j = 0; j < vectors; ++j) {
        sum[i][j] = _mm512_dpbf16_ps(sum[i][j], x, row[j]);
      }
    }
  }
  if (r.alpha == 1 && r.beta == 0 && r.n >= vectors * lanes) {
#pragma GCC unroll 13
    for (std::size_t i = 0; i < tile && i < m; ++i) {
#pragma GCC unroll 2
      for (std::size_t j = 0; j < vectors; ++j) {
        _mm512_storeu_ps(r.c + i * r.ldc + j * lanes, sum[i][j]);
      }
    }
    return;
  }
  const __m512 alpha = _mm512_set1_ps(r.alpha);
  const __m512 beta = _mm512_set1_ps(r.beta);
#pragma GCC unroll 13
  for (std::size_t i = 0; i < tile && i < m; ++i) {
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

// By the smallest of four tiles that holds m rows.
template <std::size_t vectors, bool by_rows>
void multiply_rows(const Factors& f, const Result& r, std::size_t m) {
  if (m > 8) return multiply_tile<rows, vectors, by_rows>(f, r, m);
  if (m > 4) return multiply_tile<8, vectors, by_rows>(f, r, m);
  if (m > 1) return multiply_tile<4, vectors, by_rows>(f, r, m);
  multiply_tile<1, vectors, by_rows>(f, r, m);
}

// A block of A against a panel of B.
template <bool by_rows>
void multiply_panel(Factors f, Result r, std::size_t m) {
  for (std::size_t i = 0; i < m; i += rows) {
    const std::size_t count = smaller(rows, m - i);
    if (r.n > lanes) {
      multiply_rows<2, by_rows>(f, r, count);
    } else {
      multiply_rows<1, by_rows>(f, r, count);
    }
    f.a += by_rows ? rows * row_step : panel_words(panel_step, f.steps);
    r.c += rows * r.ldc;
  }
}

}  // namespace

bool has_avx512_bf16() {
  return __builtin_cpu_supports("avx512bf16") && isa_available(Isa::avx512);
}

std::size_t bfloat16_avx512_panels(std::size_t n, std::size_t k) {
  const std::size_t most = block_of_steps(k);
  std::size_t words = 0;
  for (std::size_t p = 0; p < k; p += most) {
    words += panel_words(columns, (smaller(most, k - p) + 1) / 2);
  }
  return (n + columns - 1) / columns * words;
}

void bfloat16_product_avx512(const Gemm<float>& g, std::uint32_t* workspace) {
  Word* const packed_a = workspace;
  Word* packed_b = g.panels != nullptr ? static_cast<Word*>(g.panels) : workspace + words_of_a;
  for (std::size_t j = 0; j < g.n; j += block_n) {
    const std::size_t n = smaller(block_n, g.n - j);
    const std::size_t most = block_of_steps(g.k);
    for (std::size_t p = 0; p < g.k; p += most) {
      const std::size_t k = smaller(most, g.k - p);
      const std::size_t steps = (k + 1) / 2;
      if (g.packed) {
        // an earlier product did
      } else if (g.trans_b) {
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
          const Factors f{steps, packed_a, packed_b + jj / columns * panel_words(columns, steps)};
          const Result r{g.alpha, p == 0 ? g.beta : 1, g.c + i * g.ldc + j + jj, g.ldc,
                         smaller(columns, n - jj)};
          if (g.trans_a) {
            multiply_panel<false>(f, r, m);
          } else {
            multiply_panel<true>(f, r, m);
          }
        }
      }
      if (g.panels != nullptr)
        packed_b += (n + columns - 1) / columns * panel_words(columns, steps);
    }
  }
}

}  // namespace vitruvian::kernels
