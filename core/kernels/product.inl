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
  static constexpr std::size_t block_k = sizeof(T) == 4 ? most_steps : 192;
};

template <class T>
using Vector = typename Tile<T>::Vector;
template <class T>
VITRUVIAN_INLINE Vector<T> load(const T* from) {
  Vector<T> v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
template <class V, class T>
VITRUVIAN_INLINE void store(T* to, V v) {
  __builtin_memcpy(to, &v, sizeof v);
}
// Of each lane: a, where it is larger than b; b where either is NaN.
template <class V>
VITRUVIAN_INLINE V larger(V a, V b) {
  return a > b ? a : b;
}

// Elements of a panel of k steps, `width` lanes each, and a line of the cache: the next panel
// begins in another set.
template <class T>
VITRUVIAN_INLINE constexpr std::size_t panel_elements(std::size_t width, std::size_t k) {
  return width * k + 64 / sizeof(T);
}
template <class T>
constexpr std::size_t elements_of_a = Tile<T>::block_m /
                                      Tile<T>::rows* panel_elements<T>(Tile<T>::rows,
                                                                       Tile<T>::block_k);
template <class T>
constexpr std::size_t elements_of_b = Tile<T>::block_n /
                                      Tile<T>::columns* panel_elements<T>(Tile<T>::columns,
                                                                          Tile<T>::block_k);
template <class T>
constexpr std::size_t product_workspace = elements_of_a<T> + elements_of_b<T>;

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

// The elements of a and b in turns: those of their lower halves, or of their upper ones.
template <bool upper, class V, std::size_t... i>
VITRUVIAN_INLINE V in_turns(V a, V b, std::index_sequence<i...>) {
  constexpr std::size_t n = sizeof...(i);
  return __builtin_shufflevector(a, b, (i / 2 + i % 2 * n + (upper ? n / 2 : 0))...);
}

// The same for a square of as many rows as a vector has lanes: where the upper half of the rows is
// dealt between the lower one's, again and again, each row becomes a column.
template <class T>
VITRUVIAN_INLINE void transpose_square(const T* from, std::size_t from_step, T* to,
                                       std::size_t to_step) {
  constexpr std::size_t n = Tile<T>::lanes;
  constexpr auto lanes = std::make_index_sequence<n>();
  Vector<T> x[n], y[n];
#pragma GCC unroll 16
  for (std::size_t i = 0; i < n; ++i) x[i] = load(from + i * from_step);
#pragma GCC unroll 4
  for (std::size_t round = 1; round < n; round *= 2) {
#pragma GCC unroll 8
    for (std::size_t i = 0; i < n / 2; ++i) {
      y[2 * i] = in_turns<false>(x[i], x[i + n / 2], lanes);
      y[2 * i + 1] = in_turns<true>(x[i], x[i + n / 2], lanes);
    }
#pragma GCC unroll 16
    for (std::size_t i = 0; i < n; ++i) x[i] = y[i];
  }
#pragma GCC unroll 16
  for (std::size_t j = 0; j < n; ++j) store(to + j * to_step, x[j]);
}

// to[p][i] = from[i][p] for i < rows, p < columns: squares of whole vectors, then of four, a few
// lines of the cache at a time, then one by one.
template <class T>
void transpose(const T* from, std::size_t from_step, std::size_t rows, std::size_t columns, T* to,
               std::size_t to_step) {
  constexpr std::size_t n = Tile<T>::lanes;
  const std::size_t squares = rows / n * n;
  const std::size_t across = squares > 0 ? columns / n * n : 0;
  for (std::size_t i = 0; i < squares; i += n) {
    for (std::size_t p = 0; p < across; p += n) {
      transpose_square(from + i * from_step + p, from_step, to + p * to_step + i, to_step);
    }
  }
  const auto by_four = [=](std::size_t row, std::size_t last_row, std::size_t column) {
    const std::size_t fours = row + (last_row - row) / 4 * 4;
    constexpr std::size_t block = 16;
    for (std::size_t first = row; first < fours; first += block) {
      const std::size_t last = smaller(first + block, fours);
      for (std::size_t p = column; p + 4 <= columns; p += 4) {
        for (std::size_t i = first; i < last; i += 4) {
          transpose_4x4(from + i * from_step + p, from_step, to + p * to_step + i, to_step);
        }
      }
    }
    for (std::size_t p = column + (columns - column) / 4 * 4; p < columns; ++p) {
      for (std::size_t i = row; i < fours; ++i) to[p * to_step + i] = from[i * from_step + p];
    }
    for (std::size_t i = fours; i < last_row; ++i) {
      for (std::size_t p = column; p < columns; ++p) to[p * to_step + i] = from[i * from_step + p];
    }
  };
  if (across < columns) by_four(0, squares, across);
  by_four(squares, rows, 0);
}

// Panels of `width` lanes (rows of A, columns of B) by k steps; missing lanes are 0. Either the
// lanes are adjacent and steps are `ld` apart, or the other way round. Adjacent ones are read a few
// steps at a time, every panel's: where rows lie 2 KB apart, whoever follows one panel down finds
// the lines of the cache gone that its neighbour reads next.
template <class T, std::size_t width>
void pack(const T* source, std::size_t ld, bool lanes_adjacent, std::size_t lanes, std::size_t k,
          T* panel) {
  constexpr std::size_t few = 16;
  const std::size_t step = panel_elements<T>(width, k);
  const std::size_t whole = lanes_adjacent ? lanes / width * width : 0;
  for (std::size_t begin = 0; whole > 0 && begin < k; begin += few) {
    const std::size_t end = smaller(k, begin + few);
    for (std::size_t first = 0; first < whole; first += width) {
      T* const to = panel + first / width * step;
      for (std::size_t p = begin; p < end; ++p) {
        __builtin_memcpy(to + p * width, source + p * ld + first, width * sizeof(T));
      }
    }
  }
  panel += whole / width * step;
  for (std::size_t first = whole; first < lanes; first += width, panel += step) {
    const T* from = source + first * (lanes_adjacent ? 1 : ld);
    const std::size_t n = smaller(width, lanes - first);
    if (n < width) __builtin_memset(panel, 0, width * k * sizeof(T));
    if (lanes_adjacent) {
      for (std::size_t p = 0; p < k; ++p) {
        for (std::size_t i = 0; i < n; ++i) panel[p * width + i] = from[p * ld + i];
      }
    } else {
      transpose(from, ld, n, k, panel, width);
    }
  }
}

// Where the tile finds its factors: element (lane i, step p) of A at a[i * a_lane + p * a_step],
// with a_lane 1 where `adjacent`; row p of B at b + p * b_step.
template <class T>
struct Factors {
  std::size_t k;
  const T* a;
  std::size_t a_lane, a_step;
  const T* b;
  std::size_t b_step;
};

// c = alpha (the sums over k) + beta c, for the m x n of rows x vectors that exist. The sums stay
// in registers, all of which a function of its own has.
template <class T, std::size_t rows, std::size_t vectors, bool adjacent>
[[gnu::noinline]] void multiply_tile(const Factors<T>& f, T alpha, T beta, T* c, std::size_t ldc,
                                     std::size_t m, std::size_t n) {
  using S = Tile<T>;
  using Vector = typename S::Vector;
  Vector sum[rows][vectors] = {};
  if (m == rows && f.k >= 64) {  // the result's lines arrive while the sums are computed
#pragma GCC unroll 16
    for (std::size_t i = 0; i < rows; ++i) {
#pragma GCC unroll 4
      for (std::size_t j = 0; j < vectors; ++j) {
        __builtin_prefetch(c + i * ldc + j * S::lanes, 1);
      }
    }
  }
  // Three pointers to a column of A: as many as reach 13 rows without a distance that is fetched
  // from memory each step. The next lines of B arrive before they are asked for.
  constexpr std::size_t third = rows > 8 ? (rows + 2) / 3 : rows;
  const std::size_t lane = adjacent ? 1 : f.a_lane;
  const std::size_t a_step = adjacent ? f.a_step : 1;
  const T* a[3] = {f.a, f.a + third * lane, f.a + 2 * third * lane};
  const T* const end = f.b + f.k * f.b_step;
#pragma GCC unroll 2
  for (const T* b = f.b; b != end; b += f.b_step) {
#pragma GCC unroll 4
    for (std::size_t j = 0; j < vectors * S::lanes; j += 64 / sizeof(T)) {
      __builtin_prefetch(b + 4 * f.b_step + j);
    }
    Vector row[vectors];
#pragma GCC unroll 4
    for (std::size_t j = 0; j < vectors; ++j) row[j] = load(b + j * S::lanes);
#pragma GCC unroll 16
    for (std::size_t i = 0; i < rows; ++i) {
      const T x = a[i / third][i % third * lane];
#pragma GCC unroll 4
      for (std::size_t j = 0; j < vectors; ++j) sum[i][j] += x * row[j];
    }
    for (const T*& column : a) column += a_step;
  }
  if (m == rows && n == vectors * S::lanes) {
#pragma GCC unroll 16
    for (std::size_t i = 0; i < rows; ++i) {
#pragma GCC unroll 4
      for (std::size_t j = 0; j < vectors; ++j) {
        T* const out = c + i * ldc + j * S::lanes;
        Vector value = alpha * sum[i][j];
        if (beta != T{0}) value += beta * load(out);
        store(out, value);
      }
    }
    return;
  }
  // An array that is indexed by what is known at run time lives in memory: not the sums themselves.
  T whole[rows * vectors * S::lanes];
#pragma GCC unroll 16
  for (std::size_t i = 0; i < rows; ++i) {
#pragma GCC unroll 4
    for (std::size_t j = 0; j < vectors; ++j)
      store(whole + (i * vectors + j) * S::lanes, sum[i][j]);
  }
  const auto write = [&](std::size_t i, std::size_t l) {
    T& out = c[i * ldc + l];
    out = alpha * whole[i * vectors * S::lanes + l] + (beta == T{0} ? T{0} : beta * out);
  };
  const std::size_t even = n / S::lanes * S::lanes;
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t l = 0; l < even; ++l) write(i, l);
  }
  for (std::size_t l = even; l < n; ++l) {
    for (std::size_t i = 0; i < m; ++i) write(i, l);
  }
}

