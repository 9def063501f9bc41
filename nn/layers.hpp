#pragma once

#include "vitruvian/core/ops.hpp"
#include "vitruvian/nn/parameter.hpp"
#include "vitruvian/nn/pass.hpp"

#include <cstddef>
#include <optional>
#include <vector>

// The layers as plain structs. A constructor takes sizes and a random stream and draws PyTorch's
// default values; `operator()` is the equation; `visit` lists the parameters; `fresh` makes another
// of the same configuration. The module that holds a layer names it, in `visit` and when it calls:
// `under("fc1", fc1, x)`.

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

/// y = x W^T + b on the last axis.
struct Linear {
  Parameter weight;  // (out, in)
  Parameter bias;    // (out), or absent

  /// An absent layer: a place in a model that has none. It must not be called.
  Linear() = default;
  /// Both are drawn from U(-1 / sqrt(in), 1 / sqrt(in)), as by PyTorch's nn.Linear.
  Linear(std::size_t in, std::size_t out, const Rng& rng, bool with_bias = true);
  [[nodiscard]] std::size_t in() const { return weight.shape()[1]; }
  [[nodiscard]] std::size_t out() const { return weight.shape()[0]; }
  /// (..., in) to (..., out).
  Tensor operator()(const Tensor& x) const;
  void visit(Visitor& visitor) const;
  [[nodiscard]] Linear fresh() const;
};

/// y = (x - mean) / sqrt(var + eps) w + b over the trailing axes of shape `normalized_shape`.
struct LayerNorm {
  Shape normalized_shape;
  double eps;
  Parameter weight;  // of the normalized shape: ones; absent unless affine
  Parameter bias;    // of the normalized shape: zeros; absent unless affine and with bias

  /// The field's defaults differ: eps is 1e-6 in timm, torchvision's ViT and here, 1e-5 in PyTorch.
  explicit LayerNorm(const Shape& shape, double epsilon = 1e-6, bool affine = true,
                     bool with_bias = true);
  Tensor operator()(const Tensor& x) const;
  void visit(Visitor& visitor) const;
  [[nodiscard]] LayerNorm fresh() const;
};

/// x gamma on the last axis, of length D (Touvron et al. 2021, "Going deeper with Image
/// Transformers", arXiv 2103.17239). For an initial value of 0 it is absent: the identity.
struct LayerScale {
  Parameter gamma;  // (D), or absent

  LayerScale(std::size_t D, double initial);
  Tensor operator()(const Tensor& x) const { return gamma ? x * gamma : x; }
  [[nodiscard]] LayerScale fresh() const {
    return gamma ? LayerScale(gamma.shape()[0], 1) : LayerScale(0, 0);
  }
  void visit(Visitor& visitor) const;
};

/// x Phi(x), or its tanh approximation.
struct GELU {
  bool tanh = false;
  Tensor operator()(const Tensor& x) const { return tanh ? gelu_tanh(x) : gelu(x); }
  void visit(Visitor&) const {}
};

struct Softmax {
  int axis = -1;
  Tensor operator()(const Tensor& x) const { return softmax(x, axis); }
  void visit(Visitor&) const {}
};

/// Zeroes each element with probability p and divides the others by 1 - p. Without a generator in
/// the pass (inference), and for p = 0, it is the identity. The mask is a function of the pass's
/// stream, the module's path, how often this path has dropped in this pass, and the element's
/// place.
struct Dropout {
  double p = 0;
  Tensor operator()(const Tensor& x, const Pass& pass = {}) const;
  void visit(Visitor&) const {}
};

/// drop(fc2(drop(GELU(fc1 x)))): the second half of an encoder block. Gated (SwiGLU: Shazeer 2020,
/// arXiv 2002.05202), drop(fc2(drop(silu(a) b))) with [a, b] = fc1 x.
struct Mlp {
  Linear fc1;  // (M, D), or (2 M, D) where it is gated
  GELU act;
  Dropout drop1;
  Linear fc2;  // (D, M)
  Dropout drop2;
  bool gated;

  Mlp(std::size_t D, std::size_t M, const Rng& rng, double drop = 0, GELU gelu = {},
      bool with_bias = true, bool swiglu = false);
  /// (..., D) to (..., D). Traces "hidden" (..., M), after GELU or the gate.
  Tensor operator()(const Tensor& x, const Pass& pass = {}) const;
  void visit(Visitor& visitor) const;
  [[nodiscard]] Mlp fresh() const;

 private:
  [[nodiscard]] Tensor hidden(const Tensor& x, const Pass& pass) const;
};

/// Multi-head self-attention (Equations 5 to 8 of the paper):
///   [q, k, v] = x U_qkv    A = softmax(q k^T / sqrt(D_h))    MSA(x) = [A_1 v_1; ...; A_h v_h]
///   U_msa
struct MultiHeadSelfAttention {
  struct Options {
    bool qkv_bias = true;
    double attn_drop = 0;  ///< of the probabilities
    double proj_drop = 0;  ///< of the output
    bool proj_bias = true;
    bool per_head = false;  ///< one U_qkv for each head instead of one for all
    /// The eps of a layer norm over D_h of each head's q, and of another of its k (Dehghani et al.
    /// 2023, arXiv 2302.05442): scores cannot grow with the weights.
    std::optional<double> qk_norm = {};
  };

  std::size_t heads;
  Linear qkv;                    // (3 D, D), rows in the order (q, k, v), heads inside; or absent
  std::vector<Linear> head_qkv;  // of each head (3 D_h, D), where they are apart
  std::optional<LayerNorm> q_norm, k_norm;  // over D_h
  Linear proj;                              // (D, D)
  double attn_drop;
  Dropout proj_drop;

  /// Throws when the heads do not divide D.
  MultiHeadSelfAttention(std::size_t D, std::size_t heads, const Rng& rng, const Options& options);
  MultiHeadSelfAttention(std::size_t D, std::size_t heads, const Rng& rng);
  /// (B, T, D) to (B, rows, D): the first `rows` tokens ask, all T answer; without the number, all
  /// ask. `bias`, which may be absent, is added to the scores (B, h, rows, T) and broadcasts to
  /// their shape. Under `Composed` it traces "scores" (before the softmax) and "probs" (before
  /// dropout).
  Tensor operator()(const Tensor& x, const Pass& pass = {}, const Tensor& bias = {},
                    std::optional<std::size_t> rows = {}) const;
  void visit(Visitor& visitor) const;
  [[nodiscard]] MultiHeadSelfAttention fresh() const;

 private:
  [[nodiscard]] Tensor projected(const Tensor& x, std::optional<std::size_t> rows) const;
  [[nodiscard]] Tensor normed(const Tensor& qkv_x) const;
};

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
