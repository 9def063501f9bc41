// Ops and tensors as a user of numpy or PyTorch meets them: arrays of any value category, numbers
// on either side, labels in braces, printing. xtensor's functions of the same names are all in
// sight.

#include "tests/core/ops/ops_testing.hpp"

#if __has_include(<xtensor/core/xmath.hpp>)
#include <xtensor/core/xmath.hpp>
#else
#include <xtensor/xmath.hpp>
#endif

#include <sstream>

using namespace vitruvian;

namespace {

// Calls f with x as every kind of expression, and holds each result against f(Tensor(x)).
template <class F>
void of_every_kind(const Array& x, const F& f) {
  const Tensor constant(x);
  const Array want = f(constant).value();
  const std::vector<double> values(want.data(), want.data() + want.size());
  Array left = x;
  Array moved = x;
  static_assert(std::is_same_v<decltype(f(left)), Tensor>);
  static_assert(std::is_same_v<decltype(f(std::as_const(left))), Tensor>);
  static_assert(std::is_same_v<decltype(f(std::move(moved))), Tensor>);
  check_values(f(left), values);
  check_values(f(std::as_const(left)), values);
  check_values(f(std::move(moved)), values);
}

#define OF_EVERY_KIND(x, call) \
  of_every_kind(x, []<class X>(X&& v) { return [](auto&& a) { return call; }(std::forward<X>(v)); })
#define A std::forward<decltype(a)>(a)

template <class X, class Y>
concept backward_takes = requires(const X& x, const Y& y) {
  x.backward(y);
};
template <class X, class Y>
concept adds_to = requires(X& x, const Y& y) {
  x += y;
};
template <class X, class Y>
concept sums_over = requires(const X& x, const Y& y) {
  sum(x, y);
};
template <class X, class Y>
concept third_of_grad = requires(const X& x, const Y& y) {
  grad(x, {x}, y);
};

}  // namespace

TEST_CASE("an op of an array is that of a constant tensor, whatever kind of expression it is") {
  const Array x = array({2, 3}, {0.5, 1, 2, 0.25, 3, 1.5});
  OF_EVERY_KIND(x, exp(A));
  OF_EVERY_KIND(x, expm1(A));
  OF_EVERY_KIND(x, log(A));
  OF_EVERY_KIND(x, log1p(A));
  OF_EVERY_KIND(x, sqrt(A));
  OF_EVERY_KIND(x, rsqrt(A));
  OF_EVERY_KIND(x, square(A));
  OF_EVERY_KIND(x, sin(A));
  OF_EVERY_KIND(x, cos(A));
  OF_EVERY_KIND(x, tanh(A));
  OF_EVERY_KIND(x, erf(A));
  OF_EVERY_KIND(x, abs(A));
  OF_EVERY_KIND(x, sigmoid(A));
  OF_EVERY_KIND(x, relu(A));
  OF_EVERY_KIND(x, pow(A, 2));
  OF_EVERY_KIND(x, sum(A));
  OF_EVERY_KIND(x, sum(A, {0}));
  OF_EVERY_KIND(x, sum(A, {0, 1}));
  OF_EVERY_KIND(x, mean(A, {-1}));
  OF_EVERY_KIND(x, amax(A, Axes{1}));
  OF_EVERY_KIND(x, softmax(A));
  const double e = static_cast<double>(exp(array({1}, {1})).item());
  CHECK(std::abs(e - 2.718281828459045) < 1e-6);
}

#undef A
#undef OF_EVERY_KIND

TEST_CASE("where, maximum and minimum take arrays and tensors of any kind, in any mixture") {
  Array mask = array({3}, {1, 0, 1});
  Array left = array({3}, {1, 2, 3});
  const Array right = array({3}, {3, 2, 1});
  Tensor a(left, true);
  const Tensor b(right);
  check_values(where(mask, a, b), {1, 2, 3});
  check_values(where(mask, Tensor(left), b), {1, 2, 3});
  check_values(where(array({3}, {0, 0, 1}), left, right), {3, 2, 3});
  check_values(where(std::as_const(mask), left, b), {1, 2, 3});
  check_values(where(mask, a, scalar(7)), {1, 7, 3});
  check_values(slopes(where(mask, a, right), {a})[0], {1, 0, 1});

  check_values(maximum(left, right), {3, 2, 3});
  check_values(maximum(left, b), {3, 2, 3});
  check_values(maximum(a, right), {3, 2, 3});
  check_values(maximum(a, scalar(2)), {2, 2, 3});
  check_values(minimum(array({3}, {1, 2, 3}), right), {1, 2, 1});
  check_values(minimum(b, left), {1, 2, 1});
  check_values(slopes(maximum(a, right), {a})[0], {0, 0.5, 1});
}

