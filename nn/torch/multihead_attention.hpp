#pragma once

#include "vitruvian/nn/layers.hpp"

#include <cstddef>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

/// PyTorch's nn.MultiheadAttention, argument for argument: queries may look at another sequence
/// than their own. (MultiHeadSelfAttention is what a ViT needs of it.)
///   MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O
///   head_i = softmax(Q W_i^Q (K W_i^K)^T / sqrt(D_h)) V W_i^V
struct MultiheadAttention {
  struct Options {
    double dropout = 0;          ///< of the probabilities
    bool bias = true;            ///< of all projections
    bool add_bias_kv = false;    ///< one learned key and value more
    bool add_zero_attn = false;  ///< one key and value of zeros more: a place to look away
    std::size_t kdim = 0;        ///< width of the keys; 0 means embed_dim
    std::size_t vdim = 0;        ///< width of the values; 0 means embed_dim
    bool batch_first = false;    ///< (B, T, D) instead of (T, B, D): beware, both run on either
  };
  struct Result {
    Tensor output;   ///< of the queries' shape
    Tensor weights;  ///< (B, h, T, S), before dropout: rows sum to 1; absent unless asked for
  };

  std::size_t num_heads;
  double dropout;
  bool add_zero_attn;
  bool batch_first;
  Parameter in_proj_weight;  // (3 D, D), or absent where keys or values have another width; then
  Parameter q_proj_weight;   // (D, D)
  Parameter k_proj_weight;   // (D, kdim)
  Parameter v_proj_weight;   // (D, vdim)
  Parameter in_proj_bias;    // (3 D), or absent
  Linear out_proj;           // (D, D)
  Parameter bias_k, bias_v;  // (1, 1, D), or absent

  /// Initial values are PyTorch's: Xavier's uniform for the input projections, whose biases are 0
  /// as the output's is. Throws when the heads do not divide embed_dim.
  MultiheadAttention(std::size_t embed_dim, std::size_t num_heads, const Rng& rng,
                     const Options& options);
  /// query (T, B, D), key (S, B, kdim), value (S, B, vdim), or batch first.
  [[nodiscard]] Result operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                                  const Pass& pass = {}, bool need_weights = true) const;
  void visit(Visitor& visitor) const;
};

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
