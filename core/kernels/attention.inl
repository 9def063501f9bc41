// Dropout's random words and the attention of one image and head. Included by isa.cpp only.

// Philox4x32-10 at the counters first, first + 1, ... (as `philox` of core/rng.cpp), side by side:
// words[4 i + j] is word j of counter first + i.
constexpr std::size_t philox_lanes = 16;
VITRUVIAN_INLINE void philox_words(std::uint64_t first, std::uint64_t key, std::uint32_t* words) {
  std::uint32_t c0[philox_lanes], c1[philox_lanes], c2[philox_lanes] = {}, c3[philox_lanes] = {};
  for (std::size_t i = 0; i < philox_lanes; ++i) {
    c0[i] = static_cast<std::uint32_t>(first + i);
    c1[i] = static_cast<std::uint32_t>((first + i) >> 32U);
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
void dropout(const T* x, T* y, std::uint64_t first, std::size_t n, const DropoutRule<T>& rule) {
  constexpr std::size_t block = 4 * philox_lanes;
  const std::uint32_t limit = rule.limit;
  const T scale = rule.scale;
  std::uint32_t words[block];
  std::size_t skip = static_cast<std::size_t>(first % 4);
  std::uint64_t counter = first / 4;
  for (std::size_t i = 0; i < n; counter += philox_lanes) {
    philox_words(counter, rule.key, words);
    const std::size_t count = smaller(block - skip, n - i);
#pragma omp simd
    for (std::size_t j = 0; j < count; ++j) {
      y[i + j] = x[i + j] * (words[skip + j] > limit ? scale : T{0});
    }
    i += count;
    skip = 0;
  }
}

template <class T>
void attention(const HeadMatrices<T>& h, const T* bias, const DropoutRule<T>& rule,
               std::uint64_t first, T* o, std::size_t o_ld, T* probs, T* workspace) {
  const std::size_t area = h.T_q * h.S;
  const T scale = static_cast<T>(1 / __builtin_sqrt(static_cast<double>(h.E)));
  T* const packing = workspace + area;
  product<T>({.m = h.T_q,
              .n = h.S,
              .k = h.E,
              .a = h.q,
              .lda = h.q_ld,
              .b = h.k,
              .ldb = h.k_ld,
              .trans_b = true,
              .c = probs,
              .ldc = h.S,
              .alpha = scale},
             packing);
  if (bias) {
#pragma omp simd
    for (std::size_t i = 0; i < area; ++i) probs[i] += bias[i];
  }
  softmax(probs, probs, h.T_q, h.S);
  const T* used = probs;
  if (rule.active) {
    dropout(probs, workspace, first, area, rule);
    used = workspace;
  }
  product<T>({.m = h.T_q,
              .n = h.F,
              .k = h.S,
              .a = used,
              .lda = h.S,
              .b = h.v,
              .ldb = h.v_ld,
              .c = o,
              .ldc = o_ld},
             packing);
}

template <class T>
void attention_vjp(const HeadMatrices<T>& h, const T* probs, const DropoutRule<T>& rule,
                   std::uint64_t first, const T* go, std::size_t go_ld, T* dq, std::size_t dq_ld,
                   T* dk, std::size_t dk_ld, T* dv, std::size_t dv_ld, T* dscores, T* workspace) {
  const std::size_t area = h.T_q * h.S;
  const T scale = static_cast<T>(1 / __builtin_sqrt(static_cast<double>(h.E)));
  T* const scratch = workspace;
  T* const packing = workspace + area;
  T* const ds = dscores ? dscores : scratch;
  // The saved probabilities come from far away: first row by row, which the processor foresees.
  product<T>({.m = h.T_q,
              .n = h.S,
              .k = h.F,
              .a = go,
              .lda = go_ld,
              .b = h.v,
              .ldb = h.v_ld,
              .trans_b = true,
              .c = scratch,
              .ldc = h.S},
             packing);
  if (rule.active) dropout(scratch, scratch, first, area, rule);
  softmax_vjp(probs, scratch, ds, h.T_q, h.S);
  product<T>({.m = h.T_q,
              .n = h.E,
              .k = h.S,
              .a = ds,
              .lda = h.S,
              .b = h.k,
              .ldb = h.k_ld,
              .c = dq,
              .ldc = dq_ld,
              .alpha = scale},
             packing);
  product<T>({.m = h.S,
              .n = h.E,
              .k = h.T_q,
              .a = ds,
              .lda = h.S,
              .trans_a = true,
              .b = h.q,
              .ldb = h.q_ld,
              .c = dk,
              .ldc = dk_ld,
              .alpha = scale},
             packing);
  const T* used = probs;
  if (rule.active) {
    dropout(probs, scratch, first, area, rule);
    used = scratch;
  }
  product<T>({.m = h.S,
              .n = h.F,
              .k = h.T_q,
              .a = used,
              .lda = h.S,
              .trans_a = true,
              .b = go,
              .ldb = go_ld,
              .c = dv,
              .ldc = dv_ld},
             packing);
}
