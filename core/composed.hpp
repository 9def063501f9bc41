#pragma once

#include "vitruvian/core/base/context.hpp"
#include "vitruvian/core/ops.hpp"

#include <concepts>

// The readable twins: the same functions in textbook form, from primitive ops alone. Lessons show
// them, inspection uses them where it wants the intermediates, and a test holds value and every
// gradient of the fused form against them.

namespace vitruvian {

/// While it lives, this thread computes every fused op as its twin does, so that a whole model can
/// be run in the form that one reads: slower, and the same to rounding.
class Composed : Scoped<&Context::composed> {
 public:
  explicit Composed(bool on = true) : Scoped(on) {}
  static bool active() { return Context::here().composed; }
};

inline namespace VITRUVIAN_PRECISION {
namespace composed {

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});
Tensor linear_gelu(const Tensor& x, const Tensor& weight, const Tensor& bias = {});
Tensor softmax(const Tensor& x, int axis = -1);
Tensor log_softmax(const Tensor& x, int axis = -1);
Tensor layer_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight,
                  const Tensor& bias, double eps);
Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps);
Tensor gelu(const Tensor& x);
Tensor gelu_tanh(const Tensor& x);
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Stride& stride = 1,
              std::size_t padding = 0);

Tensor project_qkv(const Tensor& x, const Tensor& weight, const Tensor& bias, std::size_t queries);
/// What attention computes on its way: the probabilities are those before dropout (their rows sum
/// to 1), with shape (..., T, S). q, k and v are those of each head.
struct Attention {
  Tensor q, k, v;
  Tensor scores;
  Tensor probs;
  Tensor output;
};
Attention attention(const Tensor& q, const Tensor& k, const Tensor& v,
                    const AttentionOptions& options = {});
/// q (B, T, h E), k (B, S, h E), v (B, S, h F) to output (B, T, h F); scores and probs are
/// (B, h, T, S).
Attention multi_head_attention(const Tensor& q, const Tensor& k, const Tensor& v, std::size_t heads,
                               const AttentionOptions& options = {});
/// qkv (B, T, 3 D) to output (B, queries, D); scores and probs (B, h, queries, T).
Attention self_attention(const Tensor& qkv, std::size_t heads, const AttentionOptions& options = {},
                         std::optional<std::size_t> queries = {});

Tensor cross_entropy(const Tensor& logits, const Indices& labels, double label_smoothing = 0,
                     Reduction reduction = Reduction::mean);
template <std::same_as<Array> Targets>  // braces are labels
Tensor cross_entropy(const Tensor& logits, const Targets& targets, double label_smoothing = 0,
                     Reduction reduction = Reduction::mean);
Tensor nll_loss(const Tensor& log_probabilities, const Indices& labels,
                Reduction reduction = Reduction::mean);
Tensor mse_loss(const Tensor& a, const Tensor& b, Reduction reduction = Reduction::mean);

}  // namespace composed
}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
