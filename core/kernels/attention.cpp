// The faces of dropout and attention.
#include "vitruvian/core/kernels/kernels.hpp"
#include "vitruvian/core/kernels/workspace.hpp"
#include "vitruvian/core/profile.hpp"

#include <cmath>
#include <type_traits>

namespace vitruvian::kernels {
namespace {

template <class T>
DropoutRule<T> dropout_rule(double p, std::uint64_t key) {
  DropoutRule<T> rule{.active = p > 0, .key = key};
  if (rule.active) {
    // word >= p 2^32 for an integer word is word > ceil(p 2^32) - 1
    rule.limit = static_cast<std::uint32_t>(std::ceil(std::min(p, 1.0) * 0x1p32) - 1);
    rule.scale = static_cast<T>(1 / (1 - p));
  }
  return rule;
}

struct ForAttention;

// Products, softmax and their backward: chunks of about a million multiplications.
std::size_t chunk_heads(const AttentionShape& s) {
  return std::max<std::size_t>(1, 1'000'000 / std::max<std::size_t>(1, s.T * s.S * (s.E + s.F)));
}

// Multiplications and additions of the two products; the backward has four of the same size.
std::uint64_t flops(const AttentionShape& s) {
  return 2 * std::uint64_t{s.B} * s.h * s.T * s.S * (s.E + s.F);
}

// Heads of fewer multiplications are sooner multiplied as they are than packed.
constexpr std::size_t worth_rounding = 65536;

// Who multiplies the matrices of a head: the sizes and the precision decide, nothing else.
template <class T>
auto product_of_heads(const AttentionShape& s) {
  if constexpr (std::is_same_v<T, float>) {
    const std::size_t width = std::min(s.E, s.F);
    if (gemm_precision() == GemmPrecision::bfloat16 && s.T * s.S * width >= worth_rounding) {
      return +[](const Gemm<float>& g, float*) { bfloat16_product(g); };
    }
  }
  return table<T>().product;
}

template <class T>
HeadMatrices<T> head_matrices(const AttentionShape& s, const Heads<const T>& q,
                              const Heads<const T>& k, const Heads<const T>& v, std::size_t b,
                              std::size_t i) {
  return {.T_q = s.T,
          .S = s.S,
          .E = s.E,
          .F = s.F,
          .q = q.data + b * q.batch + i * q.head,
          .k = k.data + b * k.batch + i * k.head,
          .v = v.data + b * v.batch + i * v.head,
          .q_ld = q.token,
          .k_ld = k.token,
          .v_ld = v.token,
          .product = product_of_heads<T>(s)};
}

}  // namespace

template <class T>
void dropout(const T* x, T* y, std::size_t matrices, std::size_t n, double p, std::uint64_t key) {
  const DropoutRule<T> rule = dropout_rule<T>(p, key);
  if (!rule.active) {
    std::copy(x, x + matrices * n, y);
    return;
  }
  const auto body = table<T>().dropout;
  constexpr std::size_t most = 32768;  // of a matrix at once, a multiple of 4
  const std::size_t parts = (n + most - 1) / most;
  const std::size_t chunk = std::max<std::size_t>(1, most / std::max<std::size_t>(1, n));
  parallel_for(matrices * parts, chunk, [&](std::size_t begin, std::size_t end) {
    for (std::size_t part = begin; part < end; ++part) {
      const std::size_t matrix = part / parts;
      const std::size_t first = part % parts * most;
      const std::size_t at = matrix * n + first;
      body(x + at, y + at, matrix, first, std::min(most, n - first), rule);
    }
  });
}

template <class T>
std::size_t attention_row(const AttentionShape& s) {
  return table<T>().attention_row(s.T);
}

template <class T>
void attention(const AttentionShape& s, Heads<const T> q, Heads<const T> k, Heads<const T> v,
               AttentionBias<T> bias, double p, std::uint64_t key, Heads<T> o, T* probs) {
  const Table<T>& bodies = table<T>();
  const DropoutRule<T> rule = dropout_rule<T>(p, key);
  const std::size_t area = s.S * attention_row<T>(s);
  const std::size_t needed =
      bodies.attention_workspace(head_matrices(s, q, k, v, 0, 0), rule) + bodies.product_workspace;
  Profile::count_flops(flops(s));
  parallel_for(s.B * s.h, chunk_heads(s), [&](std::size_t begin, std::size_t end) {
    T* const scratch = workspace<T, ForAttention>(needed + (probs == nullptr ? area : 0));
    for (std::size_t head = begin; head < end; ++head) {
      const std::size_t b = head / s.h;
      const std::size_t i = head % s.h;
      bodies.attention(head_matrices(s, q, k, v, b, i),
                       bias.data ? bias.data + b * bias.batch + i * bias.head : nullptr, rule, head,
                       o.data + b * o.batch + i * o.head, o.token,
                       probs == nullptr ? scratch + needed : probs + head * area, scratch);
    }
  });
}

template <class T>
void attention_vjp(const AttentionShape& s, Heads<const T> q, Heads<const T> k, Heads<const T> v,
                   const T* probs, double p, std::uint64_t key, Heads<const T> go, Heads<T> dq,
                   Heads<T> dk, Heads<T> dv, T* dscores) {
  const Table<T>& bodies = table<T>();
  const DropoutRule<T> rule = dropout_rule<T>(p, key);
  const std::size_t area = s.S * attention_row<T>(s);
  const std::size_t needed =
      bodies.attention_workspace(head_matrices(s, q, k, v, 0, 0), rule) + bodies.product_workspace;
  Profile::count_flops(2 * flops(s));
  parallel_for(s.B * s.h, chunk_heads(s), [&](std::size_t begin, std::size_t end) {
    T* const scratch = workspace<T, ForAttention>(needed);
    for (std::size_t head = begin; head < end; ++head) {
      const std::size_t b = head / s.h;
      const std::size_t i = head % s.h;
      const auto at = [&](const auto& heads) {
        return heads.data + b * heads.batch + i * heads.head;
      };
      bodies.attention_vjp(head_matrices(s, q, k, v, b, i), probs + head * area, rule, head, at(go),
                           go.token, at(dq), dq.token, at(dk), dk.token, at(dv), dv.token,
                           dscores ? dscores + head * s.T * s.S : nullptr, scratch);
    }
  });
}

#define VITRUVIAN_INSTANTIATE(T)                                                                 \
  template void dropout(const T*, T*, std::size_t, std::size_t, double, std::uint64_t);          \
  template std::size_t attention_row<T>(const AttentionShape&);                                  \
  template void attention(const AttentionShape&, Heads<const T>, Heads<const T>, Heads<const T>, \
                          AttentionBias<T>, double, std::uint64_t, Heads<T>, T*);                \
  template void attention_vjp(const AttentionShape&, Heads<const T>, Heads<const T>,             \
                              Heads<const T>, const T*, double, std::uint64_t, Heads<const T>,   \
                              Heads<T>, Heads<T>, Heads<T>, T*)

VITRUVIAN_INSTANTIATE(float);
VITRUVIAN_INSTANTIATE(double);
#undef VITRUVIAN_INSTANTIATE

}  // namespace vitruvian::kernels
