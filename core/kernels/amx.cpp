// C = alpha op(A) op(B) + beta C on one thread, with sums in float32, by the processor's matrix
// unit (AMX), which multiplies bfloat16s: of factors that are rounded to bfloat16, or of float32s,
// each of which is the sum of three bfloat16s, 8 + 8 + 8 of its 24 significant bits:
//
//   x = x0 + x1 + x2, each the nearest to what those before it leave (ties away from zero),
//   x y = x2 y0 + x1 y0 + x1 y1 + x0 y1 + x0 y0 + x0 y2, added in this order; the other three come
//   to about 2^-23 of x y at most, two of float32's roundings.
//
// One instruction multiplies 16 rows of 32 steps of A by 32 steps of 16 columns of B: of each
// element of the result it sums the products of the even steps, apart from these those of the odd
// ones, each from zero in the order of k, and adds both sums, then that to the element. Blocks of
// `block_k` steps of k are begun anew.
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

// Two tiles' rows of A, whose panel stays in the first level of the cache; columns of B and steps
// of k whose panel stays in the second.
constexpr std::size_t block_m = 2 * side;
constexpr std::size_t block_n = 512;
template <std::size_t pieces>
constexpr std::size_t block_k = pieces == 1 ? 640 : 320;  // a micro-batch has at most 600 rows

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
    static constexpr Layout layout;  // g++ 12 believes that the first 8 bytes alone are read
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

// The words of 32 elements: rounded, or of three pieces.
template <std::size_t pieces>
struct Words {
  __m512i piece[pieces];
};

// Two vectors of pieces in one of words: of one row, or of two, one above the other.
enum class Order { row, rows };

template <std::size_t pieces, Order order>
Words<pieces> words_of(Halves x, [[maybe_unused]] __m512i& largest) {
  if constexpr (pieces == 1) {
    return {order == Order::row ? words_of_row(x) : words_of_rows(x)};
  } else {
    alignas(64) static constexpr std::uint16_t upper_halves[2][2 * lanes] = {
        {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
         33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63},
        {1,  33, 3,  35, 5,  37, 7,  39, 9,  41, 11, 43, 13, 45, 15, 47,
         17, 49, 19, 51, 21, 53, 23, 55, 25, 57, 27, 59, 29, 61, 31, 63}};
    const __m512i places = _mm512_load_si512(upper_halves[order == Order::row ? 0 : 1]);
    const __m512i half = _mm512_set1_epi32(0x8000), upper = _mm512_set1_epi32(~0xFFFF);
    const auto size = [](__m512 y) {
      return _mm512_and_si512(reinterpret_cast<__m512i>(y), _mm512_set1_epi32(0x7FFFFFFF));
    };
    largest = _mm512_max_epu32(largest, _mm512_max_epu32(size(x.low), size(x.high)));
    Words<pieces> words;
    for (std::size_t q = 0; q < pieces; ++q) {
      __m512i low = reinterpret_cast<__m512i>(x.low), high = reinterpret_cast<__m512i>(x.high);
      if (q + 1 < pieces) {
        low = _mm512_add_epi32(low, half);
        high = _mm512_add_epi32(high, half);
        x.low -= reinterpret_cast<__m512>(_mm512_and_si512(low, upper));
        x.high -= reinterpret_cast<__m512>(_mm512_and_si512(high, upper));
      }
      words.piece[q] = _mm512_permutex2var_epi16(low, places, high);
    }
    return words;
  }
}

// The largest of the sizes; of NaN it is NaN.
float largest_of(__m512i sizes) {
  alignas(64) std::uint32_t bits[lanes];
  _mm512_store_si512(bits, sizes);
  for (const std::uint32_t x : bits) bits[0] = x > bits[0] ? x : bits[0];
  return __builtin_bit_cast(float, bits[0]);
}

// Whether no piece of factors of such sizes, and no sum of k of their products, is beyond float32:
// where one is, what its pieces come to may be NaN instead of Inf.
bool within_float32(float a, float b, std::size_t k) {
  constexpr float most = 0x1.FEp127F;  // as a bfloat16
  return a <= most && b <= most &&
         static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(k) < 0x1p127;
}

template <std::size_t pieces>
void store(const Words<pieces>& x, Word* to) {
  for (std::size_t q = 0; q < pieces; ++q) _mm512_store_si512(to + q * tile, x.piece[q]);
}

// The words of each row of a tile become those of a column, of all pieces.
template <std::size_t pieces>
void transpose(Word* of) {
  for (std::size_t q = 0; q < pieces; ++q, of += tile) {
    __m512i words[side];
    for (std::size_t r = 0; r < side; ++r) words[r] = _mm512_load_si512(of + r * lanes);
    transpose_words(words);
    for (std::size_t r = 0; r < side; ++r) _mm512_store_si512(of + r * lanes, words[r]);
  }
}

