// PyTorch's nn.MultiheadAttention and torchvision's MLP, argument for argument.

#include "tests/expect.hpp"
#include "tests/golden.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/nn/torch/mlp.hpp"
#include "vitruvian/nn/torch/multihead_attention.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <map>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

using golden::difference;
using golden::Json;
using Tensors = std::vector<Tensor>;

// Values of all outputs, and the gradients of sum(output * cotangent) over all of them.
template <class Module>
void check(const Module& module, const Json& c,
           const std::function<Tensors(const Tensors& inputs)>& forward) {
  Tensors inputs;
  for (const Json& input : c.at("inputs")) inputs.emplace_back(golden::tensor(input), true);
  Tensors leaves = inputs;
  std::vector<Array> expected;
  for (const Json& g : c.at("input_gradients")) expected.push_back(golden::tensor(g));
  const std::vector<NamedParameter> parameters = named_parameters(module);
  REQUIRE(parameters.size() == c.at("parameters").size());
  for (const NamedParameter& p : parameters) {
    CAPTURE(p.name);
    const Array value = golden::tensor(c.at("parameters").at(p.name));
    REQUIRE(value.shape() == p.tensor.shape());
    p.tensor.mutable_value() = value;
    leaves.push_back(p.tensor);
    expected.push_back(golden::tensor(c.at("gradients").at(p.name)));
  }
  const Tensors outputs = forward(inputs);
  REQUIRE(outputs.size() == c.at("outputs").size());
  Tensor total(scalar(0));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    CAPTURE(i);
    CHECK(difference(outputs[i].value(), golden::tensor(c.at("outputs")[i])) <= 1e-12);
    total = total + sum(outputs[i] * Tensor(golden::tensor(c.at("cotangents")[i])));
  }
  const std::vector<Array> gradients = grad(total, leaves);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    CAPTURE(i);
    CHECK(difference(gradients[i], expected[i]) <= 1e-12);
  }
}

MultiheadAttention::Options attention_options(const Json& options) {
  return {.bias = options.value("bias", true),
          .add_bias_kv = options.value("add_bias_kv", false),
          .add_zero_attn = options.value("add_zero_attn", false),
          .kdim = options.value("kdim", std::size_t{0}),
          .vdim = options.value("vdim", std::size_t{0}),
          .batch_first = options.value("batch_first", false)};
}

MLP::Options mlp_options(const Json& options) {
  static const std::map<std::string, Activation> activations{
      {"relu", Activation::relu}, {"gelu", Activation::gelu}, {"tanh", Activation::tanh}};
  return {.norm = options.at("norm").get<bool>(),
          .activation = activations.at(options.at("activation").get<std::string>()),
          .bias = options.at("bias").get<bool>()};
}

TEST_CASE("MultiheadAttention is PyTorch's with every argument, MLP torchvision's") {
  const Json file = golden::read("modules.json");
  std::map<std::string, int> seen;
  for (const Json& c : file.at("cases")) {
    const auto name = c.at("module").get<std::string>();
    const Json& options = c.at("options");
    CAPTURE(name);
    CAPTURE(options.dump());
    ++seen[name];
    if (name == "mlp") {
      const MLP module(4, options.at("widths").get<std::vector<std::size_t>>(), Rng(1),
                       mlp_options(options));
      check(module, c, [&](const Tensors& x) { return Tensors{module(x[0])}; });
    } else {
      const MultiheadAttention module(8, 2, Rng(1), attention_options(options));
      check(module, c, [&](const Tensors& x) {
        const MultiheadAttention::Result result = module(x[0], x[1], x[2]);
        const Tensor fused = module(x[0], x[1], x[2], {}, false).output;
        CHECK(difference(fused.value(), result.output.value()) <= 1e-12);
        return Tensors{result.output, result.weights};
      });
    }
  }
  CHECK(seen == std::map<std::string, int>{{"attention", 5}, {"mlp", 4}});
}

TEST_CASE("their dropout needs a generator; the weights are those before it") {
  const MultiheadAttention attention(8, 2, Rng(1), {.dropout = 0.5, .batch_first = true});
  const MLP mlp(8, {6, 4}, Rng(1), {.dropout = 0.5});
  Array values = empty({2, 5, 8});
  for (std::size_t i = 0; i < values.size(); ++i) {
    values.data()[i] = static_cast<real>(Rng(3).normal(i));
  }
  const Tensor x(values);
  const Rng rng(4);
  const auto plain = attention(x, x, x);
  const auto dropped = attention(x, x, x, {.rng = &rng});
  CHECK(difference(dropped.output.value(), plain.output.value()) > 1e-2);
  CHECK(difference(dropped.weights.value(), plain.weights.value()) == 0);
  CHECK_FALSE(attention(x, x, x, {}, false).weights);
  CHECK(difference(mlp(x, {.rng = &rng}).value(), mlp(x).value()) > 1e-2);
  CHECK(difference(mlp(x).value(), mlp(x).value()) == 0);
}

TEST_CASE("what is not said is PyTorch's: relu, biases, no dropout, the batch second") {
  const MLP mlp(4, {3, 2}, Rng(1), {});
  CHECK(mlp.activation == Activation::relu);
  CHECK(mlp.norms.empty());
  CHECK(mlp.dropout.p == 0);
  CHECK((mlp.linears[0].bias && mlp.linears[1].bias));
  const MultiheadAttention attention(8, 2, Rng(1), {});
  CHECK_FALSE(attention.batch_first);
  CHECK_FALSE(attention.add_zero_attn);
  CHECK(attention.dropout == 0);
  CHECK((attention.in_proj_bias && attention.out_proj.bias));
  CHECK_FALSE((attention.bias_k || attention.bias_v));
}

TEST_CASE("what cannot be is refused") {
  CHECK_FAILS_WITH(MultiheadAttention(8, 3, Rng(1), {}), "3 heads do not divide a width D of 8");
  const MultiheadAttention attention(8, 2, Rng(1), {});
  const Tensor flat(zeros({5, 8}));
  CHECK_FAILS_WITH(attention(flat, flat, flat), "attention: input (5, 8) is not (T, B, D)");
  CHECK_FAILS_WITH(MLP(4, {}, Rng(1), {}), "mlp: no widths");
}

}  // namespace
}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
