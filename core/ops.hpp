#pragma once

#include "vitruvian/core/arguments.hpp"
#include "vitruvian/core/base/rng.hpp"
#include "vitruvian/core/guards.hpp"
#include "vitruvian/core/print.hpp"
#include "vitruvian/core/tensor.hpp"

#include <concepts>
#include <cstddef>
#include <optional>
#include <vector>

// The ops: each is one function that computes a value and hands `record` its vector-Jacobian
// product. Elementwise ops of two tensors broadcast as numpy does. Conventions at kinks and ties
// are PyTorch's: they stand beside each op. Empty `Axes` means all axes; negative axes count from
// the end. Zero-size and rank-0 tensors are welcome; NaN and Inf go through where IEEE 754 says so,
// forward and backward; an op that chooses among elements (relu, where, a pooling, ...) gives those
// not chosen a gradient of 0, whatever arrives. Where PyTorch composes an op and its
// gradient at an infinity is NaN, a closed form may give its limit. An `Array` is taken where a
// tensor is, as a constant. Wrong shapes and absent tensors throw an `Error` that names the op, the
// argument or the shapes, and the module path. docs/ops.md lists the ops.

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

// --- elementwise (ops/elementwise.cpp) -----------------------------------------------------------

Tensor neg(const Tensor& x);
Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);
Tensor add(const Tensor& a, real b);
Tensor mul(const Tensor& a, real b);
Tensor div(const Tensor& a, real b);
inline Tensor operator-(const Tensor& x) { return neg(x); }
inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
/// The same sum, of a temporary: in its memory where nobody can read it any more.
Tensor operator+(Tensor&& a, const Tensor& b);
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
// Numbers are `real` once they meet a tensor.
inline Tensor operator+(const Tensor& a, double b) { return add(a, static_cast<real>(b)); }
inline Tensor operator-(const Tensor& a, double b) { return add(a, static_cast<real>(-b)); }
inline Tensor operator*(const Tensor& a, double b) { return mul(a, static_cast<real>(b)); }
inline Tensor operator/(const Tensor& a, double b) { return div(a, static_cast<real>(b)); }
inline Tensor operator+(double a, const Tensor& b) { return b + a; }
inline Tensor operator-(double a, const Tensor& b) { return neg(b) + a; }
inline Tensor operator*(double a, const Tensor& b) { return b * a; }
inline Tensor operator/(double a, const Tensor& b) { return div(scalar(static_cast<real>(a)), b); }
/// x = x + y, and so on: x becomes a handle on the result. Other handles keep the old value, and a
/// leaf is not changed in place: `mutable_value` does that.
template <class Y>
Tensor& operator+=(Tensor& x, const Y& y) {
  return x = x + y;
}
template <class Y>
Tensor& operator-=(Tensor& x, const Y& y) {
  return x = x - y;
}
template <class Y>
Tensor& operator*=(Tensor& x, const Y& y) {
  return x = x * y;
}
template <class Y>
Tensor& operator/=(Tensor& x, const Y& y) {
  return x = x / y;
}

/// x^p, p a constant. The derivative p x^(p-1) is 0 everywhere when p is 0.
Tensor pow(const Tensor& x, real p);
Tensor exp(const Tensor& x);
Tensor log(const Tensor& x);
/// e^x - 1 and log(1 + x), exact near x = 0, where the sums would round x away.
Tensor expm1(const Tensor& x);
Tensor log1p(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor rsqrt(const Tensor& x);
Tensor square(const Tensor& x);
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor sigmoid(const Tensor& x);
Tensor erf(const Tensor& x);
/// x sigmoid(x), also called swish (Elfwing et al., arXiv 1702.03118).
Tensor silu(const Tensor& x);
/// log(1 + e^x), the smooth relu: never overflows, and keeps its digits far out on the left.
Tensor softplus(const Tensor& x);
/// max(x, 0); the derivative at 0 is 0. NaN stays NaN.
Tensor relu(const Tensor& x);
/// |x|; the derivative is sign(x): 0 at 0, NaN at NaN.
Tensor abs(const Tensor& x);
/// The larger (smaller); at a tie each gets half of the cotangent. A NaN wins.
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);
/// min(max(x, low), high); the derivative is 1 on [low, high], ends included, 0 outside, NaN at
/// NaN.
Tensor clamp(const Tensor& x, real low, real high);
/// a where `condition` is not 0, else b; all three broadcast. No derivative in `condition`.
Tensor where(const Array& condition, const Tensor& a, const Tensor& b);
/// `value` where `mask`, which broadcasts to x's shape, is not 0, else x.
Tensor masked_fill(const Tensor& x, const Array& mask, real value);