TEST_CASE("labels are written in braces, or come in a vector of any integer type") {
  const Tensor logits(random_normal({2, 3}, 1), true);
  const std::vector<std::size_t> as_sizes{0, 1};
  const real want = cross_entropy(logits, as_sizes).item();
  const Array one_hot = array({2, 3}, {1, 0, 0, 0, 1, 0});
  CHECK(cross_entropy(logits, {0, 1}).item() == want);
  CHECK(cross_entropy(logits, std::vector<int>{0, 1}).item() == want);
  CHECK(cross_entropy(logits, {0, 1}, 0.0, Reduction::none).shape() == Shape{2});
  CHECK(std::abs(number(cross_entropy(logits, one_hot)) - want) < 1e-6);
  CHECK(std::abs(number(cross_entropy(logits, {0, 1}, {.ignore_index = -1})) - want) < 1e-6);
  const double of_the_first = number(cross_entropy(slice(logits, 0, 0, 1), {0}));
  CHECK(std::abs(number(cross_entropy(logits, {0, -100}, {.ignore_index = -100})) - of_the_first) <
        1e-6);
  CHECK(nll_loss(log_softmax(logits), {0, 1}).size() == 1);
}

// --- what users of numpy and PyTorch write compiles, and means what it says ----------------------

TEST_CASE("numbers stand on either side of an operator") {
  const Tensor x = vector({1, 2, 4});
  const auto is = [&](const Tensor& y, const std::vector<double>& value,
                      const std::vector<double>& derivative) {
    check_values(y, value);
    check_values(slopes(y, {x})[0], derivative);
  };
  is(2 * x, {2, 4, 8}, {2, 2, 2});
  is(1 - x, {0, -1, -3}, {-1, -1, -1});
  is(1 / x, {1, 0.5, 0.25}, {-1, -0.25, -0.0625});
  is(0.5 + x, {1.5, 2.5, 4.5}, {1, 1, 1});
  is(x * 2, {2, 4, 8}, {2, 2, 2});
  is(x - 1, {0, 1, 3}, {1, 1, 1});
  is(x / 2, {0.5, 1, 2}, {0.5, 0.5, 0.5});
  is(x + std::size_t{3}, {4, 5, 7}, {1, 1, 1});
  is(2.0F * x * x, {2, 8, 32}, {4, 8, 16});
}

TEST_CASE("a tensor over a number is divided, not multiplied by a rounded 1 / c") {
  for (int n = 1; n <= 100; ++n) {  // 49 (1 / 49) is below 1 in double, 41 (1 / 41) in float
    CAPTURE(n);
    const Tensor x(full({1}, static_cast<real>(n)), true);
    CHECK((x / n).item() == 1);
    CHECK(grad(x / n, {x}, full({1}, static_cast<real>(n)))[0](0) == 1);
  }
}

TEST_CASE("an array beside a tensor is a constant") {
  Tensor x = vector({1, 2});
  Array a = array({2}, {3, 4});
  const Array& constant = a;
  check_values(x * a, {3, 8});
  check_values(constant - x, {2, 2});
  check_values(a / x, {3, 2});
  check_values(x + array({2}, {1, 1}), {2, 3});
  check_values(grad(sum(a * x), {x})[0], {3, 4});
  x += a;
  check_values(x, {4, 6});
}

TEST_CASE("x += y makes the handle x one on the sum, and changes no other") {
  const Tensor leaf = vector({1, 2});
  Tensor x = leaf;
  x += leaf;
  x *= 3;
  x -= vector({1, 1});
  x /= 2;
  check_values(x, {2.5, 5.5});
  check_values(leaf, {1, 2});
  sum(x).backward();
  check_values(*leaf.grad(), {3, 3});
  Tensor alone = vector({1});
  (alone += 1) += 1;
  CHECK(alone.item() == real{3});
  static_assert(adds_to<Tensor, Tensor> && !adds_to<const Tensor, Tensor>);
}

TEST_CASE("x[i] is numpy's") {
  const Tensor x(array({2, 3}, {0, 1, 2, 3, 4, 5}), true);
  check_values(x[0], {0, 1, 2});
  CHECK(x[-1].shape() == Shape{3});
  CHECK(x[-1][2].item() == real{5});
  check_values(grad(x[1][0], {x})[0], {0, 0, 0, 1, 0, 0});
  CHECK_FAILS_WITH(x[2], "2");
  CHECK_FAILS_WITH(x[0][0][0], "axis 0");
}

TEST_CASE("one axis needs no braces") {
  const Tensor x(array({2, 3}, {0, 1, 2, 3, 4, 5}));
  check_values(sum(x, 1), {3, 12});
  check_values(sum(x, 0), {3, 5, 7});
  check_values(mean(x, -1), {1, 4});
  CHECK(mean(x, 1, true).shape() == Shape{2, 1});
  CHECK(sum(x, {0, 1}).item() == real{15});
  CHECK(sum(x, {}).item() == real{15});
  check_values(amax(x, {1}), {2, 5});
  CHECK(sum(x, std::vector<int>{0, -1}).item() == real{15});
  static_assert(sums_over<Tensor, int> && !sums_over<Tensor, bool>, "keepdim alone is no axis");
}

