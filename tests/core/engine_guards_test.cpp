// Values that change under a graph, and leaves that are frozen: never a wrong gradient.

#include "tests/core/engine_testing.hpp"

using namespace vitruvian;

namespace {

template <class T>
concept keeps_its_array = requires {
  *std::declval<T>();
}
|| requires { &std::declval<T>(); }
|| requires { std::declval<T>()->data(); }
|| std::is_convertible_v<T, Array&>;

}  // namespace

TEST_CASE("a value that changed between forward and backward is refused") {
  const Tensor x = leaf(3);
  const Tensor y = square(x);
  x.mutable_value() = scalar(4);
  CHECK_FAILS_WITH(y.backward(), "input 0 of 'square' was changed between forward and backward");
  CHECK(x.grad() == nullptr);

  const Tensor z = exp(x);
  z.mutable_value() = scalar(4);
  CHECK_FAILS_WITH(z.backward(), "the result of 'exp' was changed after it was computed");

  const Tensor again = square(x);  // a graph that was recorded after the change is fine
  again.backward();
  CHECK(only(x) == 8);
}

TEST_CASE("a write after the op read the value is refused, however the array was kept") {
  const Tensor x(array({2}, {1, 2}), true);
  const WriteGuard kept = x.mutable_value();
  const Tensor y = sum(square(x));
  CHECK_FAILS_WITH(y.backward(),
                   "input 0 of 'square' is still being changed; end its mutable_value");
  kept->data()[0] = 5;
  CHECK_FAILS_WITH(y.backward(), "is still being changed");
  CHECK(x.grad() == nullptr);
  static_assert(!keeps_its_array<WriteGuard>, "a nameless guard hands out no reference");
}

TEST_CASE("a result that is being changed is refused, too") {
  const Tensor z = exp(leaf(1));
  const WriteGuard guard = z.mutable_value();
  CHECK_FAILS_WITH(z.backward(), "the result of 'exp' was changed after it was computed");
}

TEST_CASE("what was recorded while a guard lived stays refused after its end") {
  const Tensor x = leaf(3);
  std::optional<Tensor> y;
  {
    const WriteGuard guard = x.mutable_value();
    y = square(x);
    guard->fill(4);
  }
  CHECK_FAILS_WITH(y->backward(), "was changed between forward and backward; compute the result");
  square(x).backward();
  CHECK(only(x) == 8);
}

TEST_CASE("two guards of one tensor: both must end") {
  const Tensor x = leaf(3);
  std::optional<WriteGuard> first;
  first.emplace(x.node_ptr());
  { const WriteGuard second = x.mutable_value(); }
  const Tensor y = square(x);
  CHECK_FAILS_WITH(y.backward(), "is still being changed");
  first.reset();
  CHECK_FAILS_WITH(y.backward(), "was changed between");
  square(x).backward();
  CHECK(only(x) == 6);
}

TEST_CASE("a guard takes values of the tensor's shape, and outlives its handle") {
  const WriteGuard guard = Tensor(array({2}, {1, 2})).mutable_value();
  CHECK(guard->data()[1] == real{2});
  const Tensor x(array({2}, {1, 2}));
  CHECK_FAILS_WITH(x.mutable_value() = zeros({3}), "a value (3,) for a tensor of shape (2,)");
  x.mutable_value() = array({2}, {7, 8});
  CHECK(x.value().data()[1] == real{8});
  CHECK_FAILS_WITH(Tensor().mutable_value(), "absent");
}

// --- freezing ------------------------------------------------------------------------------------

TEST_CASE("a frozen leaf gets no gradient until it is thawed") {
  const Tensor x = leaf(3);
  const Tensor w = leaf(5);
  (x * w).backward();
  w.set_requires_grad(false);
  CHECK(w.grad() == nullptr);
  (x * w).backward();
  CHECK(w.grad() == nullptr);
  CHECK(only(x) == 10);
  CHECK_FAILS_WITH(grad(x * w, {w}), "requires no gradient");
  CHECK_FAILS_WITH(w.set_grad(scalar(1)), "requires no gradient");
  CHECK_FALSE((w * 2).requires_grad());
  w.set_requires_grad(true);
  (x * w).backward();
  CHECK(only(w) == 3);
  CHECK_FAILS_WITH((x * w).set_requires_grad(false), "'mul' made this tensor; detach()");
}

TEST_CASE("freezing or thawing between forward and backward is refused: half a graph is none") {
  const Tensor x = leaf(3);
  const Tensor w = leaf(5);
  w.set_requires_grad(false);
  const Tensor y = x * w + (w * 2) * x;  // w * 2 is not on the tape
  w.set_requires_grad(true);
  CHECK_FAILS_WITH(y.backward(), "of 'mul' was changed between forward and backward");
  CHECK(w.grad() == nullptr);
}
