// Layers, parameters and initial values by themselves. What PyTorch says of the same is in
// golden_test.cpp.

#include "tests/expect.hpp"
#include "vitruvian/core/check/gradcheck.hpp"
#include "vitruvian/core/composed.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/nn/init.hpp"
#include "vitruvian/nn/layers.hpp"

using namespace vitruvian;

namespace {

constexpr bool is_float = sizeof(real) == sizeof(float);

Tensor random_tensor(const Shape& shape, std::uint64_t seed) {
  return Tensor(random_normal(shape, seed));
}

struct Moment {
  double mean, std, low, high;
};

Moment moments(const Tensor& x) {
  const auto [low, high] = std::minmax_element(x.value().begin(), x.value().end());
  return {static_cast<double>(mean(x).item()), std::sqrt(static_cast<double>(var(x).item())),
          static_cast<double>(*low), static_cast<double>(*high)};
}

// --- parameters --------------------------------------------------------------------------------

TEST_CASE("a module names its parameters and their roles, absent ones included") {
  const MultiHeadSelfAttention attn(8, 2, Rng(1), {.qkv_bias = false});
  std::vector<std::string> seen;
  Visitor visitor([&seen](const std::string& name, Role role, const Parameter& p) {
    seen.push_back(name + (role == Role::weight ? " weight" : " bias") + (p ? "" : " absent"));
  });
  visitor.child("blocks", 3, attn);
  CHECK(seen == std::vector<std::string>{"blocks.3.qkv.weight weight",
                                         "blocks.3.qkv.bias bias absent",
                                         "blocks.3.proj.weight weight", "blocks.3.proj.bias bias"});

  std::vector<std::string> names;
  for (const NamedParameter& p : named_parameters(attn)) names.push_back(p.name);
  CHECK(names == std::vector<std::string>{"qkv.weight", "proj.weight", "proj.bias"});
  CHECK(count_parameters(attn) == 8 * 24 + 8 * 8 + 8);

  for (const NamedParameter& p : named_parameters(LayerNorm({4}))) CHECK(p.role == Role::norm);
  CHECK(named_parameters(LayerNorm({4}, 1e-6, false)).empty());
  CHECK(named_parameters(LayerNorm({4}, 1e-6, true, false)).size() == 1);
}

TEST_CASE("parameters and modules are move-only") {
  CHECK_FALSE(std::is_copy_constructible_v<Parameter>);
  CHECK_FALSE(std::is_copy_constructible_v<Linear>);
  CHECK_FALSE(std::is_copy_assignable_v<MultiHeadSelfAttention>);
  CHECK(std::is_nothrow_move_constructible_v<Parameter>);
  CHECK(std::is_move_constructible_v<Mlp>);

  Linear a(3, 2, Rng(1));
  const Tensor handle = a.weight;
  const Linear b = std::move(a);
  CHECK(b.weight.tensor().node_ptr() == handle.node_ptr());
}

TEST_CASE("a clone is equal, and independent") {
  const Mlp mlp(4, 6, Rng(1), 0.25, GELU{true});
  under("mlp", mlp, random_tensor({2, 4}, 1)).backward(full({2, 4}, real{1}));
  const Mlp copy = clone(mlp);
  const auto original = named_parameters(mlp);
  const auto copied = named_parameters(copy);
  REQUIRE(copied.size() == original.size());
  for (std::size_t i = 0; i < copied.size(); ++i) {
    CHECK(copied[i].name == original[i].name);
    CHECK(copied[i].tensor.value() == original[i].tensor.value());
    CHECK(copied[i].tensor.grad() == nullptr);
    init::constant(copied[i].tensor, 7);
    CHECK_FALSE(copied[i].tensor.value() == original[i].tensor.value());
  }
  CHECK(copy.drop1.p == 0.25);
  CHECK(copy.act.tanh);

  const MultiHeadSelfAttention attn(6, 3, Rng(1), {.qkv_bias = false, .attn_drop = 0.5});
  const MultiHeadSelfAttention twin = clone(attn);
  CHECK(twin.heads == 3);
  CHECK(twin.attn_drop == 0.5);
  CHECK_FALSE(twin.qkv.bias);

  const Linear frozen(3, 2, Rng(1));
  frozen.weight.tensor().set_requires_grad(false);
  const Linear still = clone(frozen);
  CHECK_FALSE(still.weight.tensor().requires_grad());
  CHECK(still.bias.tensor().requires_grad());
  CHECK(clone(LayerScale(3, 0.5)).gamma.value() == full({3}, real(0.5)));
  CHECK_FALSE(clone(LayerScale(3, 0)).gamma);
}

TEST_CASE("copy_parameters names what does not fit, and changes nothing then") {
  const Linear a(3, 2, Rng(1));
  const Linear b(3, 2, Rng(2), false);
  const Linear c(4, 2, Rng(3));
  const Array before = b.weight.value();
  CHECK_SAYS(copy_parameters(a, b), "copy_parameters: the target has no 'bias'");
  CHECK_SAYS(copy_parameters(b, a), "copy_parameters: the source has no 'bias'");
  CHECK_SAYS(copy_parameters(a, c),
             "copy_parameters: 'weight' is (2, 3) in the source and (2, 4) in the target");
  CHECK(b.weight.value() == before);
}

// --- initial values ----------------------------------------------------------------------------

TEST_CASE("initialisers have the moments and bounds of their distributions") {
  const Rng rng(7);
  const double tolerance = 0.02;  // of 40,000 draws: four standard errors of the mean and the std
  Tensor x(zeros({200, 200}));
  const auto has = [&](double mean, double std, double low, double high) {
    const Moment m = moments(x);
    CHECK(std::abs(m.mean - mean) <= tolerance * std);
    CHECK(near(m.std, std, tolerance));
    CHECK(m.low >= low);
    CHECK(m.high <= high);
    return m.high;
  };
  constexpr double any = std::numeric_limits<double>::infinity();
  constexpr double cut = 0.87962566103423978;  // the std of a normal cut at two of its own
  CHECK_FAILS_WITH(init::normal(x, rng, any, 0), "deviation of inf is not a number from 0");
  init::normal(x, rng, 0.5, 3);
  has(3, 0.5, -any, any);
  init::uniform(x, rng, -1, 3);
  has(1, 4 / std::sqrt(12.0), -1, 3);
  // The absolute cut at 2 bites when the standard deviation is 1, and not when it is .02.
  init::truncated_normal(x, rng, 1);
  CHECK(has(0, cut, -2, 2) > 1.9);
  init::truncated_normal(x, rng, 0.02);
  CHECK(has(0, 0.02, -2, 2) > 2 * 0.02);
  // flax: after the cut, the standard deviation is sqrt(1 / fan_in).
  init::lecun_normal(x, rng);
  has(0, 1 / std::sqrt(200.0), -any, 2 / std::sqrt(200.0) / 0.8796);
  init::constant(x, 2.5);
  CHECK(moments(x).low == 2.5);
  CHECK(moments(x).high == 2.5);
}

TEST_CASE("initialisers can be switched off for values that come later, on this thread alone") {
  const Tensor x(full({3, 5}, real(7)));
  {
    const init::Off off;
    init::normal(x, Rng(1), 1);
    { const init::Off again; }
    init::constant(x, 2);
    CHECK(moments(x).low == 7);
    CHECK(Linear(4, 4, Rng(1)).weight.value() == zeros({4, 4}));
  }
  init::constant(x, 2);
  CHECK(moments(x).high == 2);
  // Whoever draws, the numbers are a function of their place: those of a whole and of a piece.
  Tensor large(zeros({40'000}));
  Tensor small(zeros({20'001}));
  init::normal(large, Rng(3), 1);
  init::normal(small, Rng(3), 1);
  CHECK(std::equal(small.value().begin(), small.value().end(), large.value().begin()));
}

TEST_CASE("bounds of the uniform initialisers are those of requirements C3") {
  // With enough draws the largest comes within a hundredth of the bound.
  const auto bound = [](const Tensor& x) {
    const Moment m = moments(x);
    CHECK(near(-m.low, m.high, 0.01));
    return m.high;
  };
  const Tensor qkv(zeros({192, 64}));
  init::xavier_uniform(qkv, Rng(1), {64, 64});
  CHECK(near(bound(qkv), std::sqrt(6.0 / 128), 0.01));
  init::xavier_uniform(qkv, Rng(1));
  CHECK(near(bound(qkv), std::sqrt(6.0 / 256), 0.01));
  init::kaiming_uniform(qkv, Rng(1), std::sqrt(5.0));
  CHECK(near(bound(qkv), 1 / 8.0, 0.01));

  const Tensor patches(zeros({64, 3, 4, 4}));
  CHECK(init::fans(patches).in == 48);
  CHECK(init::fans(patches).out == 1024);
  CHECK_SAYS(init::xavier_uniform(Tensor(zeros({3})), Rng(1)),
             "init: a tensor of shape (3,) has no fans: a weight (out, in, ...) was expected");
  CHECK_SAYS(init::xavier_uniform(qkv, Rng(1), {0, 0}), "xavier_uniform: a fan of 0 in and 0 out");
  init::xavier_uniform(Tensor(zeros({0, 0})), Rng(1));
}

TEST_CASE("a linear layer starts as PyTorch's does, from its own streams") {
  const Linear layer(64, 300, Rng(5));
  const double bound = 1.0 / 8;
  for (const NamedParameter& p : named_parameters(layer)) {
    CHECK(moments(p.tensor).high <= bound);
    CHECK(moments(p.tensor).low >= -bound);
    CHECK(moments(p.tensor).high > 0.95 * bound);
    CHECK(moments(p.tensor).low < -0.95 * bound);
  }
  // Neither drawn from the same numbers, nor dependent on whether the other is drawn.
  CHECK(layer.weight.value().data()[0] != layer.bias.value().data()[0]);
  CHECK(layer.weight.value() == Linear(64, 300, Rng(5), false).weight.value());
  const Mlp mlp(4, 4, Rng(5));
  CHECK_FALSE(mlp.fc1.weight.value() == mlp.fc2.weight.value());
}

// --- layers ------------------------------------------------------------------------------------

TEST_CASE("a trace changes no bit; composed, attention hands over its probabilities") {
  const MultiHeadSelfAttention attn(8, 2, Rng(1), {.attn_drop = 0.3});
  const Tensor x = random_tensor({3, 5, 8}, 2);
  const Rng rng(9);
  Trace trace;
  const Tensor plain = under("attn", attn, x, Pass{.rng = &rng});
  CHECK(under("attn", attn, x, Pass{.rng = &rng, .trace = &trace}).value() == plain.value());
  CHECK(trace.find("attn.probs") == nullptr);
  const Composed probabilities_too;
  const Tensor traced = under("attn", attn, x, Pass{.rng = &rng, .trace = &trace});
  const double tolerance = is_float ? 1e-6 : 1e-14;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    CHECK(std::abs(static_cast<double>(plain.value().data()[i] - traced.value().data()[i])) <
          tolerance);
  }
  const Trace::Entry* const entry = trace.find("attn.probs");
  REQUIRE(entry != nullptr);
  CHECK(entry->symbols == "(B, h, T, T)");
  CHECK(entry->tensor.shape() == Shape{3, 2, 5, 5});
  const Tensor sums = sum(entry->tensor, {-1});  // before dropout
  for (const real total : sums.value()) CHECK(near(static_cast<double>(total), 1, tolerance));
  CHECK(&trace.at("attn.probs") == &entry->tensor);
  CHECK(trace.find("probs") == nullptr);
  CHECK_SAYS(trace.at("attn.prob"),
             "trace: nothing is called 'attn.prob'; the nearest is 'attn.probs'");
  CHECK_SAYS(trace.at("atn.probs"),
             "trace: nothing is called 'atn.probs'; the nearest is 'attn.probs'");
  CHECK_SAYS(Pass().stream(), "pass: it has no generator, so no stream: ask `pass.rng != nullptr`");
}

TEST_CASE("errors of a layer name the shapes and the module's path") {
  const Mlp mlp(4, 6, Rng(1));
  const Scope scope("blocks", 3);
  const std::string message = message_of([&] { under("mlp", mlp, random_tensor({2, 7}, 1)); });
  CAPTURE(message);
  CHECK(says(message, "(2, 7)"));
  CHECK(says(message, "(6, 4)"));
  CHECK(message.ends_with(" - in blocks.3.mlp.fc1"));
  CHECK_SAYS(MultiHeadSelfAttention(8, 3, Rng(1)),
             "attention: 3 heads do not divide a width D of 8 - in blocks.3");
}

}  // namespace
