// The tape: what is recorded, how cotangents meet, what is refused, and what it costs.

#include "tests/expect.hpp"
#include "vitruvian/core/anomaly.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/memory.hpp"
#include "vitruvian/core/fault.hpp"
#include "vitruvian/core/ops.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

using namespace vitruvian;

namespace {

Tensor leaf(double value) { return Tensor(scalar(static_cast<real>(value)), true); }

double only(const Array* a) {
  REQUIRE(a != nullptr);
  REQUIRE(a->size() == 1);
  return static_cast<double>(*a->data());
}

// y = x, with any rule.
Tensor identity(const Tensor& x, Vjp rule) {
  return record("identity", x.value(), {x}, std::move(rule));
}

}  // namespace

TEST_CASE("a leaf is a leaf") {
  const Tensor x(scalar(1));
  CHECK(x.is_leaf());
  CHECK_FALSE(x.requires_grad());
  CHECK(x.grad() == nullptr);
  const Tensor y = leaf(2) * real{3};
  CHECK_FALSE(y.is_leaf());
  CHECK(y.item() == real{6});
  CHECK(std::string(y.node().op) == "mul_scalar");
}

TEST_CASE("gradients accumulate over backward passes until they are zeroed") {
  const Tensor x = leaf(3);
  (x * real{2}).backward();
  CHECK(only(x.grad()) == 2);
  (x * real{5}).backward();
  CHECK(only(x.grad()) == 7);
  x.zero_grad();
  CHECK(x.grad() == nullptr);
  (x * real{5}).backward();
  CHECK(only(x.grad()) == 5);
}

TEST_CASE("an input that is used twice collects both cotangents") {
  const Tensor x = leaf(3);
  (x * x).backward();
  CHECK(only(x.grad()) == 6);
}

TEST_CASE("a diamond: paths that part and meet again") {
  // y = (2x)(x + 1) + 2x         dy/dx = 4x + 2 + 2
  const Tensor x = leaf(3);
  const Tensor a = x * real{2};
  const Tensor y = a * (x + real{1}) + a;
  y.backward();
  CHECK(only(x.grad()) == 16);
}

TEST_CASE("a node waits for all its consumers, however long their detours") {
  const Tensor x = leaf(1);
  const Tensor a = x * real{2};
  Tensor detour = a;
  for (int i = 0; i < 10; ++i) detour = detour + real{0};
  std::size_t calls = 0;
  const Tensor b = identity(a, [&calls](const Node&, const Array& g) {
    ++calls;
    return cotangents(g);
  });
  (b + detour + b).backward();
  CHECK(calls == 1);
  CHECK(only(x.grad()) == 6);
}

TEST_CASE("2^20 paths through 20 nodes cost 20 nodes") {
  const Tensor x = leaf(1);
  Tensor y = x;
  std::size_t calls = 0;
  for (int i = 0; i < 20; ++i) {
    y = record("double", Array(scalar(2 * y.item())), {y, y},
               [&calls](const Node&, const Array& g) {
                 ++calls;
                 return cotangents(g, g);
               });
  }
  y.backward();
  CHECK(calls == 20);
  CHECK(y.item() == real{1 << 20});
  CHECK(only(x.grad()) == 1 << 20);
}

TEST_CASE("a second backward needs retain_graph") {
  const Tensor x = leaf(3);
  const Tensor y = square(x);
  y.backward(true);
  y.backward();
  CHECK(only(x.grad()) == 12);
  CHECK_FAILS_WITH(y.backward(), "the graph below 'square' was freed by an earlier backward");
  CHECK_FAILS_WITH(y.backward(), "retain_graph");
  CHECK(only(x.grad()) == 12);
}

TEST_CASE("two results over a freed part: the error names the freed op") {
  const Tensor x = leaf(3);
  const Tensor shared = exp(x);
  (shared * real{2}).backward();
  CHECK_FAILS_WITH((shared * real{3}).backward(), "below 'exp' was freed");
}

TEST_CASE("NoGrad records nothing, and nests") {
  const Tensor x = leaf(3);
  {
    const NoGrad outer;
    { const NoGrad inner; }
    CHECK(NoGrad::active());
    const Tensor y = x * x;
    CHECK_FALSE(y.requires_grad());
    CHECK(y.is_leaf());
    CHECK(y.node().inputs.empty());
    CHECK_FAILS_WITH(y.backward(), "'mul' was computed under NoGrad");
  }
  CHECK_FALSE(NoGrad::active());
  CHECK((x * x).requires_grad());
}

