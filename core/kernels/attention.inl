// Dropout's random words and the attention of one image and head. Included by isa.cpp only.

// Philox4x32-10 at the counters (first, matrix), (first + 1, matrix), ... (as `philox` of
// core/base/rng.cpp), side by side: words[4 i + j] is word j of counter first + i.
constexpr std::size_t philox_lanes = 16;
VITRUVIAN_INLINE void philox_words(std::uint64_t first, std::uint64_t matrix, std::uint64_t key,
                                   std::uint32_t* words) {
  std::uint32_t c0[philox_lanes], c1[philox_lanes], c2[philox_lanes], c3[philox_lanes];
  for (std::size_t i = 0; i < philox_lanes; ++i) {
    c0[i] = static_cast<std::uint32_t>(first + i);
    c1[i] = static_cast<std::uint32_t>((first + i) >> 32U);
    c2[i] = static_cast<std::uint32_t>(matrix);
    c3[i] = static_cast<std::uint32_t>(matrix >> 32U);
  }
  std::uint32_t k0 = static_cast<std::uint32_t>(key);
  std::uint32_t k1 = static_cast<std::uint32_t>(key >> 32U);
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9U, k1 += 0xBB67AE85U) {
#pragma omp simd
    for (std::size_t i = 0; i < philox_lanes; ++i) {
      const std::uint64_t product0 = std::uint64_t{0xD2511F53U} * c0[i];
      const std::uint64_t product1 = std::uint64_t{0xCD9E8D57U} * c2[i];
      c0[i] = static_cast<std::uint32_t>(product1 >> 32U) ^ c1[i] ^ k0;
      c1[i] = static_cast<std::uint32_t>(product1);
      c2[i] = static_cast<std::uint32_t>(product0 >> 32U) ^ c3[i] ^ k1;
      c3[i] = static_cast<std::uint32_t>(product0);
    }
  }
  for (std::size_t i = 0; i < philox_lanes; ++i) {
    words[4 * i] = c0[i];
    words[4 * i + 1] = c1[i];
    words[4 * i + 2] = c2[i];
    words[4 * i + 3] = c3[i];
  }
}

template <class T>
void dropout(const T* x, T* y, std::uint64_t matrix, std::uint64_t first, std::size_t n,
             const DropoutRule<T>& rule) {
  constexpr std::size_t block = 4 * philox_lanes;
  const std::uint32_t limit = rule.limit;
  const T scale = rule.scale;
  std::uint32_t words[block];
  for (std::size_t i = 0; i < n; i += block) {
    philox_words((first + i) / 4, matrix, rule.key, words);
    const std::size_t count = smaller(block, n - i);
#pragma omp simd
    for (std::size_t j = 0; j < count; ++j) {
      y[i + j] = x[i + j] * (words[j] > limit ? scale : T{0});
    }
  }
}

// The scores lie transposed, a key's in a row of whole vectors: S^T = k q^T (S, row). A softmax
// over keys then is arithmetic of vectors, one query a lane, and no product ends in the middle of
// one. The columns beyond the last query belong to queries of zeros; nobody reads them.
template <class T>
std::size_t attention_row(std::size_t T_q) {
  constexpr std::size_t lanes = Tile<T>::lanes;
  const std::size_t row = (T_q + lanes - 1) / lanes * lanes;
  // Rows a page apart would fight for the same lines of the cache.
  return row > 0 && row * sizeof(T) % 4096 == 0 ? row + lanes : row;
}

// Elements of scratch that both ways need: dS^T, and beside it q^T, go^T or P after dropout.
template <class T>
std::size_t attention_workspace(const HeadMatrices<T>& h, const DropoutRule<T>& rule) {
  const std::size_t row = attention_row<T>(h.T_q);
  const std::size_t beside = h.E > h.F ? h.E : h.F;
  return row * (h.S + (rule.active && h.S > beside ? h.S : beside));
}

// x^T of x (T_q, width): width rows of `row` elements, 0 beyond the last query.
template <class T>
void columns_of(const T* x, std::size_t ld, std::size_t T_q, std::size_t width, T* to,
                std::size_t row) {
  if (T_q < row) __builtin_memset(to, 0, width * row * sizeof(T));
  transpose(x, ld, T_q, width, to, row);
}

// The sum of term(i) over one vector of columns, i = j, j + row, ... In groups of rows, so that the
// error grows with their number and not with that of the keys.
template <class T, class Term>
VITRUVIAN_INLINE Vector<T> sum_of_columns(std::size_t j, std::size_t rows, std::size_t row,
                                          const Term& term) {
  constexpr std::size_t group = 64;
  Vector<T> sum = {};
  for (std::size_t first = 0; first < rows; first += group) {
    Vector<T> part = {};
    for (std::size_t r = first; r < smaller(rows, first + group); ++r) part += term(r * row + j);
    sum += part;
  }
  return sum;
}

