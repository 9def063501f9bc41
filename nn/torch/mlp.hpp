#pragma once

#include "vitruvian/nn/layers.hpp"

#include <cstddef>
#include <vector>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

enum class Activation { relu, gelu, gelu_tanh, tanh, sigmoid, identity };
Tensor activate(const Tensor& x, Activation activation);

/// torchvision.ops.MLP: any number of linear layers, after each but the last a layer norm (where
/// asked for), the activation and dropout, after the last dropout alone. Parameters are named by
/// their place in that sequence, as torchvision names them: "0.weight", "3.weight". (Mlp is what an
/// encoder block has of it: two layers, with GELU.)
struct MLP {
  struct Options {
    bool norm = false;                         ///< a layer norm with PyTorch's eps of 1e-5
    Activation activation = Activation::relu;  ///< torchvision's default; a ViT wants gelu
    bool bias = true;
    double dropout = 0;
  };

  std::vector<Linear> linears;
  std::vector<LayerNorm> norms;  // one fewer, or none
  Activation activation;
  Dropout dropout;

  /// From `in` features through `widths`, the last of which is the output's. Throws when there is
  /// none.
  MLP(std::size_t in, const std::vector<std::size_t>& widths, const Rng& rng,
      const Options& options);
  /// (..., in) to (..., widths.back()).
  Tensor operator()(const Tensor& x, const Pass& pass = {}) const;
  void visit(Visitor& visitor) const;

 private:
  // The place in the sequence of the i-th linear layer.
  [[nodiscard]] std::size_t place(std::size_t i) const { return i * (norms.empty() ? 3 : 4); }
};

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
