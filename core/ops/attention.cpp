#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/composed.hpp"
#include "vitruvian/core/kernels/kernels.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/core/ops/rows.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

// S = q k^T / sqrt(E) + bias, -inf where masked    P = softmax(S)    P' = dropout(P)    o = P' v
//   dv = P'^T g    dP' = g v^T    dS = P (dP - sum(dP P))    dbias = unbroadcast(dS)
//   dq = dS k / sqrt(E)           dk = dS^T q / sqrt(E)
// Vaswani et al. 2017, arXiv 1706.03762, equation 1. P is kept for the way back, S and P' are not.

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

using kernels::AttentionShape;

// How the heads of an array lie: on an axis of their own, (..., h, rows, width); or side by side,
// as they are concatenated, (B, rows, h width).
enum class Layout { own_axis, side_by_side };

template <class T>
kernels::Heads<T> heads_of(Layout layout, T* data, std::size_t h, std::size_t rows,
                           std::size_t width) {
  if (layout == Layout::own_axis) return {data, h * rows * width, rows * width, width};
  return {data, rows * h * width, width, h * width};
}

// q, k and v among an op's inputs, or their cotangents: three arrays, or the thirds of one
// (B, T, 3 D), each (h, D_h) wide.
template <class T>
struct Parts {
  kernels::Heads<T> q, k, v;

  Parts(Layout layout, const AttentionShape& s, const std::vector<T*>& x) {
    if (x.size() == 1) {
      const std::size_t D = s.h * s.E;
      const auto third = [&](std::size_t i) -> kernels::Heads<T> {
        return {x[0] + i * D, s.S * 3 * D, s.E, 3 * D};
      };
      q = third(0), k = third(1), v = third(2);
    } else {
      q = heads_of(layout, x[0], s.h, s.T, s.E);
      k = heads_of(layout, x[1], s.h, s.S, s.E);
      v = heads_of(layout, x[2], s.h, s.S, s.F);
    }
  }
};

bool broadcasts(const Shape& shape, const Shape& to) {
  return shape.size() <= to.size() &&
         std::equal(shape.rbegin(), shape.rend(), to.rbegin(),
                    [](std::size_t m, std::size_t n) { return m == 1 || m == n; });
}

void check_options(const char* op, const AttentionOptions& options, const Shape& scores) {
  for (const auto& [name, x] :
       {std::pair{"mask", &options.mask}, std::pair{"bias", &options.bias}}) {
    if (*x && !broadcasts(x->shape(), scores)) {
      fail("{}: {} {} does not broadcast to the scores {}", op, name, to_string(x->shape()),
           to_string(scores));
    }
  }
  if (!(options.dropout >= 0 && options.dropout <= 1)) {
    fail("{}: dropout probability {} is not in [0, 1]", op, options.dropout);
  }
}

// Bias and mask in one array that is added to the scores. Images and heads share it where they can:
// a stride of 0 stands for a leading axis that was never stretched.
struct Added {
  Tensor values;
  kernels::AttentionBias<real> bias;

  Added(const AttentionOptions& options, const AttentionShape& s, const Shape& scores) {
    if (!options.mask && !options.bias) return;
    const NoGrad constant;
    values = options.bias ? options.bias : Tensor(scalar(0));
    if (options.mask) {
      values = where(options.mask.value(), values, scalar(-std::numeric_limits<real>::infinity()));
    }
    const std::size_t leading = scores.size() - 2;
    const auto length = [&](std::size_t axis) {
      const std::size_t added = scores.size() - values.rank();
      return axis < added ? 1 : values.shape()[axis - added];
    };
    bool per_image = false;
    for (std::size_t axis = 0; axis + 1 < leading; ++axis) per_image |= length(axis) != 1;
    const bool per_head = leading > 0 && length(leading - 1) != 1;
    Shape needed = scores;
    if (!per_image) std::fill_n(needed.begin(), leading > 0 ? leading - 1 : 0, std::size_t{1});
    if (!per_head && leading > 0) needed[leading - 1] = 1;
    values = broadcast_to(values, needed);
    const std::size_t head = s.T * s.S;
    bias = {values.value().data(), per_image ? (per_head ? s.h : 1) * head : 0,
            per_head ? head : 0};
  }
};