// --- reductions (ops/reduce.cpp) -----------------------------------------------------------------

Tensor sum(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
/// NaN over no elements, as 0 / 0.
Tensor mean(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
/// sum((x - mean x)^2) / (n - `correction`): 0 is the biased variance of layer norm, 1 is
/// PyTorch's default. Computed in two passes: a large mean costs no digits.
Tensor var(const Tensor& x, const Axes& axes = {}, int correction = 0, bool keepdim = false);
/// The largest; ties share the cotangent equally. Throws over no elements. A NaN wins.
Tensor amax(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
/// log sum exp x, never overflowing; -inf over rows of -inf or over no elements.
Tensor logsumexp(const Tensor& x, const Axes& axes = {}, bool keepdim = false);

// --- matrix product (ops/matmul.cpp) -------------------------------------------------------------

/// numpy's `matmul`: batches broadcast, a vector on the left (right) is a row (column) whose axis
/// is dropped again. Throws on rank 0 and where the inner sizes differ.
Tensor matmul(const Tensor& a, const Tensor& b);

// --- shape (ops/shape.cpp, ops/pick.cpp) ---------------------------------------------------------

/// Exchanges two axes.
Tensor transpose(const Tensor& x, int axis0 = -2, int axis1 = -1);
/// Axis i of the result is axis `order[i]` of x.
Tensor permute(const Tensor& x, const Axes& order);
/// The same elements in row-major order; one length may be -1 and is worked out.
Tensor reshape(const Tensor& x, const Lengths& shape);
/// Drops an axis of length 1 (another length throws); adds one before `axis` of the result.
Tensor squeeze(const Tensor& x, int axis);
Tensor unsqueeze(const Tensor& x, int axis);
/// Axes `first` to `last`, both included, as one. A scalar becomes (1,).
Tensor flatten(const Tensor& x, int first = 0, int last = -1);
Tensor broadcast_to(const Tensor& x, const Shape& shape);
/// `before` and `after` entries of `value` around x along one axis; neither is negative.
Tensor pad(const Tensor& x, int axis, std::ptrdiff_t before, std::ptrdiff_t after, real value = 0);
/// Moves x by `shift` along one axis; what leaves at one end enters at the other.
Tensor roll(const Tensor& x, std::ptrdiff_t shift, int axis);
/// Elements start, start + step, ... before stop along one axis; as Python's x[start:stop:step]
/// (negative ends count from the end, ends out of range are cut, a negative step walks back; with
/// it, `stop` may be `slice_end` for "to the very beginning").
Tensor slice(const Tensor& x, int axis, std::ptrdiff_t start, std::ptrdiff_t stop,
             std::ptrdiff_t step = 1);
inline constexpr std::ptrdiff_t slice_end = PTRDIFF_MAX;
/// x's entries at `indices` along one axis, in that order; one may come several times.
Tensor index_select(const Tensor& x, int axis, const Indices& indices);
/// The same with indices of each image (of each place before the axis) its own: x (B, N, D) at
/// axis 1 and indices (B, K) to (B, K, D). Indices of x's full rank pick each element alone, as
/// PyTorch's gather; but for the axis, their shape is then x's.
Tensor gather(const Tensor& x, int axis, const Indices& indices);
/// Row `indices[...]` of the table weight (V, D) for each index: indices of any shape to (..., D).
Tensor embedding(const Indices& indices, const Tensor& weight);
/// The index `i` along an axis, which disappears: x[:, i] is `select(x, 1, i)`.
Tensor select(const Tensor& x, int axis, std::ptrdiff_t i);
Tensor concat(const std::vector<Tensor>& xs, int axis);
/// Concatenation along a new axis.
Tensor stack(const std::vector<Tensor>& xs, int axis);
/// Pieces of the given lengths along an axis; the lengths must add up.
std::vector<Tensor> split(const Tensor& x, const std::vector<std::size_t>& lengths, int axis);

// --- layers' functions, fused (one file each; their readable twins stand in composed.hpp) --------

/// y = x W^T + b on the last axis: x (..., in), weight (out, in), bias (out) or absent.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

/// gelu(linear(x, weight, bias)) in one: the first half of an encoder block's MLP.
Tensor linear_gelu(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

Tensor softmax(const Tensor& x, int axis = -1);
Tensor log_softmax(const Tensor& x, int axis = -1);

/// (x - mean) / sqrt(var + eps) * weight + bias over the trailing `normalized_shape`, biased
/// variance; weight and bias have that shape or are absent (Ba et al. 2016, arXiv 1607.06450).
Tensor layer_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight,
                  const Tensor& bias, double eps);

/// Batch norm with the batch's own statistics: x (B, C, ...), mean and biased variance of each
/// channel over all other axes; weight and bias (C) or absent (Ioffe and Szegedy 2015).
Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps);

/// x Phi(x), Phi the normal distribution function (Hendrycks and Gimpel, arXiv 1606.08415).
Tensor gelu(const Tensor& x);
/// Its approximation x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
Tensor gelu_tanh(const Tensor& x);

/// Zeroes each element with probability p and divides the others by 1 - p. The mask depends on the
/// stream, the number of the element's matrix (of the last two axes) and its place in that, alone:
/// the first tokens of a sequence are dropped as they are in the whole. p in [0, 1]; p = 0 is the
/// identity, p = 1 gives zeros.
Tensor dropout(const Tensor& x, double p, const Rng& rng);
/// Stochastic depth (Huang et al. 2016), on the branch of a residual: each x[b] is kept, divided by
/// 1 - p, or is 0 with probability p in [0, 1], by draw b of `rng`. Throws on a scalar.
Tensor stochastic_depth(const Tensor& x, double p, const Rng& rng);

/// The sliding patches of images: x (B, C, H, W) to (B, N, C * kh * kw), positions in raster order,
/// each patch flattened as (C, kh, kw). PyTorch's nn.Unfold, with its last two axes exchanged.
struct Window {
  std::size_t height, width;
  std::size_t stride_y = 1, stride_x = 1;
  std::size_t padding_y = 0, padding_x = 0;
};
Tensor unfold(const Tensor& x, const Window& window);

/// How far a window moves from one place to the next: one number where both directions agree.
struct Stride {
  std::size_t y, x;
  Stride(std::size_t both) : y(both), x(both) {}  // NOLINT(google-explicit-constructor)
  Stride(std::size_t down, std::size_t right) : y(down), x(right) {}
};
/// Cross-correlation: x (B, C, H, W), weight (O, C, kh, kw), bias (O) or absent; (B, O, H', W').
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Stride& stride = 1,
              std::size_t padding = 0);
/// The mean (the largest) of every square window of side `size`: x (B, C, H, W) to (B, C, H', W').
/// The stride 0 means `size`. Padding, at most half of `size`, counts as zeros for the mean and
/// never wins the maximum; of equal largest ones the first in raster order has the gradient. A NaN
/// wins.
Tensor avg_pool2d(const Tensor& x, std::size_t size, std::size_t stride = 0,
                  std::size_t padding = 0);
Tensor max_pool2d(const Tensor& x, std::size_t size, std::size_t stride = 0,
                  std::size_t padding = 0);

/// softmax(q k^T scale + bias, masked) v, as PyTorch's scaled_dot_product_attention.
struct AttentionOptions {
  /// Where it is 0 the score becomes -inf; broadcasts to (..., T, S). A row without any key is NaN.
  /// No gradient. May be absent; an `Array` is one too.
  Tensor mask = {};
  /// Added to the scores, with a gradient; broadcasts to (..., T, S). May be absent.
  Tensor bias = {};
  /// Applied to the probabilities, with `rng`; null means none.
  double dropout = 0;
  const Rng* rng = nullptr;
};
/// q (..., T, E), k (..., S, E), v (..., S, F) to (..., T, F); leading axes are equal. The scale is
/// 1 / sqrt(E).
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v,
                 const AttentionOptions& options = {});
