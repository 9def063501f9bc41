// The tape: what is recorded, how cotangents meet, what is refused, and what it costs. Never a
// wrong gradient: several results in one walk, and errors that say where, what, and what to do.

#include "tests/core/engine_testing.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/scope.hpp"
#include "vitruvian/core/check/gradcheck.hpp"

using namespace vitruvian;

namespace {

std::size_t own_op(const Tensor& x) { return x.value().size(); }

}  // namespace

TEST_CASE("what requires no gradient is a leaf, and receives nothing: a rule is told so") {
  const Tensor constant(scalar(5));
  CHECK((constant * constant).is_leaf());
  CHECK_FALSE((constant * constant).requires_grad());
  CHECK((constant * constant).node().inputs.empty());
  const Tensor x = leaf(2);
  const Tensor absent;
  const Tensor y =
      record("pair", x.value(), {constant, x, absent}, [](const Node& n, const Array& g) {
        CHECK((n.has(0) && n.has(1) && !n.has(2)));
        CHECK((!n.needs(0) && n.needs(1) && !n.needs(2)));
        return cotangents(g, g, std::nullopt);
      });
  CHECK(std::string(y.node().op) == "pair");
  CHECK_FALSE(y.is_leaf());
  y.backward();
  CHECK(constant.grad() == nullptr);
  CHECK(only(x) == 1);
}

TEST_CASE("gradients accumulate over backward passes until they are zeroed") {
  const Tensor x = leaf(3);
  (x * real{2}).backward();
  CHECK(only(x) == 2);
  (x * real{5}).backward();
  CHECK(only(x) == 7);
  x.zero_grad();
  CHECK(x.grad() == nullptr);
  (x * real{5}).backward();
  CHECK(only(x) == 5);
}

TEST_CASE("a sum takes the memory of a temporary that nobody can read any more, and of no other") {
  const Tensor x(array({2, 2}, {1, 2, 3, 4}), true);
  const Tensor w(array({2, 2}, {1, -1, 2, 0.5}), true);
  const Array cotangent = array({2, 2}, {0.5, -2, 4, 3});
  const auto gradients = [&](const Tensor& y) { return grad(y, {x, w}, cotangent, true); };
  const Tensor kept = linear(x, w);
  const Tensor expected = kept + x;
  CHECK(expected.value() == array({2, 2}, {0, 5, 2, 12}));

  Tensor temporary = linear(x, w);
  const real* place = temporary.value().data();
  const Tensor y = std::move(temporary) + x;
  CHECK(y.value().data() == place);
  CHECK(y.value() == expected.value());
  for (int again = 0; again < 2; ++again) CHECK(gradients(y) == gradients(expected));

  Tensor one = linear(x, w);
  const Tensor handle = one;
  CHECK((std::move(one) + x).value() == expected.value());
  REQUIRE(handle.size() == 4);  // an array without its numbers compares equal to any of its shape
  CHECK(handle.value() == kept.value());
  CHECK((linear(x, w) + Tensor(array({2}, {1, 2}))).value() ==
        (kept + Tensor(array({2}, {1, 2}))).value());
  Tensor own_value = exp(x);  // whose rule reads it
  place = own_value.value().data();
  const Tensor z = std::move(own_value) + x;
  CHECK(z.value().data() != place);
  CHECK(grad(z, {x}, cotangent)[0] == grad(add(exp(x), x), {x}, cotangent)[0]);
  Tensor twice = linear(x, w);
  CHECK((std::move(twice) + twice).value() ==
        (kept + kept).value());  // NOLINT(bugprone-use-after-move)
  const NoGrad no_grad;
  CHECK((linear(x, w) + x).value() == expected.value());
}

TEST_CASE("a node waits for all its consumers, however long their detours") {
  const Tensor x = leaf(1);
  const Tensor a = x * real{2};
  Tensor detour = a;
  for (int i = 0; i < 10; ++i) detour = detour + real{0};
  std::size_t calls = 0;
  const Tensor b = record("identity", a.value(), {a}, [&calls](const Node&, const Array& g) {
    ++calls;
    return cotangents(g);
  });
  (b + detour + b).backward();
  CHECK(calls == 1);
  CHECK(only(x) == 6);
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
  CHECK(only(x) == 1 << 20);
}