TEST_CASE("reshape takes what shape() gives or some of it, integers of any type, and -1") {
  const Tensor x(random_normal({2, 6}, 1));
  const Tensor like(zeros({3, 4}));
  CHECK(reshape(x, like.shape()).shape() == Shape{3, 4});
  CHECK(reshape(x, {like.shape().begin(), like.shape().end()}).shape() == Shape{3, 4});
  CHECK(reshape(x, {x.size(0), 2, -1}).shape() == Shape{2, 2, 3});
  CHECK(reshape(x, {3, 4}).shape() == Shape{3, 4});
  CHECK(reshape(x, {std::ptrdiff_t{4}, std::size_t{3}}).shape() == Shape{4, 3});
  CHECK(reshape(x, -1).shape() == Shape{12});
  CHECK(reshape(x, {-1}).shape() == Shape{12});
  CHECK(reshape(Tensor(scalar(3)), {}).shape().empty());
  CHECK(reshape(x, std::vector<std::ptrdiff_t>{12}).shape() == Shape{12});
  CHECK_FAILS_WITH(reshape(x, {5, -1}), "do not divide");
  CHECK_FAILS_WITH(reshape(x, {std::size_t(-1)}), "no array has an axis of length");
  const std::vector<std::size_t> lengths{1, 4, 3, std::size_t(-1)};
  CHECK(reshape(x, {lengths.begin() + 1, lengths.end() - 1}).shape() == Shape{4, 3});
  CHECK_FAILS_WITH(reshape(x, {lengths.begin(), lengths.end()}), "no array has an axis of length");
}

TEST_CASE("backward takes a cotangent that is a number, and retain_graph that is a bool") {
  const Tensor x = vector({3});
  const Tensor y = square(x);
  y.backward(0.5, true);
  CHECK(x.grad()->data()[0] == real{3});
  y.backward(1, true);
  CHECK(x.grad()->data()[0] == real{9});
  y.backward(true);
  CHECK(x.grad()->data()[0] == real{15});
  y.backward(2.0F);
  CHECK(x.grad()->data()[0] == real{27});
  CHECK_FAILS_WITH(y.backward(0.5), "freed");  // and it did not mean retain_graph
  const Tensor wide = vector({1, 2}) * 2;
  CHECK_FAILS_WITH(wide.backward(0.5), "needs a cotangent of that shape");
  CHECK_FAILS_WITH(wide.backward(), "sum() or mean() first");
  static_assert(backward_takes<Tensor, bool> && backward_takes<Tensor, Array>);
  static_assert(!backward_takes<Tensor, const Array*> && !backward_takes<Tensor, char[2]>);
  static_assert(third_of_grad<Tensor, Array> && !third_of_grad<Tensor, bool>);
}

TEST_CASE("a gradient that is not there says why") {
  const Tensor x = vector({3});
  const Tensor y = square(x);
  const Tensor constant(scalar(1));
  CHECK(x.grad() == nullptr);
  CHECK_FALSE(x.grad());
  CHECK_FAILS_WITH(*x.grad(), "grad: there is none yet; call backward()");
  CHECK_FAILS_WITH(x.grad()->size(), "there is none yet");
  CHECK_FAILS_WITH(*x.mutable_grad(), "there is none yet");
  CHECK_FAILS_WITH(*y.grad(), "a result ('square') keeps none; grad(y, {x}) returns it");
  CHECK_FAILS_WITH(*constant.grad(), "requires no gradient");
  y.backward();
  CHECK_FAILS_WITH(*y.grad(), "a result ('square') keeps none");
  const Array* const pointer = x.grad();
  CHECK(pointer == &*x.grad());
  CHECK(x.grad()->data()[0] == real{6});
  (*x.mutable_grad()) *= real{2};
  CHECK(x.grad()->data()[0] == real{12});
}

TEST_CASE("a tensor can be printed, by fmt and by a stream") {
  const Tensor x(array({2, 3}, {1, 2, 3, 4, 0.5, -6}));
  const char* const text = "Tensor([[1, 2, 3],\n        [4, 0.5, -6]])";
  CHECK(fmt::format("{}", x) == text);
  std::ostringstream stream;
  stream << x;
  CHECK(stream.str() == text);
  CHECK(fmt::format("{}", vector({1})) == "Tensor([1], requires_grad)");
  CHECK(fmt::format("{}", vector({1, 2}) * 2) == "Tensor([2, 4], by 'mul_scalar')");
  CHECK(fmt::format("{}", Tensor(scalar(0.25))) == "Tensor(0.25)");
  CHECK(fmt::format("{}", Tensor()) == "Tensor(absent)");
  CHECK(fmt::format("{}", Tensor(zeros({2, 0}))) == "Tensor([[],\n        []], shape (2, 0))");
  CHECK(fmt::format("{}", Tensor(zeros({1'000'000, 0}))).size() < 200);
  CHECK(fmt::format("{}", Tensor(array({2, 2, 1}, {1, 2, 3, 4}))) ==
        "Tensor([[[1],\n         [2]],\n\n        [[3],\n         [4]]])");
  std::vector<double> many(2000);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<double>(i);
  CHECK(fmt::format("{}", Tensor(array({1000, 2}, many))) ==
        "Tensor([[0, 1],\n        [2, 3],\n        [4, 5],\n        ...,\n        [1994, 1995],\n"
        "        [1996, 1997],\n        [1998, 1999]], shape (1000, 2))");
}
