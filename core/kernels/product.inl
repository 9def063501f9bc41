// C = alpha op(A) op(B) + beta C on one thread, after Goto and van de Geijn, "Anatomy of
// High-Performance Matrix Multiplication" (2008). A block of op(B) is packed into panels of
// `columns` columns and a block of op(A) into panels of `rows` rows, k running slowest, so that the
// innermost loop reads both in order, whatever the transposes were. That loop keeps a tile of
// rows x columns sums in registers. Included by isa.cpp only.

template <class T>
struct Tile {
  typedef T Vector __attribute__((vector_size(VITRUVIAN_VECTOR_BYTES)));
  static constexpr std::size_t lanes = VITRUVIAN_VECTOR_BYTES / sizeof(T);
  static constexpr std::size_t rows = VITRUVIAN_TILE_ROWS;
  static constexpr std::size_t columns = 2 * lanes;
  // Blocks: a panel of B stays in the first-level cache, a block of A in the second.
  static constexpr std::size_t block_m = 16 * rows;
  static constexpr std::size_t block_n = 512 / columns * columns;
  static constexpr std::size_t block_k = sizeof(T) == 4 ? 256 : 192;
};

template <class T>
constexpr std::size_t product_workspace = (Tile<T>::block_m + Tile<T>::block_n) * Tile<T>::block_k;

VITRUVIAN_INLINE std::size_t smaller(std::size_t a, std::size_t b) { return a < b ? a : b; }

