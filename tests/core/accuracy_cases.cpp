#include "tests/core/accuracy_cases.hpp"

#include "vitruvian/core/composed.hpp"
#include "vitruvian/core/gradcheck.hpp"
#include "vitruvian/core/rng.hpp"

#include <utility>

namespace accuracy::VITRUVIAN_PRECISION {
namespace {

using namespace vitruvian;
using Inputs = std::vector<Tensor>;

struct Case {
  std::string name;
  std::vector<Shape> shapes;
  Function fused, twin;
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

void put(Outputs& outputs, std::string name, const Array& values) {
  outputs.push_back({std::move(name), std::vector<double>(values.begin(), values.end())});
}

Outputs outputs_of(const Case& c, const Function& f) {
  Inputs xs;
  for (const Shape& shape : c.shapes) xs.emplace_back(normal(shape, 17 + xs.size()), true);
  const Tensor y = f(xs);
  const std::vector<Array> gradients = grad(y, xs, normal(y.shape(), 99));
  Outputs outputs;
  put(outputs, c.name, y.value());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    put(outputs, c.name + ", gradient " + std::to_string(i), gradients[i]);
  }
  return outputs;
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
  const double eps = 1e-6;
  for (const auto& [B, T, D, h, M] : all_sizes) {
    const Shape tokens{B, T, D};
    const Shape hidden{B, T, M};
    const Shape scores{B, h, T, T};
    const Shape heads{B, h, T, D / h};
    const Shape features{D};
    const std::size_t n = h;
    result.push_back({"softmax",
                      {scores},
                      [](const Inputs& x) { return softmax(x[0]); },
                      [](const Inputs& x) { return composed::softmax(x[0]); }});
    result.push_back({"log_softmax",
                      {scores},
                      [](const Inputs& x) { return log_softmax(x[0]); },
                      [](const Inputs& x) { return composed::log_softmax(x[0]); }});
    result.push_back(
        {"layer_norm",
         {tokens, {D}, {D}},
         [=](const Inputs& x) { return layer_norm(x[0], features, x[1], x[2], eps); },
         [=](const Inputs& x) { return composed::layer_norm(x[0], features, x[1], x[2], eps); }});
    result.push_back({"gelu",
                      {hidden},
                      [](const Inputs& x) { return gelu(x[0]); },
                      [](const Inputs& x) { return composed::gelu(x[0]); }});
    result.push_back({"gelu_tanh",
                      {hidden},
                      [](const Inputs& x) { return gelu_tanh(x[0]); },
                      [](const Inputs& x) { return composed::gelu_tanh(x[0]); }});
    result.push_back({"linear",
                      {tokens, {3 * D, D}, {3 * D}},
                      [](const Inputs& x) { return linear(x[0], x[1], x[2]); },
                      [](const Inputs& x) { return composed::linear(x[0], x[1], x[2]); }});
    result.push_back({"linear_gelu",
                      {tokens, {M, D}, {M}},
                      [](const Inputs& x) { return linear_gelu(x[0], x[1], x[2]); },
                      [](const Inputs& x) { return composed::linear_gelu(x[0], x[1], x[2]); }});
    result.push_back(
        {"attention",
         {heads, heads, heads},
         [](const Inputs& x) { return attention(x[0], x[1], x[2]); },
         [](const Inputs& x) { return composed::attention(x[0], x[1], x[2]).output; }});
    result.push_back({"self_attention",
                      {{B, T, 3 * D}},
                      [=](const Inputs& x) { return self_attention(x[0], n); },
                      [=](const Inputs& x) { return composed::self_attention(x[0], n).output; }});
    result.push_back({"multi_head_attention",
                      {tokens, tokens, tokens},
                      [=](const Inputs& x) { return multi_head_attention(x[0], x[1], x[2], n); },
                      [=](const Inputs& x) {
                        return composed::multi_head_attention(x[0], x[1], x[2], n).output;
                      }});
    std::vector<std::size_t> labels(B * T);
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = i % 10;
    result.push_back(
        {"cross_entropy",
         {{B * T, 10}},
         [=](const Inputs& x) { return cross_entropy(x[0], labels, 0.1, Reduction::none); },
         [=](const Inputs& x) {
           return composed::cross_entropy(x[0], labels, 0.1, Reduction::none);
         }});
  }
  return result;
}

}  // namespace

std::vector<Outputs> fused() {
  std::vector<Outputs> result;
  for (const Case& c : cases()) result.push_back(outputs_of(c, c.fused));
  return result;
}

std::vector<Outputs> composed() {
  std::vector<Outputs> result;
  for (const Case& c : cases()) result.push_back(outputs_of(c, c.twin));
  return result;
}

}  // namespace accuracy::VITRUVIAN_PRECISION