// Tiles in which 16 of `from`'s rows lie word by word, or, `across`, row by row; the pieces of a
// tile one after the other. Steps of k are adjacent in a row; rows beyond n and steps beyond k are
// 0. All tiles of 16 rows, then the next. Gives the size of the largest element of those in pieces.
template <std::size_t pieces, bool across>
float pack_rows(const float* from, std::size_t ld, std::size_t n, std::size_t k, Word* to) {
  __m512i largest = {};
  for (std::size_t i = 0; i < n; i += side) {
    for (std::size_t p = 0; p < k; p += depth, to += pieces * tile) {
      for (std::size_t r = 0; r < side; ++r) {
        if (const std::size_t next = i + side + r; next < n) {
          fetch(from + next * ld + p, from + next * ld + p + lanes);
        }
        const float* const row = from + (i + r) * ld + p;
        store(i + r < n ? words_of<pieces, Order::row>(halves_of_row(row, k - p), largest)
                        : Words<pieces>{},
              to + r * lanes);
      }
      if constexpr (!across) transpose<pieces>(to);
    }
  }
  return largest_of(largest);
}

// The same of a matrix whose steps of k are its rows, which are read one after the other.
template <std::size_t pieces, bool across>
float pack_columns(const float* from, std::size_t ld, std::size_t n, std::size_t k, Word* to) {
  const std::size_t row_of_tiles = tiles_of(k) * pieces * tile;
  __m512i largest = {};
  for (std::size_t p = 0; p < k; p += depth, to += pieces * tile) {
    for (std::size_t i = 0; i < n; i += side) {
      Word* const out = to + i / side * row_of_tiles;
      for (std::size_t s = 0; s < side; ++s) {
        const std::size_t step = p + 2 * s;
        const float* const row = from + step * ld + i;
        if (step + depth < k) fetch(row + depth * ld, row + (depth + 1) * ld);
        const float* const next = step + 1 < k ? row + ld : nullptr;
        store(step < k ? words_of<pieces, Order::rows>(halves_of_rows(row, next, n - i), largest)
                       : Words<pieces>{},
              out + s * lanes);
      }
      if constexpr (across) transpose<pieces>(out);
    }
  }
  return largest_of(largest);
}

struct Result {
  float alpha, beta;
  float* c;
  std::size_t ldc, m, n;
};

// 16 x 16 sums to their places in C.
void write(const float* sums, const Result& r, std::size_t row) {
  const __mmask16 there = first(r.n);
  const __m512 alpha = _mm512_set1_ps(r.alpha);
  const __m512 beta = _mm512_set1_ps(r.beta);
  for (std::size_t i = 0; i < smaller(side, beyond(r.m, row)); ++i) {
    float* const out = r.c + (row + i) * r.ldc;
    __m512 value = _mm512_mul_ps(alpha, _mm512_load_ps(sums + i * side));
    if (r.beta != 0) value = _mm512_fmadd_ps(beta, _mm512_maskz_loadu_ps(there, out), value);
    _mm512_mask_storeu_ps(out, there, value);
  }
}

template <int which>
void store_tile(float* to, std::size_t bytes_of_a_row) {
  if constexpr (which == 0) _tile_stored(0, to, bytes_of_a_row);
  if constexpr (which == 1) _tile_stored(1, to, bytes_of_a_row);
}

// A tile of sums to its place in C, at once where nothing is to be done to them.
template <int which>
void finish(const Result& r, std::size_t row, float* sums) {
  if (r.alpha == 1 && r.beta == 0 && r.m >= row + side && r.n >= side) {
    return store_tile<which>(r.c + row * r.ldc, r.ldc * sizeof(float));
  }
  store_tile<which>(sums, side * sizeof(float));
  write(sums, r, row);
}

// A piece of each factor. Each but the first differs from the one before it in one factor, whose
// tiles alone are loaded.
struct Pair {
  std::size_t a, b;
};
template <std::size_t pieces>
constexpr Pair pairs[] = {{2, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 0}, {0, 2}};
template <>
constexpr Pair pairs<1>[] = {{0, 0}};

