#include "vitruvian/nn/torch/mlp.hpp"

#include "vitruvian/core/base/error.hpp"

#include <string>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

Tensor activate(const Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::relu:
      return relu(x);
    case Activation::gelu:
      return gelu(x);
    case Activation::gelu_tanh:
      return gelu_tanh(x);
    case Activation::tanh:
      return tanh(x);
    case Activation::sigmoid:
      return sigmoid(x);
    case Activation::identity:
      break;
  }
  return x;
}

MLP::MLP(std::size_t in, const std::vector<std::size_t>& widths, const Rng& rng,
         const Options& options)
    : activation(options.activation), dropout{options.dropout} {
  if (widths.empty()) fail("mlp: no widths: the last one is the output's");
  for (const std::size_t width : widths) {
    linears.emplace_back(in, width, rng.fork("linear", {linears.size()}), options.bias);
    in = width;
  }
  for (std::size_t i = 0; options.norm && i + 1 < widths.size(); ++i) {
    norms.emplace_back(Shape{widths[i]}, 1e-5);
  }
}

Tensor MLP::operator()(const Tensor& x, const Pass& pass) const {
  Tensor y = x;
  for (std::size_t i = 0; i < linears.size(); ++i) {
    std::size_t at = place(i);
    y = under(std::to_string(at++), linears[i], y);
    if (i + 1 < linears.size()) {
      if (!norms.empty()) y = under(std::to_string(at++), norms[i], y);
      y = activate(y, activation);
      ++at;
    }
    y = under(std::to_string(at), dropout, y, pass);
  }
  return y;
}

void MLP::visit(Visitor& visitor) const {
  for (std::size_t i = 0; i < linears.size(); ++i) {
    visitor.child(std::to_string(place(i)), linears[i]);
    if (i < norms.size()) visitor.child(std::to_string(place(i) + 1), norms[i]);
  }
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