TEST_CASE("what requires no gradient is not recorded") {
  const Tensor x(scalar(3));
  const Tensor y = x * x;
  CHECK_FALSE(y.requires_grad());
  CHECK(y.node().inputs.empty());
}

TEST_CASE("detach cuts the graph and copies the value") {
  const Tensor x = leaf(3);
  const Tensor d = square(x).detach();
  CHECK(d.is_leaf());
  CHECK_FALSE(d.requires_grad());
  (x * d).backward();
  CHECK(only(x.grad()) == 9);
  d.mutable_value().fill(0);
  CHECK(square(x).item() == real{9});
}

TEST_CASE("grad leaves .grad alone, and reaches inner nodes") {
  const Tensor x = leaf(3);
  const Tensor a = square(x);
  const Tensor y = a * real{2} + x;
  const std::vector<Array> g = grad(y, {x, a, y}, std::nullopt, true);
  CHECK(only(&g[0]) == 13);
  CHECK(only(&g[1]) == 2);
  CHECK(only(&g[2]) == 1);
  CHECK(x.grad() == nullptr);
  CHECK(a.grad() == nullptr);
  CHECK(only(&grad(y, {x}, array({}, {10}))[0]) == 130);
}

TEST_CASE("grad is zero where y does not depend on x, and refuses what needs none") {
  const Tensor x = leaf(3);
  const Tensor other(array({2}, {1, 2}), true);
  const std::vector<Array> g = grad(square(x), {other});
  CHECK(g[0].shape() == Shape{2});
  CHECK(g[0].data()[1] == real{0});
  CHECK_FAILS_WITH(grad(square(x), {Tensor(scalar(1))}), "requires no gradient");
}

TEST_CASE("a cotangent must have the shape of the result") {
  const Tensor x(array({2, 3}, {1, 2, 3, 4, 5, 6}), true);
  const Tensor y = x * real{2};
  CHECK_FAILS_WITH(y.backward(), "a result of shape (2, 3) needs a cotangent of that shape");
  CHECK_FAILS_WITH(y.backward(zeros({3, 2})), "cotangent (3, 2) for a result of shape (2, 3)");
  CHECK_FAILS_WITH(y.backward(zeros({6})), "cotangent (6,)");
  y.backward(array({2, 3}, {0, 0, 0, 0, 0, 7}));
  CHECK(x.grad()->data()[5] == real{14});
  CHECK_FAILS_WITH(x.set_grad(zeros({3})), "set_grad: gradient (3,) for a value of shape (2, 3)");
}

TEST_CASE("an absent tensor is refused by name, and may be an optional input") {
  const Tensor absent;
  CHECK_FALSE(static_cast<bool>(absent));
  CHECK_FAILS_WITH(absent.value(), "an absent tensor was read");
  const Tensor x = leaf(2);
  const Tensor y = record("optional", x.value(), {x, absent}, [](const Node& n, const Array& g) {
    CHECK_FALSE(n.has(1));
    CHECK_FALSE(n.needs(1));
    return cotangents(g, std::nullopt);
  });
  y.backward();
  CHECK(only(x.grad()) == 1);
}

TEST_CASE("constants receive nothing, and a rule is told so") {
  const Tensor x = leaf(2);
  const Tensor constant(scalar(5));
  const Tensor y = record("pair", x.value(), {constant, x}, [](const Node& n, const Array& g) {
    CHECK_FALSE(n.needs(0));
    CHECK(n.needs(1));
    return cotangents(g, g);
  });
  y.backward();
  CHECK(constant.grad() == nullptr);
  CHECK(only(x.grad()) == 1);
}

TEST_CASE("no node outlives its tensors") {
  REQUIRE(live_nodes() == 0);
  {
    const Tensor x = leaf(3);
    const Tensor y = square(x) + exp(x);
    CHECK(live_nodes() == 4);
    y.backward();
    CHECK(live_nodes() == 2);
  }
  CHECK(live_nodes() == 0);
}