void check_shapes(const Tensor& q, const Tensor& k, const Tensor& v) {
  for (const auto& [name, x] : {std::pair{"q", &q}, std::pair{"k", &k}, std::pair{"v", &v}}) {
    given("attention", name, *x);
    if (x->rank() < 2) {
      fail("attention: {} {} needs at least the axes (tokens, width)", name, to_string(x->shape()));
    }
  }
  const auto same_leading = [&](const Tensor& x) {
    return x.rank() == q.rank() &&
           std::equal(q.shape().begin(), q.shape().end() - 2, x.shape().begin());
  };
  if (!same_leading(k) || !same_leading(v)) {
    fail("attention: q {}, k {} and v {} differ in their leading axes", to_string(q.shape()),
         to_string(k.shape()), to_string(v.shape()));
  }
  if (k.size(-1) != q.size(-1)) {
    fail("attention: q {} is {} wide but k {} is {}", to_string(q.shape()), q.size(-1),
         to_string(k.shape()), k.size(-1));
  }
  if (v.size(-2) != k.size(-2)) {
    fail("attention: k {} has {} tokens but v {} has {}", to_string(k.shape()), k.size(-2),
         to_string(v.shape()), v.size(-2));
  }
}

Tensor attend(const char* op, Layout layout, const AttentionShape& s, const Shape& scores,
              const Shape& shape, std::vector<Tensor> xs, const AttentionOptions& options) {
  const Added added(options, s, scores);
  const double p = options.rng == nullptr ? 0 : options.dropout;
  const std::uint64_t key = options.rng == nullptr ? 0 : options.rng->key();
  Array o = empty(shape);
  Array probs;  // P^T, which the way back needs: (B, h, S, a row)
  if (!NoGrad::active()) probs = empty({s.B, s.h, s.S, kernels::attention_row<real>(s)});
  std::vector<const real*> data;
  for (const Tensor& x : xs) data.push_back(data_of(x));
  const Parts<const real> in(layout, s, data);
  kernels::attention<real>(s, in.q, in.k, in.v, added.bias, p, key,
                           heads_of(layout, o.data(), s.h, s.T, s.F),
                           NoGrad::active() ? nullptr : probs.data());

  const std::size_t count = xs.size();
  auto vjp = [s, layout, scores, p, key, count, probs = std::move(probs)](const Node& n,
                                                                          const Array& g) {
    Cotangents dxs;
    dxs.reserve(count + 1);  // `to` points into its arrays
    std::vector<const real*> from;
    std::vector<real*> to;
    for (std::size_t i = 0; i < count; ++i) {
      // Nothing comes back to the queries of tokens that did not ask.
      const bool whole = count > 1 || s.T == s.S;
      dxs.emplace_back(whole ? empty(n.in_shape(i)) : zeros(n.in_shape(i)));
      from.push_back(data_of(n, i));
      to.push_back(dxs.back()->data());
    }
    std::optional<Array> dbias;
    if (n.needs(count)) dbias = empty(scores);
    const Parts<const real> x(layout, s, from);
    const Parts<real> dx(layout, s, to);
    kernels::attention_vjp<real>(s, x.q, x.k, x.v, probs.data(), p, key,
                                 heads_of(layout, g.data(), s.h, s.T, s.F), dx.q, dx.k, dx.v,
                                 data_of(dbias));
    if (dbias) dbias = unbroadcast(std::move(*dbias), n.in_shape(count));
    dxs.push_back(std::move(dbias));
    return dxs;
  };
  xs.push_back(options.bias);
  return record(op, std::move(o), xs, std::move(vjp));
}