/// The same for heads that lie side by side, as projections leave them: q (B, T, h E), k (B, S, h
/// E) and v (B, S, h F) to (B, T, h F), heads concatenated. Bias and mask broadcast to (B, h, T,
/// S).
Tensor multi_head_attention(const Tensor& q, const Tensor& k, const Tensor& v, std::size_t heads,
                            const AttentionOptions& options = {});
/// [q, k, v] = x weight^T + bias where only the first `queries` tokens of an image ask: the q of
/// the others is 0, and costs nothing. x (B, T, D), weight (3 E, D), bias (3 E) or absent: (B, T, 3
/// E).
Tensor project_qkv(const Tensor& x, const Tensor& weight, const Tensor& bias, std::size_t queries);
/// The same of one token sequence, q, k and v in one array as Linear(D, 3D) leaves them: qkv (B, T,
/// 3 D), columns in the order (3, h, D_h), to (B, T, D), heads concatenated. Bias and mask
/// broadcast to (B, h, T, T). With `queries` only that many first tokens ask, of all T: the T of
/// what is returned, of bias and of mask's rows is then `queries`.
Tensor self_attention(const Tensor& qkv, std::size_t heads, const AttentionOptions& options = {},
                      std::optional<std::size_t> queries = {});

// --- losses (ops/loss.cpp) -----------------------------------------------------------------------