template <class T, std::size_t rows, bool adjacent>
VITRUVIAN_INLINE void multiply_columns(const Factors<T>& f, T alpha, T beta, T* c, std::size_t ldc,
                                       std::size_t m, std::size_t n) {
  if (n > Tile<T>::lanes) return multiply_tile<T, rows, 2, adjacent>(f, alpha, beta, c, ldc, m, n);
  return multiply_tile<T, rows, 1, adjacent>(f, alpha, beta, c, ldc, m, n);
}

// At most `S::rows` rows against one panel of B. Rows that do not exist may be read where A was
// packed (they are 0 there), and nowhere else: tiles of four and of one do the last few.
template <class T, bool adjacent>
void multiply_panel(Factors<T> f, bool packed_a, T alpha, T beta, T* c, std::size_t ldc,
                    std::size_t m, std::size_t n) {
  using S = Tile<T>;
  if (m == S::rows || (packed_a && m > 4)) {
    return multiply_columns<T, S::rows, adjacent>(f, alpha, beta, c, ldc, m, n);
  }
  while (m > 0) {
    const std::size_t done = packed_a ? m : m >= 4 ? 4 : 1;
    if (done == 1 && !packed_a) {
      multiply_columns<T, 1, adjacent>(f, alpha, beta, c, ldc, 1, n);
    } else {
      multiply_columns<T, 4, adjacent>(f, alpha, beta, c, ldc, done, n);
    }
    f.a += done * f.a_lane;
    c += done * ldc;
    m -= done;
  }
}