TEST_CASE("a second backward needs retain_graph") {
  const Tensor x = leaf(3);
  const Tensor y = square(x);
  y.backward(true);
  y.backward();
  CHECK(only(x) == 12);
  CHECK_FAILS_WITH(y.backward(), "the graph below 'square' was freed by an earlier backward");
  CHECK_FAILS_WITH(y.backward(), "retain_graph");
  CHECK(only(x) == 12);
}

TEST_CASE("two results over a freed part: the error names the freed op") {
  const Tensor x = leaf(3);
  const Tensor shared = exp(x);
  (shared * real{2}).backward();
  CHECK_FAILS_WITH((shared * real{3}).backward(), "below 'exp' was freed");
}

TEST_CASE("detach cuts the graph and copies the value") {
  const Tensor x = leaf(3);
  const Tensor d = square(x).detach();
  CHECK(d.is_leaf());
  CHECK_FALSE(d.requires_grad());
  (x * d).backward();
  CHECK(only(x) == 9);
  d.mutable_value().fill(0);
  CHECK(square(x).item() == real{9});
}

TEST_CASE("grad leaves .grad alone, and reaches inner nodes") {
  const Tensor x = leaf(3);
  const Tensor a = square(x);
  const Tensor y = a * real{2} + x;
  const std::vector<Array> g = grad(y, {x, a, y}, std::nullopt, true);
  CHECK(*g[0].data() == real{13});
  CHECK(*g[1].data() == real{2});
  CHECK(*g[2].data() == real{1});
  CHECK(x.grad() == nullptr);
  CHECK(a.grad() == nullptr);
  CHECK(*grad(y, {x}, array({}, {10}))[0].data() == real{130});
}

TEST_CASE("grad is zero where y does not depend on x, and refuses what needs none") {
  const Tensor x = leaf(3);
  const Tensor other(array({2}, {1, 2}), true);
  const std::vector<Array> g = grad(square(x), {other});
  CHECK(g[0].shape() == Shape{2});
  CHECK(g[0].data()[1] == real{0});
  CHECK_FAILS_WITH(grad(square(x), {Tensor(scalar(1))}), "requires no gradient");
}

TEST_CASE("a gradient is handed over once it is final, before the walk goes on below it") {
  const Tensor x = leaf(2), w1 = leaf(3), w2 = leaf(5), other = leaf(7);
  const Tensor y = (x * w1) * w2 + w2;
  std::vector<std::size_t> order;
  std::vector<std::optional<Array>> found(6);
  // w2 is final after both of its uses, and long before what is below the product.
  grad_as_ready({y}, {x, other, w1, w2, w1, y}, {}, false, [&](std::size_t i, Array gradient) {
    order.push_back(i);
    CHECK(!found[i]);
    found[i] = std::move(gradient);
  });
  REQUIRE(order.size() == 6);
  CHECK(order[0] == 5);
  CHECK(order[1] == 3);
  CHECK(order[5] == 1);
  const std::vector<real> expected{15, 0, 10, 7, 10, 1};
  for (std::size_t i = 0; i < 6; ++i) CHECK(*found[i]->data() == expected[i]);
}