void check_side_by_side(const Tensor& q, const Tensor& k, const Tensor& v, std::size_t heads) {
  for (const auto& [name, x] : {std::pair{"q", &q}, std::pair{"k", &k}, std::pair{"v", &v}}) {
    given("multi_head_attention", name, *x);
    if (x->rank() != 3) {
      fail("multi_head_attention: {} {} is not (B, tokens, width)", name, to_string(x->shape()));
    }
    if (heads == 0 || x->size(2) % heads != 0) {
      fail("multi_head_attention: width {} of {} {} is not a multiple of {} heads", x->size(2),
           name, to_string(x->shape()), heads);
    }
  }
  if (q.size(0) != k.size(0) || k.size(0) != v.size(0) || k.size(1) != v.size(1) ||
      q.size(2) != k.size(2)) {
    fail("multi_head_attention: q {}, k {} and v {} do not fit: (B, T, D), (B, S, D), (B, S, D_v)",
         to_string(q.shape()), to_string(k.shape()), to_string(v.shape()));
  }
}

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v,
                 const AttentionOptions& options) {
  check_shapes(q, k, v);
  const std::size_t leading = q.rank() - 2;
  const AttentionShape s{.B = flattened(q.shape(), 0, leading == 0 ? 0 : leading - 1),
                         .h = leading == 0 ? 1 : q.shape()[leading - 1],
                         .T = q.size(-2),
                         .S = k.size(-2),
                         .E = q.size(-1),
                         .F = v.size(-1)};
  Shape scores = q.shape();
  scores.back() = s.S;
  check_options("attention", options, scores);
  if (Composed::active() && s.S != 0) return composed::attention(q, k, v, options).output;
  Shape shape = q.shape();
  shape.back() = s.F;
  return attend("attention", Layout::own_axis, s, scores, shape, {q, k, v}, options);
}

Tensor multi_head_attention(const Tensor& q, const Tensor& k, const Tensor& v, std::size_t heads,
                            const AttentionOptions& options) {
  check_side_by_side(q, k, v, heads);
  const AttentionShape s{.B = q.size(0),
                         .h = heads,
                         .T = q.size(1),
                         .S = k.size(1),
                         .E = q.size(2) / heads,
                         .F = v.size(2) / heads};
  const Shape scores{s.B, s.h, s.T, s.S};
  check_options("multi_head_attention", options, scores);
  if (Composed::active() && s.S != 0) {
    return composed::multi_head_attention(q, k, v, heads, options).output;
  }
  return attend("multi_head_attention", Layout::side_by_side, s, scores, {s.B, s.T, v.size(2)},
                {q, k, v}, options);
}

Tensor self_attention(const Tensor& qkv, std::size_t heads, const AttentionOptions& options,
                      std::optional<std::size_t> queries) {
  given("self_attention", "qkv", qkv);
  if (qkv.rank() != 3) fail("self_attention: input {} is not (B, T, 3 D)", to_string(qkv.shape()));
  if (qkv.size(2) % 3 != 0) {
    fail("self_attention: the width {} of input {} is not 3 D: q, k and v side by side",
         qkv.size(2), to_string(qkv.shape()));
  }
  if (heads == 0 || qkv.size(2) % (3 * heads) != 0) {
    fail("self_attention: {} heads do not divide D = {} of input {}, which is (B, T, 3 D)", heads,
         qkv.size(2) / 3, to_string(qkv.shape()));
  }
  const std::size_t tokens = qkv.size(1);
  if (queries && *queries > tokens) {
    fail("self_attention: {} queries, but input {} has {} tokens", *queries, to_string(qkv.shape()),
         tokens);
  }
  const std::size_t width = qkv.size(2) / (3 * heads);
  const AttentionShape s{.B = qkv.size(0),
                         .h = heads,
                         .T = queries.value_or(tokens),
                         .S = tokens,
                         .E = width,
                         .F = width};
  const Shape scores{s.B, s.h, s.T, s.S};
  check_options("self_attention", options, scores);
  if (Composed::active() && s.S != 0) {
    return composed::self_attention(qkv, heads, options, queries).output;
  }
  return attend("self_attention", Layout::side_by_side, s, scores, {s.B, s.T, s.h * s.E}, {qkv},
                options);
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