enum class Reduction { mean, sum, none };

/// -log softmax(logits)[label]: logits (B, K), one label in [0, K) per row. With `label_smoothing`
/// e, the target is (1 - e) one_hot + e / K. A scalar, or (B,) with Reduction::none.
Tensor cross_entropy(const Tensor& logits, const Indices& labels, double label_smoothing = 0,
                     Reduction reduction = Reduction::mean);
/// The same for targets that are probabilities (B, K) (mixup, distillation); no gradient to them.
template <std::same_as<Array> Targets>  // braces are labels
Tensor cross_entropy(const Tensor& logits, const Targets& targets, double label_smoothing = 0,
                     Reduction reduction = Reduction::mean);
/// The same with classes that weigh, and rows left out, as PyTorch's: the term of class k is
/// weighed by w_k, and the mean divides by the sum of the labels' weights; a row whose label is
/// `ignore_index` has a loss of 0 and no gradient, and does not count. NaN over no rows.
struct CrossEntropyOptions {
  Tensor weights = {};  ///< (K), or absent: all 1; no gradient
  std::optional<std::ptrdiff_t> ignore_index = {};
  double label_smoothing = 0;
  Reduction reduction = Reduction::mean;
};
Tensor cross_entropy(const Tensor& logits, const Indices& labels,
                     const CrossEntropyOptions& options);
/// -log_probabilities[label], for what `log_softmax` returns.
Tensor nll_loss(const Tensor& log_probabilities, const Indices& labels,
                Reduction reduction = Reduction::mean);
/// -t log p - (1 - t) log(1 - p) with p = sigmoid(logits), the targets t of the same shape; it
/// never overflows. No gradient to the targets.
Tensor bce_with_logits(const Tensor& logits, const Array& targets,
                       Reduction reduction = Reduction::mean);
/// (a - b)^2, same shapes.
Tensor mse_loss(const Tensor& a, const Tensor& b, Reduction reduction = Reduction::mean);

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian

#include "vitruvian/core/ops_of_arrays.hpp"