// Two tiles of C, one above the other, or one where there is no second; `next` tiles of all pieces
// lie between the panels of A. Their lines of C are fetched for writing meanwhile, a few with each
// step. Five of the eight tiles are used: while another thread runs on the same core, instructions
// on seven take one and a half times, on eight twice, the time of those on six.
template <std::size_t pieces, bool second>
void multiply_tiles(const Word* a, const Word* b, std::size_t next, const Result& r, float* sums) {
  constexpr std::size_t row_bytes = 64;
  const std::size_t rows = smaller(r.m, second ? 2 * side : side);
  const std::size_t share = (rows + next - 1) / next;
  _tile_zero(0);
  _tile_zero(1);
  const std::size_t below = next * pieces * tile;
  for (std::size_t p = 0; p < next; ++p, a += pieces * tile, b += pieces * tile) {
    for (std::size_t i = p * share; i < smaller(rows, (p + 1) * share); ++i) {
      __builtin_prefetch(r.c + i * r.ldc, 1);
    }
    Pair before{pieces, pieces};
    for (const Pair now : pairs<pieces>) {
      if (now.a != before.a) {
        _tile_loadd(2, a + now.a * tile, row_bytes);
        if constexpr (second) _tile_loadd(3, a + below + now.a * tile, row_bytes);
      }
      if (now.b != before.b) _tile_loadd(4, b + now.b * tile, row_bytes);
      _tile_dpbf16ps(0, 2, 4);
      if constexpr (second) _tile_dpbf16ps(1, 3, 4);
      before = now;
    }
  }
  finish<0>(r, 0, sums);
  if constexpr (second) finish<1>(r, side, sums);
}

std::size_t up_to(std::size_t n, std::size_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

// How many words the panels of A and of B take at most.
template <std::size_t pieces>
std::size_t words_of_a(const Gemm<float>& g) {
  return up_to(smaller(g.m, block_m), side) * up_to(smaller(g.k, block_k<pieces>), depth) / 2 *
         pieces;
}
template <std::size_t pieces>
std::size_t words_of_b(const Gemm<float>& g) {
  return up_to(smaller(g.n, block_n), side) * up_to(smaller(g.k, block_k<pieces>), depth) / 2 *
         pieces;
}

template <std::size_t pieces>
void product(const Gemm<float>& g, Word* workspace, void (*otherwise)(const Gemm<float>&)) {
  const Tiles tiles;
  Word* const packed_a = workspace;
  Word* const packed_b = packed_a + words_of_a<pieces>(g);
  float* const sums = reinterpret_cast<float*>(packed_b + words_of_b<pieces>(g));
  Gemm<float> part = g;
  part.kept = nullptr;
  for (std::size_t j = 0; j < g.n; j += block_n) {
    part.n = smaller(block_n, g.n - j);
    for (std::size_t p = 0; p < g.k; p += block_k<pieces>) {
      part.k = smaller(block_k<pieces>, g.k - p);
      part.beta = p == 0 ? g.beta : 1;
      const std::size_t next = tiles_of(part.k);
      part.b = g.trans_b ? g.b + j * g.ldb + p : g.b + p * g.ldb + j;
      const float largest_b =
          g.trans_b ? pack_rows<pieces, false>(part.b, g.ldb, part.n, part.k, packed_b)
                    : pack_columns<pieces, false>(part.b, g.ldb, part.n, part.k, packed_b);
      for (std::size_t i = 0; i < g.m; i += block_m) {
        part.m = smaller(block_m, g.m - i);
        part.a = g.trans_a ? g.a + p * g.lda + i : g.a + i * g.lda + p;
        part.c = g.c + i * g.ldc + j;
        const float largest_a =
            g.trans_a ? pack_columns<pieces, true>(part.a, g.lda, part.m, part.k, packed_a)
                      : pack_rows<pieces, true>(part.a, g.lda, part.m, part.k, packed_a);
        if (pieces > 1 && !within_float32(largest_a, largest_b, part.k)) {
          otherwise(part);
          continue;
        }
        for (std::size_t jj = 0; jj < part.n; jj += side) {
          const Result r{g.alpha, part.beta, part.c + jj, g.ldc, part.m, part.n - jj};
          const Word* const b = packed_b + jj / side * next * pieces * tile;
          if (part.m > side) {
            multiply_tiles<pieces, true>(packed_a, b, next, r, sums);
          } else {
            multiply_tiles<pieces, false>(packed_a, b, next, r, sums);
          }
        }
      }
    }
  }
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

std::size_t amx_workspace(const Gemm<float>& g, std::size_t pieces) {
  return side * side +
         (pieces == 1 ? words_of_a<1>(g) + words_of_b<1>(g) : words_of_a<3>(g) + words_of_b<3>(g));
}

void bfloat16_product_amx(const Gemm<float>& g, std::uint32_t* workspace) {
  product<1>(g, workspace, nullptr);
}

void float32_product_amx(const Gemm<float>& g, std::uint32_t* workspace,
                         void (*otherwise)(const Gemm<float>&)) {
  product<3>(g, workspace, otherwise);
}

}  // namespace vitruvian::kernels