template <class T>
void softmax_columns(T* x, std::size_t rows, std::size_t row) {
  constexpr std::size_t lanes = Tile<T>::lanes;
  for (std::size_t j = 0; j < row; j += lanes) {
    auto most = Vector<T>{} - Format<T>::infinity;
    for (std::size_t i = j; i < rows * row; i += row) most = larger(load(x + i), most);
    for (std::size_t i = j; i < rows * row; i += row) {
      store(x + i, exp_or_zero_of<T>(load(x + i) - most));
    }
    const Vector<T> sum =
        sum_of_columns<T>(j, rows, row, [&](std::size_t i) { return load(x + i); });
    const Vector<T> scale = T{1} / sum;
    for (std::size_t i = j; i < rows * row; i += row) store(x + i, load(x + i) * scale);
  }
}

// g becomes y (g - sum(y g)), the sum of a column.
template <class T>
void softmax_columns_vjp(const T* y, T* g, std::size_t rows, std::size_t row) {
  for (std::size_t j = 0; j < row; j += Tile<T>::lanes) {
    const Vector<T> dot =
        sum_of_columns<T>(j, rows, row, [&](std::size_t i) { return load(y + i) * load(g + i); });
    for (std::size_t i = j; i < rows * row; i += row) {
      store(g + i, load(y + i) * (load(g + i) - dot));
    }
  }
}

// A matrix of a product as it lies in memory: its elements, from a row to the next, and whether its
// transpose is meant.
template <class T>
struct Operand {
  const T* data;
  std::size_t step;
  bool transposed = false;
};

// c = scale a b of (m, k) x (k, n), on this thread.
template <class T>
VITRUVIAN_INLINE void head_product(const HeadMatrices<T>& h, std::size_t m, std::size_t n,
                                   std::size_t k, Operand<T> a, Operand<T> b, T* c,
                                   std::size_t c_step, T scale, T* packing) {
  h.product({.m = m,
             .n = n,
             .k = k,
             .a = a.data,
             .lda = a.step,
             .trans_a = a.transposed,
             .b = b.data,
             .ldb = b.step,
             .trans_b = b.transposed,
             .c = c,
             .ldc = c_step,
             .alpha = scale},
            packing);
}

template <class T>
void attention(const HeadMatrices<T>& h, const T* bias, const DropoutRule<T>& rule,
               std::uint64_t matrix, T* o, std::size_t o_ld, T* probs, T* workspace) {
  const std::size_t row = attention_row<T>(h.T_q);
  const T scale = static_cast<T>(1 / __builtin_sqrt(static_cast<double>(h.E)));
  T* const scratch = workspace;
  T* const packing = workspace + attention_workspace<T>(h, rule);
  columns_of(h.q, h.q_ld, h.T_q, h.E, scratch, row);
  head_product<T>(h, h.S, row, h.E, {h.k, h.k_ld}, {scratch, row}, probs, row, scale, packing);
  if (bias) {
    for (std::size_t s = 0; s < h.S; ++s) {
      for (std::size_t t = 0; t < h.T_q; ++t) probs[s * row + t] += bias[t * h.S + s];
    }
  }
  softmax_columns(probs, h.S, row);
  Operand<T> weights{probs, row, true};
  if (rule.active) {
    transpose(probs, row, h.S, h.T_q, scratch, h.S);
    dropout(scratch, scratch, matrix, 0, h.T_q * h.S, rule);
    weights = {scratch, h.S, false};
  }
  head_product<T>(h, h.T_q, h.F, h.S, weights, {h.v, h.v_ld}, o, o_ld, T{1}, packing);
}

template <class T>
void attention_vjp(const HeadMatrices<T>& h, const T* probs, const DropoutRule<T>& rule,
                   std::uint64_t matrix, const T* go, std::size_t go_ld, T* dq, std::size_t dq_ld,
                   T* dk, std::size_t dk_ld, T* dv, std::size_t dv_ld, T* dscores, T* workspace) {
  const std::size_t row = attention_row<T>(h.T_q);
  const T scale = static_cast<T>(1 / __builtin_sqrt(static_cast<double>(h.E)));
  T* const ds = workspace;  // first dP^T, then dS^T
  T* const scratch = ds + h.S * row;
  T* const packing = workspace + attention_workspace<T>(h, rule);
  columns_of(go, go_ld, h.T_q, h.F, scratch, row);
  head_product<T>(h, h.S, row, h.F, {h.v, h.v_ld}, {scratch, row}, ds, row, T{1}, packing);
  if (rule.active) {
    transpose(ds, row, h.S, h.T_q, scratch, h.S);
    dropout(scratch, scratch, matrix, 0, h.T_q * h.S, rule);
    transpose(scratch, h.S, h.T_q, h.S, ds, row);
  }
  softmax_columns_vjp(probs, ds, h.S, row);
  if (dscores) transpose(ds, row, h.S, h.T_q, dscores, h.S);
  head_product<T>(h, h.T_q, h.E, h.S, {ds, row, true}, {h.k, h.k_ld}, dq, dq_ld, scale, packing);
  head_product<T>(h, h.S, h.E, h.T_q, {ds, row}, {h.q, h.q_ld}, dk, dk_ld, scale, packing);
  Operand<T> weights{probs, row};
  if (rule.active) {
    transpose(probs, row, h.S, h.T_q, scratch, h.S);
    dropout(scratch, scratch, matrix, 0, h.T_q * h.S, rule);
    weights = {scratch, h.S, true};
  }
  head_product<T>(h, h.S, h.F, h.T_q, weights, {go, go_ld}, dv, dv_ld, T{1}, packing);
}
