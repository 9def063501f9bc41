#pragma once

#include "vitruvian/core/base/parallel.hpp"
#include "vitruvian/core/kernels/table.hpp"

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>

// Plain loops over pointers: what the fused ops are made of. Forward and backward stand side by
// side, as faces that cut the work and hand each chunk to the body in use (table.hpp). Templates on
// the scalar, float or double; no tape, no xtensor. Matrices
// are (rows, n), row-major and contiguous. All of them cut their work into fixed chunks over
// `parallel_for`; the result does not depend on the number of threads. Nothing here allocates
// unless its comment says so. Outputs do not overlap inputs, except where "in place" is said.

namespace vitruvian::kernels {

namespace detail {

// Elements a chunk: some 10 microseconds of work.
constexpr std::size_t chunk_elements = 32768;

inline std::size_t chunk_rows(std::size_t n) {
  return std::max<std::size_t>(1, chunk_elements / std::max<std::size_t>(1, n));
}

// body(at, many) for every chunk of rows of n elements.
template <class Body>
void in_chunks(std::size_t rows, std::size_t n, const Body& body) {
  parallel_for(rows, chunk_rows(n),
               [&](std::size_t begin, std::size_t end) { body(begin, end - begin); });
}
// body(x..., many, n) for every chunk of rows, body(x..., many) for every chunk of elements.
template <class Body, class... X>
void over_rows(std::size_t rows, std::size_t n, const Body& body, X*... x) {
  in_chunks(rows, n, [=](std::size_t at, std::size_t many) { body(x + at * n..., many, n); });
}
template <class Body, class... X>
void over_elements(std::size_t n, const Body& body, X*... x) {
  in_chunks(n, 1, [=](std::size_t at, std::size_t many) { body(x + at..., many); });
}

}  // namespace detail

// y = e^x, ln x, erf x and tanh x, within 1.1, 1, 2.5 and 1.25 units in the last place, for every
// x; denormal results, Inf and NaN included. y may be x. Unlike the C library's, the same on every
// one.
template <class T>
void exp(const T* x, T* y, std::size_t n) {
  detail::over_elements(n, table<T>().exp, x, y);
}
template <class T>
void log(const T* x, T* y, std::size_t n) {
  detail::over_elements(n, table<T>().log, x, y);
}
template <class T>
void erf(const T* x, T* y, std::size_t n) {
  detail::over_elements(n, table<T>().erf, x, y);
}
template <class T>
void tanh(const T* x, T* y, std::size_t n) {
  detail::over_elements(n, table<T>().tanh, x, y);
}

// y = exp(x - max x) / sum, a row at a time            dx = y (g - sum(g y))
// In place (y = x) too. What would be denormal is 0; a row of -Inf, or with +Inf or NaN, gives NaN.
template <class T>
void softmax(const T* x, T* y, std::size_t rows, std::size_t n) {
  detail::over_rows(rows, n, table<T>().softmax, x, y);
}
template <class T>
void softmax_vjp(const T* y, const T* g, T* dx, std::size_t rows, std::size_t n) {
  detail::over_rows(rows, n, table<T>().softmax_vjp, y, g, dx);
}

// y = x - logsumexp(x)                                  dx = g - exp(y) sum(g)
template <class T>
void log_softmax(const T* x, T* y, std::size_t rows, std::size_t n) {
  detail::over_rows(rows, n, table<T>().log_softmax, x, y);
}
template <class T>
void log_softmax_vjp(const T* y, const T* g, T* dx, std::size_t rows, std::size_t n) {
  detail::over_rows(rows, n, table<T>().log_softmax_vjp, y, g, dx);
}

// y = (x - mean) rstd w + b, rstd = 1 / sqrt(var + eps); w and b (n) may be null. Two passes: a
// large mean costs no digits. Writes mean and rstd (rows) for the backward.
template <class T>
void layer_norm(const T* x, const T* w, const T* b, double eps, T* y, T* mean, T* rstd,
                std::size_t rows, std::size_t n) {
  detail::in_chunks(rows, n, [=](std::size_t at, std::size_t many) {
    table<T>().layer_norm(x + at * n, w, b, eps, y + at * n, mean + at, rstd + at, many, n);
  });
}
// With xh = (x - mean) rstd and gw = g w:
//   dx = rstd (gw - mean(gw) - xh mean(gw xh))   dw = sum_rows(g xh)   db = sum_rows(g)
// Any of dx, dw, db may be null. Allocates one partial sum of dw and db for each chunk of rows.
template <class T>
void layer_norm_vjp(const T* x, const T* w, const T* mean, const T* rstd, const T* g, T* dx, T* dw,
                    T* db, std::size_t rows, std::size_t n);

// y = x Phi(x)                                          dx = g (Phi(x) + x phi(x))
// Within 12 units in the last place far out on the left, 6 for |x| <= 2. As IEEE, y(-Inf) is NaN.
template <class T>
void gelu(const T* x, T* y, std::size_t n) {
  detail::over_elements(n, table<T>().gelu, x, y);
}
template <class T>
void gelu_vjp(const T* x, const T* g, T* dx, std::size_t n) {
  detail::over_elements(n, table<T>().gelu_vjp, x, g, dx);
}
// The tanh form.
template <class T>
void gelu_tanh(const T* x, T* y, std::size_t n) {
  detail::over_elements(n, table<T>().gelu_tanh, x, y);
}
template <class T>
void gelu_tanh_vjp(const T* x, const T* g, T* dx, std::size_t n) {
  detail::over_elements(n, table<T>().gelu_tanh_vjp, x, g, dx);
}

// y = gelu(y + b) in place, every row, b (n) or null         dy = g slope, by `multiply`
// `slope` (rows, n) or null receives gelu'(y + b).
template <class T>
void bias_gelu(T* y, const T* b, T* slope, std::size_t rows, std::size_t n) {
  detail::in_chunks(rows, n, [=](std::size_t at, std::size_t many) {
    table<T>().bias_gelu(y + at * n, b, slope ? slope + at * n : nullptr, many, n);
  });
}
/// y *= x, in place.
template <class T>
void multiply(T* y, const T* x, std::size_t n) {
  detail::over_elements(n, table<T>().multiply, y, x);
}
/// y = a + b; y may be a.
template <class T>
void add(const T* a, const T* b, T* y, std::size_t n) {
  detail::over_elements(n, table<T>().add, a, b, y);
}

// y[r] += b, every row, in place; and its adjoint: db = sum of the rows of g, in chunk order.
template <class T>
void add_bias(T* y, const T* b, std::size_t rows, std::size_t n) {
  detail::in_chunks(rows, n, [=](std::size_t at, std::size_t many) {
    table<T>().add_bias(y + at * n, b, many, n);
  });
}
template <class T>
void sum_rows(const T* g, T* db, std::size_t rows, std::size_t n);

// y = x m / (1 - p), of so many matrices of n elements each. Element i of matrix j is kept where
// word i mod 4 of philox(counter (i / 4, j), key), as a 32-bit integer, is at least p 2^32: whoever
// has the first rows alone draws the mask of the whole. The backward is the same function of g:
// nothing is stored.
template <class T>
void dropout(const T* x, T* y, std::size_t matrices, std::size_t n, double p, std::uint64_t key);

/// Where q, k, v or the output lie: element (b, i, t, d) is at
/// data[b * batch + i * head + t * token + d].
template <class T>
struct Heads {
  T* data = nullptr;
  std::size_t batch = 0, head = 0, token = 0;
};

/// One call of attention over B images and h heads: T queries and S keys of width E, values of
/// width F.
struct AttentionShape {
  std::size_t B = 0, h = 0, T = 0, S = 0, E = 0, F = 0;
};
/// Null, or added to the scores (b, i): the T x S matrix at data + b * batch + i * head (a stride
/// of 0 repeats it).
template <class T>
struct AttentionBias {
  const T* data = nullptr;
  std::size_t batch = 0, head = 0;
};

/// Elements of a row of P^T below: T, rounded up to what this machine's vectors like.
template <class T>
std::size_t attention_row(const AttentionShape& shape);

// S = q k^T / sqrt(E) + bias,  P = softmax(S),  P' = dropout(P),  o = P' v, an image and head at a
// time, so that the scores stay in cache. Writes P^T (B, h, S, attention_row), before dropout, for
// the backward: of a row its first T elements count. `probs` may be null. Dropout's mask is that of
// `dropout` for the matrices of P (B, h, T, S); p = 0 means none. Under GemmPrecision::bfloat16 the
// factors of larger heads' products are rounded (T S min(E, F) >= 65536), on the way back, too.
template <class T>
void attention(const AttentionShape& shape, Heads<const T> q, Heads<const T> k, Heads<const T> v,
               AttentionBias<T> bias, double p, std::uint64_t key, Heads<T> o, T* probs);
// dv = P'^T go,  dP' = go v^T,  dS = P (dP - sum(dP P)),
// dq = dS k / sqrt(E),  dk = dS^T q / sqrt(E)
// `dscores` is null or (B, h, T, S): receives dS, the cotangent of a bias before unbroadcasting.
template <class T>
void attention_vjp(const AttentionShape& shape, Heads<const T> q, Heads<const T> k,
                   Heads<const T> v, const T* probs, double p, std::uint64_t key, Heads<const T> go,
                   Heads<T> dq, Heads<T> dk, Heads<T> dv, T* dscores);

// -sum(t log softmax(x)) of each row with t = (1 - e) target + e / n: writes the loss and, for the
// backward, d(loss)/dx = softmax(x) sum(t) - t. Targets are labels
// (std::size_t) or (rows, n) probabilities (T).
template <class T, class Target>
void cross_entropy(const T* x, const Target* targets, double smoothing, T* loss, T* dx,
                   std::size_t rows, std::size_t n) {
  detail::in_chunks(rows, n, [=](std::size_t at, std::size_t many) {
    const auto body = [&](const std::size_t* labels, const T* probabilities) {
      table<T>().cross_entropy(x + at * n, labels, probabilities, smoothing, loss + at, dx + at * n,
                               many, n);
    };
    if constexpr (std::same_as<Target, std::size_t>) {
      body(targets + at, nullptr);
    } else {
      body(nullptr, targets + at * n);
    }
  });
}

// One step of AdamW (Loshchilov and Hutter, arXiv 1711.05101) in PyTorch's order of operations:
// w -= lr decay w;  m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;
// w -= lr / (1 - b1^t) m / (sqrt(v) / sqrt(1 - b2^t) + eps)
struct AdamWStep {
  double lr, beta1, beta2, eps, decay;
  std::uint64_t t;  // counts from 1
};
template <class T>
void adamw(T* w, const T* g, T* m, T* v, std::size_t n, const AdamWStep& step);

/// sum of x^2, in fixed chunks of doubles.
template <class T>
double sum_of_squares(const T* x, std::size_t n);

}  // namespace vitruvian::kernels