// to[j][i] = from[i][j] for i, j < 4, in registers.
template <class T>
VITRUVIAN_INLINE void transpose_4x4(const T* from, std::size_t from_step, T* to,
                                    std::size_t to_step) {
  typedef T Four __attribute__((vector_size(4 * sizeof(T))));
  Four r[4];
  for (std::size_t i = 0; i < 4; ++i) __builtin_memcpy(&r[i], from + i * from_step, sizeof(Four));
  const Four a = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5);
  const Four b = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7);
  const Four c = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5);
  const Four d = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
  r[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
  r[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
  r[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  r[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
  for (std::size_t j = 0; j < 4; ++j) __builtin_memcpy(to + j * to_step, &r[j], sizeof(Four));
}

// A full panel whose lanes are `ld` apart.
template <class T, std::size_t width>
VITRUVIAN_INLINE void pack_transposed(const T* from, std::size_t ld, std::size_t k, T* panel) {
  std::size_t p = 0;
  for (; p + 4 <= k; p += 4, panel += 4 * width) {
    std::size_t i = 0;
    for (; i + 4 <= width; i += 4) transpose_4x4(from + i * ld + p, ld, panel + i, width);
    for (; i < width; ++i) {
      for (std::size_t j = 0; j < 4; ++j) panel[j * width + i] = from[i * ld + p + j];
    }
  }
  for (; p < k; ++p, panel += width) {
    for (std::size_t i = 0; i < width; ++i) panel[i] = from[i * ld + p];
  }
}

// Panels of `width` lanes (rows of A, columns of B) by k steps; missing lanes become 0. Either the
// lanes are adjacent and steps are `ld` apart, or the other way round.
template <class T, std::size_t width>
void pack(const T* source, std::size_t ld, bool lanes_adjacent, std::size_t lanes, std::size_t k,
          T* panel) {
  const std::size_t lane_step = lanes_adjacent ? 1 : ld;
  const std::size_t k_step = lanes_adjacent ? ld : 1;
  for (std::size_t first = 0; first < lanes; first += width, panel += width * k) {
    const T* from = source + first * lane_step;
    if (lanes - first < width) {
      for (std::size_t p = 0; p < k * width; ++p) panel[p] = T{0};
      for (std::size_t i = 0; i < lanes - first; ++i) {
        for (std::size_t p = 0; p < k; ++p) panel[p * width + i] = from[i * lane_step + p * k_step];
      }
    } else if (lanes_adjacent) {
      for (std::size_t p = 0; p < k; ++p) {
        __builtin_memcpy(panel + p * width, from + p * ld, width * sizeof(T));
      }
    } else {
      pack_transposed<T, width>(from, ld, k, panel);
    }
  }
}

// c = alpha (the sums over k of a panel of A times a panel of B) + beta c, for the m x n of them
// that exist. The tile of sums, `rows` x `vectors`, stays in registers.
template <class T, std::size_t rows, std::size_t vectors>
void multiply_tile(std::size_t k, const T* a, const T* b, T alpha, T beta, T* c, std::size_t ldc,
                   std::size_t m, std::size_t n) {
  using S = Tile<T>;
  using Vector = typename S::Vector;
  Vector sum[rows][vectors] = {};
  for (std::size_t p = 0; p < k; ++p, a += S::rows, b += S::columns) {
    Vector row[vectors];
#pragma GCC unroll 4
    for (std::size_t j = 0; j < vectors; ++j) {
      __builtin_memcpy(&row[j], b + j * S::lanes, sizeof(Vector));
    }
#pragma GCC unroll 16
    for (std::size_t i = 0; i < rows; ++i) {
#pragma GCC unroll 4
      for (std::size_t j = 0; j < vectors; ++j) sum[i][j] += a[i] * row[j];
    }
  }
  if (m == rows && n == vectors * S::lanes) {
#pragma GCC unroll 16
    for (std::size_t i = 0; i < rows; ++i) {
#pragma GCC unroll 4
      for (std::size_t j = 0; j < vectors; ++j) {
        T* out = c + i * ldc + j * S::lanes;
        Vector value = alpha * sum[i][j];
        if (beta != T{0}) {
          Vector old;
          __builtin_memcpy(&old, out, sizeof old);
          value += beta * old;
        }
        __builtin_memcpy(out, &value, sizeof value);
      }
    }
    return;
  }
  T edge[rows][vectors * S::lanes];
  __builtin_memcpy(edge, sum, sizeof edge);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      T& out = c[i * ldc + j];
      out = alpha * edge[i][j] + (beta == T{0} ? T{0} : beta * out);
    }
  }
}

// The smallest of the tiles that hold m x n: a full one, or half of it either way.
template <class T>
VITRUVIAN_INLINE void multiply_panels(std::size_t k, const T* a, const T* b, T alpha, T beta, T* c,
                                      std::size_t ldc, std::size_t m, std::size_t n) {
  using S = Tile<T>;
  constexpr std::size_t half = S::rows / 2;
  if (m > half) {
    if (n > S::lanes) return multiply_tile<T, S::rows, 2>(k, a, b, alpha, beta, c, ldc, m, n);
    return multiply_tile<T, S::rows, 1>(k, a, b, alpha, beta, c, ldc, m, n);
  }
  if (n > S::lanes) return multiply_tile<T, half, 2>(k, a, b, alpha, beta, c, ldc, m, n);
  return multiply_tile<T, half, 1>(k, a, b, alpha, beta, c, ldc, m, n);
}

template <class T>
void product(const Gemm<T>& g, T* workspace) {
  using S = Tile<T>;
  T* const packed_a = workspace;
  T* const packed_b = workspace + S::block_m * S::block_k;
  for (std::size_t j = 0; j < g.n; j += S::block_n) {
    const std::size_t n = smaller(S::block_n, g.n - j);
    std::size_t p = 0;
    do {  // once even for k = 0, which leaves beta C
      const std::size_t k = smaller(S::block_k, g.k - p);
      const T beta = p == 0 ? g.beta : T{1};
      if (k > 0) {
        const T* b = g.trans_b ? g.b + j * g.ldb + p : g.b + p * g.ldb + j;
        pack<T, S::columns>(b, g.ldb, !g.trans_b, n, k, packed_b);
      }
      for (std::size_t i = 0; i < g.m; i += S::block_m) {
        const std::size_t m = smaller(S::block_m, g.m - i);
        if (k > 0) {
          const T* a = g.trans_a ? g.a + p * g.lda + i : g.a + i * g.lda + p;
          pack<T, S::rows>(a, g.lda, g.trans_a, m, k, packed_a);
        }
        for (std::size_t jj = 0; jj < n; jj += S::columns) {
          for (std::size_t ii = 0; ii < m; ii += S::rows) {
            multiply_panels(k, packed_a + ii * k, packed_b + jj * k, g.alpha, beta,
                            g.c + (i + ii) * g.ldc + j + jj, g.ldc, smaller(S::rows, m - ii),
                            smaller(S::columns, n - jj));
          }
        }
      }
      p += S::block_k;
    } while (p < g.k);
  }
}
