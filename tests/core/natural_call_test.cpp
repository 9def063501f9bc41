// The natural call: what users of numpy and PyTorch write compiles, and means what it says.

#include "tests/expect.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/check/gradcheck.hpp"
#include "vitruvian/core/ops.hpp"

#include <doctest/doctest.h>

#include <sstream>
#include <type_traits>
#include <vector>

using namespace vitruvian;

namespace {

Tensor vec(const std::vector<double>& values) {
  return Tensor(array({values.size()}, values), true);
}

std::vector<double> numbers(const Array& a) { return {a.data(), a.data() + a.size()}; }

// Value and derivative of sum(f(x)) at x = (1, 2, 4).
struct Both {
  std::vector<double> value, derivative;
};
template <class F>
Both both(const F& f) {
  const Tensor x = vec({1, 2, 4});
  const Tensor y = f(x);
  return {numbers(y.value()), numbers(grad(sum(y), {x})[0])};
}

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

TEST_CASE("numbers stand on either side of an operator") {
  using Numbers = std::vector<double>;
  const auto is = [](const Both& found, const Numbers& value, const Numbers& derivative) {
    CHECK(found.value == value);
    CHECK(found.derivative == derivative);
  };
  is(both([](const Tensor& x) { return 2 * x; }), {2, 4, 8}, {2, 2, 2});
  is(both([](const Tensor& x) { return 1 - x; }), {0, -1, -3}, {-1, -1, -1});
  is(both([](const Tensor& x) { return 1 / x; }), {1, 0.5, 0.25}, {-1, -0.25, -0.0625});
  is(both([](const Tensor& x) { return 0.5 + x; }), {1.5, 2.5, 4.5}, {1, 1, 1});
  is(both([](const Tensor& x) { return x * 2; }), {2, 4, 8}, {2, 2, 2});
  is(both([](const Tensor& x) { return x - 1; }), {0, 1, 3}, {1, 1, 1});
  is(both([](const Tensor& x) { return x / 2; }), {0.5, 1, 2}, {0.5, 0.5, 0.5});
  is(both([](const Tensor& x) { return x + std::size_t{3}; }), {4, 5, 7}, {1, 1, 1});
  is(both([](const Tensor& x) { return 2.0F * x * x; }), {2, 8, 32}, {4, 8, 16});
}

TEST_CASE("an array beside a tensor is a constant") {
  Tensor x = vec({1, 2});
  Array a = array({2}, {3, 4});
  const Array& constant = a;
  CHECK(numbers((x * a).value()) == std::vector<double>{3, 8});
  CHECK(numbers((constant - x).value()) == std::vector<double>{2, 2});
  CHECK(numbers((a / x).value()) == std::vector<double>{3, 2});
  CHECK(numbers((x + array({2}, {1, 1})).value()) == std::vector<double>{2, 3});
  CHECK(numbers(grad(sum(a * x), {x})[0]) == std::vector<double>{3, 4});
  x += a;
  CHECK(numbers(x.value()) == std::vector<double>{4, 6});
}

TEST_CASE("x += y makes the handle x one on the sum, and changes no other") {
  const Tensor leaf = vec({1, 2});
  Tensor x = leaf;
  x += leaf;
  x *= 3;
  x -= vec({1, 1});
  x /= 2;
  CHECK(numbers(x.value()) == std::vector<double>{2.5, 5.5});
  CHECK(numbers(leaf.value()) == std::vector<double>{1, 2});
  sum(x).backward();
  CHECK(numbers(*leaf.grad()) == std::vector<double>{3, 3});
  Tensor alone = vec({1});
  (alone += 1) += 1;
  CHECK(alone.item() == real{3});
  static_assert(adds_to<Tensor, Tensor> && !adds_to<const Tensor, Tensor>);
}

TEST_CASE("x[i] is numpy's") {
  const Tensor x(array({2, 3}, {0, 1, 2, 3, 4, 5}), true);
  CHECK(numbers(x[0].value()) == std::vector<double>{0, 1, 2});
  CHECK(x[-1].shape() == Shape{3});
  CHECK(x[-1][2].item() == real{5});
  CHECK(numbers(grad(x[1][0], {x})[0]) == std::vector<double>{0, 0, 0, 1, 0, 0});
  CHECK_FAILS_WITH(x[2], "2");
  CHECK_FAILS_WITH(x[0][0][0], "axis 0");
}

TEST_CASE("one axis needs no braces") {
  const Tensor x(array({2, 3}, {0, 1, 2, 3, 4, 5}));
  CHECK(numbers(sum(x, 1).value()) == std::vector<double>{3, 12});
  CHECK(numbers(sum(x, 0).value()) == std::vector<double>{3, 5, 7});
  CHECK(numbers(mean(x, -1).value()) == std::vector<double>{1, 4});
  CHECK(mean(x, 1, true).shape() == Shape{2, 1});
  CHECK(sum(x, {0, 1}).item() == real{15});
  CHECK(sum(x, {}).item() == real{15});
  CHECK(numbers(amax(x, {1}).value()) == std::vector<double>{2, 5});
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
  const Tensor x = vec({3});
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
  const Tensor wide = vec({1, 2}) * 2;
  CHECK_FAILS_WITH(wide.backward(0.5), "needs a cotangent of that shape");
  CHECK_FAILS_WITH(wide.backward(), "sum() or mean() first");
  static_assert(backward_takes<Tensor, bool> && backward_takes<Tensor, Array>);
  static_assert(!backward_takes<Tensor, const Array*> && !backward_takes<Tensor, char[2]>);
  static_assert(third_of_grad<Tensor, Array> && !third_of_grad<Tensor, bool>);
}

TEST_CASE("a gradient that is not there says why") {
  const Tensor x = vec({3});
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
  CHECK(fmt::format("{}", vec({1})) == "Tensor([1], requires_grad)");
  CHECK(fmt::format("{}", vec({1, 2}) * 2) == "Tensor([2, 4], by 'mul_scalar')");
  CHECK(fmt::format("{}", Tensor(scalar(0.25))) == "Tensor(0.25)");
  CHECK(fmt::format("{}", Tensor()) == "Tensor(absent)");
  CHECK(fmt::format("{}", Tensor(zeros({2, 0}))) == "Tensor([[],\n        []], shape (2, 0))");
  CHECK(fmt::format("{}", Tensor(array({2, 2, 1}, {1, 2, 3, 4}))) ==
        "Tensor([[[1],\n         [2]],\n\n        [[3],\n         [4]]])");
  std::vector<double> many(2000);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<double>(i);
  CHECK(fmt::format("{}", Tensor(array({1000, 2}, many))) ==
        "Tensor([[0, 1],\n        [2, 3],\n        [4, 5],\n        ...,\n        [1994, 1995],\n"
        "        [1996, 1997],\n        [1998, 1999]], shape (1000, 2))");
}
