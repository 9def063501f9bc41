#include "vitruvian/core/composed.hpp"

#include "vitruvian/core/base/error.hpp"

#include <cmath>
#include <limits>
#include <numbers>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

namespace composed {
namespace {

// One axis for a reduction; a scalar has none and is a row of one element.
Axes along(const Tensor& x, int axis) { return x.rank() == 0 ? Axes{} : Axes{axis}; }

Tensor reduced(const Tensor& losses, Reduction reduction) {
  if (reduction == Reduction::mean) return mean(losses);
  if (reduction == Reduction::sum) return sum(losses);
  return losses;
}

// log_probabilities (B, K) at the label of each row: (B,).
Tensor picked(const Tensor& log_probabilities, const Indices& labels) {
  const auto& values = labels.values();
  const Indices column({labels.size(), 1}, {values.begin(), values.end()});
  return squeeze(gather(log_probabilities, 1, column), 1);
}

// Heads share a width, which is divided by their number.
void check_heads(const char* op, std::size_t heads) {
  if (heads == 0) fail("{}: 0 heads; expected at least 1", op);
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const Tensor xW = matmul(x, transpose(weight));
  return bias ? xW + bias : xW;
}

Tensor project_qkv(const Tensor& x, const Tensor& weight, const Tensor& bias, std::size_t queries) {
  const std::size_t T = x.size(1);
  const std::size_t E = weight.size(0) / 3;
  Array asked = full({T, 3 * E}, 1);
  for (std::size_t t = queries; t < T; ++t) {
    for (std::size_t i = 0; i < E; ++i) asked(t, i) = 0;
  }
  return where(asked, composed::linear(x, weight, bias), scalar(0));
}

Tensor linear_gelu(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return composed::gelu(composed::linear(x, weight, bias));
}

// The largest element is taken out of numerator and denominator alike: it changes no value, so it
// is a constant to the derivative, and nothing overflows.
Tensor softmax(const Tensor& x, int axis) {
  const Tensor largest = amax(x, along(x, axis), true).detach();
  const Tensor e = exp(x - largest);
  return e / sum(e, along(x, axis), true);
}

// Less the largest, again: beyond 2^53, x - logsumexp(x) would round the logarithm of a tie away.
Tensor log_softmax(const Tensor& x, int axis) {
  const Tensor z = x - amax(x, along(x, axis), true).detach();
  return z - logsumexp(z, along(x, axis), true);
}

Tensor layer_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight,
                  const Tensor& bias, double eps) {
  Axes axes;
  for (int axis = -static_cast<int>(normalized_shape.size()); axis < 0; ++axis) {
    axes.push_back(axis);
  }
  const Tensor mu = mean(x, axes, true);
  const Tensor sigma2 = var(x, axes, 0, true);
  Tensor y = (x - mu) / sqrt(sigma2 + static_cast<real>(eps));
  if (weight) y = y * weight;
  return bias ? y + bias : y;
}

Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  Axes axes{0};  // all but the channels
  for (int axis = 2; axis < static_cast<int>(x.rank()); ++axis) axes.push_back(axis);
  Shape per_channel(x.rank(), 1);
  per_channel[1] = x.size(1);
  const Tensor mu = mean(x, axes, true);
  const Tensor sigma2 = var(x, axes, 0, true);
  Tensor y = (x - mu) / sqrt(sigma2 + static_cast<real>(eps));
  if (weight) y = y * reshape(weight, per_channel);
  return bias ? y + reshape(bias, per_channel) : y;
}

Tensor gelu(const Tensor& x) {
  const Tensor Phi = (erf(x / std::numbers::sqrt2_v<real>) + real{1}) * real{0.5};
  return x * Phi;
}

Tensor gelu_tanh(const Tensor& x) {
  constexpr real c =
      std::numbers::sqrt2_v<real> * std::numbers::inv_sqrtpi_v<real>;  // sqrt(2 / pi)
  const Tensor u = (x + x * square(x) * real(0.044715)) * c;
  return x * (tanh(u) + real{1}) * real{0.5};
}