TEST_CASE("a cotangent must have the shape of the result") {
  const Tensor x(array({2, 3}, {1, 2, 3, 4, 5, 6}), true);
  const Tensor y = x * real{2};
  CHECK_FAILS_WITH(y.backward(zeros({3, 2})), "cotangent (3, 2) for a result of shape (2, 3)");
  CHECK_FAILS_WITH(y.backward(zeros({6})), "cotangent (6,)");
  y.backward(array({2, 3}, {0, 0, 0, 0, 0, 7}));
  CHECK(x.grad()->data()[5] == real{14});
  CHECK_FAILS_WITH(x.set_grad(zeros({3})), "set_grad: gradient (3,) for a value of shape (2, 3)");
  CHECK_FAILS_WITH((x * x).set_grad(zeros({2, 3})), "set_grad: a result ('mul') keeps no gradient");
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

TEST_CASE("several results share one walk") {
  const Tensor x = leaf(3);
  std::size_t calls = 0;
  const Tensor shared = record("shared", scalar(6), {x}, [&calls](const Node&, const Array& g) {
    ++calls;
    return cotangents(2 * g);
  });
  const Tensor a = square(shared);  // da/dx = 2 * 6 * 2 = 24
  const Tensor b = shared * x;      // db/dx = 2 * 3 + 6 = 12
  CHECK(*grad({a, b}, {x}, {}, true)[0].data() == real{36});
  CHECK(calls == 1);
  CHECK(*grad({a, b}, {x}, {scalar(10), scalar(1)}, true)[0].data() == real{252});
  CHECK(x.grad() == nullptr);
  backward({a, b});
  CHECK(only(x) == 36);
  CHECK(calls == 3);
  CHECK_FAILS_WITH(backward({b}), "freed");
}

TEST_CASE("one result may be inside another, or come twice") {
  const Tensor x = leaf(3);
  const Tensor inner = x * 2;
  const Tensor outer = square(inner);  // d/dx = 2 * 6 * 2 = 24
  CHECK(*grad({inner, outer}, {x}, {}, true)[0].data() == real{26});
  CHECK(*grad({outer, inner}, {x}, {}, true)[0].data() == real{26});
  CHECK(*grad({outer, outer}, {x}, {}, true)[0].data() == real{48});
  CHECK(*grad({outer, x}, {x, inner}, {}, true)[0].data() == real{25});
  const Tensor wide(array({2}, {1, 2}), true);
  CHECK_FAILS_WITH(backward({outer, wide}), "a result of shape (2,) needs a cotangent");
  CHECK_FAILS_WITH(backward({outer, inner}, {scalar(1)}), "1 cotangents for 2 results");
  CHECK_FAILS_WITH(backward({outer, Tensor(scalar(1))}), "does not depend on anything");
  CHECK_FAILS_WITH(backward({outer, Tensor()}), "backward: an absent tensor was read");
  CHECK(x.grad() == nullptr);
  backward({});
}

// --- errors --------------------------------------------------------------------------------------

TEST_CASE("backward's errors name the module of the node, once, and not the caller's") {
  const Tensor x(array({2}, {1, 2}), true);
  const auto in_block = [&](const auto& body) {
    const Scope block("blocks", 3);
    return body();
  };
  const Tensor y = in_block([&] { return x * 2; });
  const char* const error =
      "backward: a result of shape (2,) needs a cotangent of that shape; or take its sum() or "
      "mean() first - in blocks.3";
  CHECK_SAYS(y.backward(), error);
  CHECK(in_block([&] { return message_of([&] { y.backward(); }); }) == error);
  CHECK(Scope::path().empty());

  const Tensor failing = in_block([&] {
    return record("failing", scalar(1), {x},
                  [](const Node&, const Array&) -> Cotangents { fail("failing: no derivative"); });
  });
  CHECK_SAYS(failing.backward(), "failing: no derivative - in blocks.3");
  {
    const Scope caller("trainer");
    CHECK_SAYS(failing.backward(), "failing: no derivative - in blocks.3");
    CHECK(Scope::path() == "trainer");
  }
  CHECK_SAYS(record("mine", scalar(1), {x}, {}), "record: 'mine' has no rule for the way back");
  CHECK(gradcheck([] { return Tensor(scalar(1)); }, std::vector<Tensor>{}).problem ==
        "gradcheck: there is no input to differentiate by");
  const Tensor z = sum(in_block([&] { return square(x); }));  // the sum is nobody's
  x.mutable_value().fill(3);
  CHECK_SAYS(z.backward(),
             "backward: input 0 of 'square' was changed between forward and backward; compute the "
             "result again after a change, or change a copy (detach) - in blocks.3");
}

TEST_CASE("a rule that returns the wrong number or shape is named, with its module") {
  const Tensor x(array({2}, {1, 2}), true);
  const auto make = [&](Vjp rule) {
    const Scope block("blocks", 3);
    const Scope layer("attn");
    return sum(record("identity", x.value(), {x}, std::move(rule)));
  };
  CHECK_FAILS_WITH(make([](const Node&, const Array&) { return Cotangents{}; }).backward(),
                   "the rule of 'identity' returned 0 cotangents for 1 inputs - in blocks.3.attn");
  CHECK_FAILS_WITH(
      make([](const Node&, const Array&) { return cotangents(zeros({3})); }).backward(),
      "returned a cotangent of shape (3,) for input 0 of shape (2,) - in blocks.3.attn");
  make([](const Node&, const Array&) { return cotangents(std::nullopt); }).backward();
  CHECK((x.grad() == nullptr || x.grad()->data()[0] == real{0}));
}

TEST_CASE("what rules are made of refuses shapes that do not fit") {
  CHECK_FAILS_WITH(unbroadcast(zeros({3, 4}), {2, 4}), "axis -2 is 2 against 3");
  CHECK_FAILS_WITH(unbroadcast(zeros({1, 4}), {2, 4}), "(2, 4) was never broadcast to (1, 4)");
  Array four = zeros({4});
  CHECK_FAILS_WITH(add_in_place(four, zeros({2})), "add_in_place: shapes (4,) and (2,) differ");
  CHECK_FAILS_WITH(add_multiple(four, 1, zeros({2})), "add_multiple: shapes (4,) and (2,) differ");
}

TEST_CASE("errors of ops end with the module path") {
  const Tensor a(zeros({2, 3}));
  const Tensor b(zeros({4}));
  CHECK_SAYS(a + b, "add: shapes (2, 3) and (4,) do not broadcast: axis -1 is 3 against 4");
  const Scope scope("blocks", 3);
  CHECK_SAYS(a + b,
             "add: shapes (2, 3) and (4,) do not broadcast: axis -1 is 3 against 4 - in blocks.3");
}

TEST_CASE("NoGrad records nothing, and its results are told apart from those of constants") {
  const Tensor x = leaf(2);
  std::optional<Tensor> y;
  {
    const NoGrad no_grad;
    { const NoGrad inner; }
    CHECK(NoGrad::active());
    y = square(x);
    CHECK((y->is_leaf() && !y->requires_grad() && y->node().inputs.empty()));
  }
  CHECK_FALSE(NoGrad::active());
  CHECK_FAILS_WITH(y->backward(), "'square' was computed under NoGrad, which records nothing");
  CHECK_FAILS_WITH((*y * 2).backward(), "'mul_scalar' was computed under NoGrad");
  CHECK_FAILS_WITH(grad(*y + 1, {x}), "under NoGrad");
  CHECK_FAILS_WITH(
      square(Tensor(scalar(1))).backward(),
      "'square' does not depend on anything that requires a gradient, as Tensor(value, "
      "true) does");
  (*y * x).backward();  // a constant factor
  CHECK(only(x) == 4);
}

TEST_CASE("an absent tensor names the function that read it, with a remedy") {
  CHECK_SAYS(own_op(Tensor()),
             "own_op: an absent tensor was read: it was default-made and has no value; give it one "
             "before, or ask `if (x)`");
  CHECK_FALSE(static_cast<bool>(Tensor()));
  const auto nameless = [](const Tensor& x) { return x.shape(); };
  CHECK_FAILS_WITH(nameless(Tensor()), "an absent tensor was read");
}

TEST_CASE("an array that memory does not hold is an error with its shape") {
  if (sanitized) return;  // a sanitizer ends the program instead
  const std::size_t huge = std::size_t{1} << 55;
  const std::string petabytes = sizeof(real) == 8 ? "288 PB" : "144 PB";
  for (Array (*const make)(const Shape&) : {&empty, &zeros}) {
    const std::string message = message_of([&] { make({huge}); });
    CAPTURE(message);
    CHECK(message == "an array of shape (36028797018963968,) takes " + petabytes +
                         ": there is not that much memory");
  }
}