template <class T>
constexpr std::size_t steps_of(std::size_t k) {
  return sizeof(T) == 4 ? block_of_steps(k) : Tile<T>::block_k;
}

// As `product` packs them: of each block of columns all blocks of steps.
template <class T>
std::size_t panels(std::size_t n, std::size_t k) {
  constexpr std::size_t width = Tile<T>::columns;
  std::size_t elements = 0;
  for (std::size_t p = 0; p < k; p += steps_of<T>(k)) {
    elements += panel_elements<T>(width, smaller(steps_of<T>(k), k - p));
  }
  return (n + width - 1) / width * elements;
}

template <class T>
void product(const Gemm<T>& g, T* workspace) {
  using S = Tile<T>;
  // Packing pays when it is read often, A by many panels of B and B by many rows of A, or where
  // rows lie a page apart, so that they would fight for the same lines of the cache. Otherwise
  // factors are read where they lie, B if it lies in rows of whole vectors. A transposed A has a
  // step in each row: fewer panels pay for it.
  const bool page_apart = !g.trans_a && g.lda * sizeof(T) % 4096 == 0;
  const bool pack_a = g.n > S::block_n || page_apart || (g.trans_a && g.n >= 4 * S::columns);
  const bool pack_b = g.panels || g.trans_b || g.n % S::lanes != 0 || g.m > 8 * S::rows;
  T* const packed_a = workspace;
  T* packed_b = g.panels ? static_cast<T*>(g.panels) : workspace + elements_of_a<T>;
  const std::size_t steps = steps_of<T>(g.k);
  for (std::size_t j = 0; j < g.n; j += S::block_n) {
    const std::size_t n = smaller(S::block_n, g.n - j);
    std::size_t p = 0;
    do {  // once even for k = 0, which leaves beta C
      const std::size_t k = smaller(steps, g.k - p);
      const T beta = p == 0 ? g.beta : T{1};
      const T* const b = g.trans_b ? g.b + j * g.ldb + p : g.b + p * g.ldb + j;
      if (pack_b && !g.packed && k > 0) {
        pack<T, S::columns>(b, g.ldb, !g.trans_b, n, k, packed_b);
      }
      for (std::size_t i = 0; i < g.m; i += S::block_m) {
        const std::size_t m = smaller(S::block_m, g.m - i);
        const T* const a = g.trans_a ? g.a + p * g.lda + i : g.a + i * g.lda + p;
        if (pack_a && k > 0) pack<T, S::rows>(a, g.lda, g.trans_a, m, k, packed_a);
        // Row of tiles by row of tiles: A's stays in the first-level cache, and C's is written
        // where the last one ended.
        for (std::size_t ii = 0; ii < m; ii += S::rows) {
          const std::size_t rows = smaller(S::rows, m - ii);
          for (std::size_t jj = 0; jj < n; jj += S::columns) {
            Factors<T> f{.k = k,
                         .a = a + ii * (g.trans_a ? 1 : g.lda),
                         .a_lane = g.trans_a ? 1 : g.lda,
                         .a_step = g.trans_a ? g.lda : 1,
                         .b = pack_b ? packed_b + jj / S::columns * panel_elements<T>(S::columns, k)
                                     : b + jj,
                         .b_step = pack_b ? S::columns : g.ldb};
            if (pack_a) {
              f.a = packed_a + ii / S::rows * panel_elements<T>(S::rows, k);
              f.a_lane = 1;
              f.a_step = S::rows;
            }
            T* const c = g.c + (i + ii) * g.ldc + j + jj;
            const std::size_t columns = smaller(S::columns, n - jj);
            if (f.a_lane == 1) {
              multiply_panel<T, true>(f, pack_a, g.alpha, beta, c, g.ldc, rows, columns);
            } else {
              multiply_panel<T, false>(f, pack_a, g.alpha, beta, c, g.ldc, rows, columns);
            }
          }
        }
      }
      if (g.panels)
        packed_b += (n + S::columns - 1) / S::columns * panel_elements<T>(S::columns, k);
      p += steps;
    } while (p < g.k);
  }
}