// y = sum over the window's places (i, j) of W[:, :, i, j] times the image shifted by (i, j).
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Stride& stride,
              std::size_t padding) {
  const auto around = static_cast<std::ptrdiff_t>(padding);
  const Tensor image = pad(pad(x, 2, around, around), 3, around, around);
  const std::size_t B = x.size(0), C = x.size(1), O = weight.size(0);
  const auto down = static_cast<std::ptrdiff_t>(stride.y);
  const auto right = static_cast<std::ptrdiff_t>(stride.x);
  const auto kh = static_cast<std::ptrdiff_t>(weight.size(2));
  const auto kw = static_cast<std::ptrdiff_t>(weight.size(3));
  const auto places = [&](int axis, std::ptrdiff_t window, std::ptrdiff_t step) {
    const std::ptrdiff_t room = static_cast<std::ptrdiff_t>(image.size(axis)) - window;
    if (room < 0 || step < 1) {
      fail("conv2d: a window of {} with stride {} has no place in {}", window, step,
           to_string(image.shape()));
    }
    return room / step + 1;
  };
  const std::ptrdiff_t rows = places(2, kh, down);
  const std::ptrdiff_t columns = places(3, kw, right);
  Tensor y = bias ? reshape(bias, {1, O, 1}) : Tensor(scalar(0));
  for (std::ptrdiff_t i = 0; i < kh; ++i) {
    for (std::ptrdiff_t j = 0; j < kw; ++j) {
      Tensor shifted = slice(image, 2, i, i + (rows - 1) * down + 1, down);
      shifted = slice(shifted, 3, j, j + (columns - 1) * right + 1, right);
      const Tensor W_ij = select(select(weight, 3, j), 2, i);
      y = y + matmul(W_ij, reshape(shifted, {B, C, rows * columns}));
    }
  }
  return reshape(y, {B, O, rows, columns});
}

Attention attention(const Tensor& q, const Tensor& k, const Tensor& v,
                    const AttentionOptions& options) {
  const auto D_h = static_cast<real>(q.size(-1));
  Tensor scores = matmul(q, transpose(k)) / std::sqrt(D_h);
  if (options.bias) scores = scores + options.bias;
  if (options.mask) {
    scores = where(options.mask.value(), scores, scalar(-std::numeric_limits<real>::infinity()));
  }
  const Tensor probs = composed::softmax(scores);
  const Tensor kept =
      options.rng != nullptr ? dropout(probs, options.dropout, *options.rng) : probs;
  return {q, k, v, scores, probs, matmul(kept, v)};
}

Attention multi_head_attention(const Tensor& q, const Tensor& k, const Tensor& v, std::size_t heads,
                               const AttentionOptions& options) {
  check_heads("multi_head_attention", heads);
  const auto by_head = [&](const Tensor& x) {  // (B, T, h E) -> (B, h, T, E)
    return transpose(reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), 1, 2);
  };
  Attention a = composed::attention(by_head(q), by_head(k), by_head(v), options);
  // Heads side by side again: (B, h, T, F) -> (B, T, h F)
  a.output = reshape(transpose(a.output, 1, 2), {q.size(0), q.size(1), v.size(2)});
  return a;
}

Attention self_attention(const Tensor& qkv, std::size_t heads, const AttentionOptions& options,
                         std::optional<std::size_t> queries) {
  check_heads("self_attention", heads);
  const std::size_t B = qkv.size(0), T = qkv.size(1), h = heads, D = qkv.size(2) / 3;
  // (B, T, 3 D) -> (3, B, h, T, D_h)
  const Tensor by_head = permute(reshape(qkv, {B, T, 3, h, D / h}), {2, 0, 3, 1, 4});
  const auto asking = static_cast<std::ptrdiff_t>(queries.value_or(T));
  const Tensor q = slice(select(by_head, 0, 0), 2, 0, asking);
  const Tensor k = select(by_head, 0, 1);
  const Tensor v = select(by_head, 0, 2);
  Attention a = composed::attention(q, k, v, options);
  // Heads side by side again: (B, h, queries, D_h) -> (B, queries, D)
  a.output = reshape(transpose(a.output, 1, 2), {B, asking, D});
  return a;
}

// With t = (1 - e) one_hot(label) + e / K, and the sum over k written out:
//   -sum_k t_k log p_k = (1 - e) (-log p_label) + e mean_k(-log p_k)
Tensor cross_entropy(const Tensor& logits, const Indices& labels, double label_smoothing,
                     Reduction reduction) {
  const auto e = static_cast<real>(label_smoothing);
  const Tensor log_p = composed::log_softmax(logits);
  Tensor losses = -picked(log_p, labels);
  if (e != 0) losses = losses * (1 - e) - mean(log_p, {1}) * e;
  return reduced(losses, reduction);
}

template <std::same_as<Array> Targets>
Tensor cross_entropy(const Tensor& logits, const Targets& targets, double label_smoothing,
                     Reduction reduction) {
  const auto e = static_cast<real>(label_smoothing);
  const auto K = static_cast<real>(logits.size(1));
  const Tensor t = Tensor(targets) * (1 - e) + e / K;
  const Tensor log_p = composed::log_softmax(logits);
  return reduced(-sum(where(t.value(), t * log_p, scalar(0)), {1}), reduction);  // 0 log 0 = 0
}

template Tensor cross_entropy(const Tensor&, const Array&, double, Reduction);

Tensor nll_loss(const Tensor& log_probabilities, const Indices& labels, Reduction reduction) {
  return reduced(-picked(log_probabilities, labels), reduction);
}

Tensor mse_loss(const Tensor& a, const Tensor& b, Reduction reduction) {
  return reduced(square(a - b), reduction);
}

}  // namespace composed
}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
