// Fused ops and their readable twins at one list of shapes, compiled in both precisions, so that
// accuracy_test.cpp can hold float against double. Numbers go out as doubles, under the names that
// they are judged by: "softmax", "softmax, gradient 0".

#include "vitruvian/core/base/rng.hpp"
#include "vitruvian/core/check/gradcheck.hpp"
#include "vitruvian/core/composed.hpp"

#include <string>
#include <utility>
#include <vector>

using Outputs = std::vector<std::pair<std::string, std::vector<double>>>;

namespace accuracy::VITRUVIAN_PRECISION {
namespace {

using namespace vitruvian;
using Inputs = std::vector<Tensor>;

struct Case {
  std::string name;
  std::vector<Shape> shapes;
  Function f;
};

// Normal numbers that a float can hold, the same in both precisions.
Array normal(const Shape& shape, std::uint64_t seed) {
  Array x = empty(shape);
  const Rng rng(seed);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x.data()[i] = static_cast<real>(static_cast<float>(rng.normal(i)));
  }
  return x;
}

// B images of T tokens of width D in h heads, an MLP of width M: a micro-batch of the CIFAR shape,
// one of the MNIST shape, one of ViT-B's width, and an awkward one.
struct Sizes {
  std::size_t B, T, D, h, M;
};
constexpr Sizes all_sizes[] = {
    {8, 65, 128, 4, 512}, {32, 17, 64, 4, 256}, {1, 50, 768, 12, 1024}, {3, 7, 22, 2, 37}};

std::vector<Case> cases() {
  std::vector<Case> result;
  for (const auto& [B, T, D, h, M] : all_sizes) {
    const Shape tokens{B, T, D};
    const Shape hidden{B, T, M};
    const Shape scores{B, h, T, T};
    const Shape heads{B, h, T, D / h};
    const Shape features{D};
    const std::size_t n = h;  // clang 14 captures no structured binding
    std::vector<std::size_t> labels(B * T);
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = i % 10;
    result.insert(result.end(),
                  {{"softmax", {scores}, [](const Inputs& x) { return softmax(x[0]); }},
                   {"log_softmax", {scores}, [](const Inputs& x) { return log_softmax(x[0]); }},
                   {"layer_norm",
                    {tokens, {D}, {D}},
                    [=](const Inputs& x) { return layer_norm(x[0], features, x[1], x[2], 1e-6); }},
                   {"gelu", {hidden}, [](const Inputs& x) { return gelu(x[0]); }},
                   {"gelu_tanh", {hidden}, [](const Inputs& x) { return gelu_tanh(x[0]); }},
                   {"linear",
                    {tokens, {3 * D, D}, {3 * D}},
                    [](const Inputs& x) { return linear(x[0], x[1], x[2]); }},
                   {"linear_gelu",
                    {tokens, {M, D}, {M}},
                    [](const Inputs& x) { return linear_gelu(x[0], x[1], x[2]); }},
                   {"attention",
                    {heads, heads, heads},
                    [](const Inputs& x) { return attention(x[0], x[1], x[2]); }},
                   {"self_attention",
                    {{B, T, 3 * D}},
                    [=](const Inputs& x) { return self_attention(x[0], n); }},
                   {"multi_head_attention",
                    {tokens, tokens, tokens},
                    [=](const Inputs& x) { return multi_head_attention(x[0], x[1], x[2], n); }},
                   {"cross_entropy", {{B * T, 10}}, [=](const Inputs& x) {
                      return cross_entropy(x[0], labels, 0.1, Reduction::none);
                    }}});
  }
  return result;
}

}  // namespace

Outputs results(bool composed) {
  const Composed form(composed);
  Outputs outputs;
  for (const Case& c : cases()) {
    const auto put = [&](const std::string& what, const Array& values) {
      outputs.emplace_back(c.name + what, std::vector<double>(values.begin(), values.end()));
    };
    Inputs xs;
    for (const Shape& shape : c.shapes) xs.emplace_back(normal(shape, 17 + xs.size()), true);
    const Tensor y = c.f(xs);
    put("", y.value());
    const std::vector<Array> gradients = grad(y, xs, normal(y.shape(), 99));
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      put(", gradient " + std::to_string(i), gradients[i]);
    }
  }
  return outputs;
}

}  // namespace accuracy::VITRUVIAN_PRECISION
