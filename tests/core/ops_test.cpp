// Values of the elementwise ops against plain loops, and their conventions at kinks, ties, NaN and
// Inf, value and derivative.

#include "vitruvian/core/ops.hpp"
#include "tests/expect.hpp"
#include "tests/reference.hpp"
#include "vitruvian/core/error.hpp"
#include "vitruvian/core/gradcheck.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

using namespace vitruvian;

namespace {

using Unary = Tensor (*)(const Tensor&);
using Binary = Tensor (*)(const Tensor&, const Tensor&);
using Pair = std::pair<Shape, Shape>;

const std::vector<Pair> pairs{
    {{}, {}},         {{3}, {}},        {{}, {2, 3}},        {{2, 3}, {2, 3}},
    {{2, 3}, {3}},    {{3, 1}, {1, 4}}, {{2, 1, 3}, {4, 1}}, {{1}, {2, 2, 1, 3}},
    {{0, 3}, {1, 3}}, {{1}, {0}},       {{2, 0}, {2, 1}},    {{5, 1, 1}, {1, 1, 1}}};

Shape stretched(const Shape& a, const Shape& b) { return broadcast_shape("test", a, b); }

}  // namespace

TEST_CASE("ops of two tensors agree with plain loops under every kind of broadcasting") {
  const std::vector<std::pair<Binary, double (*)(double, double)>> ops{
      {[](const Tensor& a, const Tensor& b) { return a + b; },
       [](double a, double b) { return a + b; }},
      {[](const Tensor& a, const Tensor& b) { return a - b; },
       [](double a, double b) { return a - b; }},
      {[](const Tensor& a, const Tensor& b) { return a * b; },
       [](double a, double b) { return a * b; }},
      {[](const Tensor& a, const Tensor& b) { return a / b; },
       [](double a, double b) { return a / b; }},
      {maximum, [](double a, double b) { return std::max(a, b); }},
      {minimum, [](double a, double b) { return std::min(a, b); }}};
  for (const auto& [a, b] : pairs) {
    const Array x = random_normal(a, 1);
    const Array y = random_uniform(b, 0.5, 2, 2);
    for (const auto& [op, plain] : ops) {
      check_elements(op(x, y).value(), stretched(a, b),
                     [&, f = plain](const Index& i) { return f(at(x, i), at(y, i)); });
      check_elements(
          op(y, x).value(), stretched(a, b),
          [&, f = plain](const Index& i) { return f(at(y, i), at(x, i)); }, 4, 100);
    }
  }
}

TEST_CASE("where agrees with a plain loop, all three operands broadcasting") {
  const Array condition = array({2, 1, 3}, {0, 1, -2, 0, 0, 5});
  const Array a = random_normal({4, 1}, 1);
  const Array b = random_normal({3}, 2);
  check_elements(vitruvian::where(condition, a, b).value(), {2, 4, 3},
                 [&](const Index& i) { return at(condition, i) != 0 ? at(a, i) : at(b, i); });
}

TEST_CASE("shapes that do not broadcast are refused with both shapes") {
  const Tensor a(zeros({2, 3}));
  const Tensor b(zeros({2, 4}));
  CHECK_FAILS_WITH(a * b, "mul: shapes (2, 3) and (2, 4) do not broadcast");
  CHECK_FAILS_WITH(maximum(a, b), "maximum: shapes (2, 3) and (2, 4)");
  CHECK_FAILS_WITH(vitruvian::where(zeros({5}), a, a), "where: shapes (5,) and (2, 3)");
  CHECK_FAILS_WITH(a + Tensor(zeros({0})), "add: shapes (2, 3) and (0,)");
}

TEST_CASE("ops of one tensor agree with the functions they are named after") {
  const std::vector<std::pair<Unary, double (*)(double)>> ops{
      {vitruvian::neg, [](double x) { return -x; }},
      {vitruvian::exp, [](double x) { return std::exp(x); }},
      {vitruvian::expm1, [](double x) { return std::expm1(x); }},
      {vitruvian::log1p, [](double x) { return std::log1p(x); }},
      {vitruvian::sin, [](double x) { return std::sin(x); }},
      {vitruvian::cos, [](double x) { return std::cos(x); }},
      {vitruvian::silu, [](double x) { return x / (1 + std::exp(-x)); }},
      {vitruvian::softplus, [](double x) { return std::log(1 + std::exp(x)); }},
      {vitruvian::log, [](double x) { return std::log(x); }},
      {vitruvian::sqrt, [](double x) { return std::sqrt(x); }},
      {vitruvian::rsqrt, [](double x) { return 1 / std::sqrt(x); }},
      {vitruvian::square, [](double x) { return x * x; }},
      {vitruvian::tanh, [](double x) { return std::tanh(x); }},
      {vitruvian::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
      {vitruvian::erf, [](double x) { return std::erf(x); }},
      {vitruvian::relu, [](double x) { return std::max(x, 0.0); }},
      {vitruvian::abs, [](double x) { return std::abs(x); }},
      {[](const Tensor& x) { return pow(x, real(2.5)); },
       [](double x) { return std::pow(x, 2.5); }},
      {[](const Tensor& x) { return x + real(0.25); }, [](double x) { return x + 0.25; }},
      {[](const Tensor& x) { return x - real(0.25); }, [](double x) { return x - 0.25; }},
      {[](const Tensor& x) { return x * real(-1.5); }, [](double x) { return x * -1.5; }},
      {[](const Tensor& x) { return x / real{4}; }, [](double x) { return x / 4; }},
      {[](const Tensor& x) { return clamp(x, real(-0.5), real(0.75)); },
       [](double x) { return std::min(std::max(x, -0.5), 0.75); }}};
  for (const Shape& shape : std::vector<Shape>{{}, {1}, {50}, {2, 3, 4}, {0}, {3, 0}}) {
    const Array x = random_normal(shape, 3);  // of either sign: log and sqrt give NaN there
    for (const auto& [op, plain] : ops) {
      check_elements(op(x).value(), shape, [&, f = plain](const Index& i) { return f(at(x, i)); });
    }
  }
}

TEST_CASE("NaN and Inf go through where IEEE 754 says so") {
  const Tensor x = vector({NaN, inf, -inf, 0});
  check_values(exp(x).value(), {NaN, inf, 0, 1});
  check_values(log(x).value(), {NaN, inf, NaN, -inf});
  check_values(sqrt(x).value(), {NaN, inf, NaN, 0});
  check_values(rsqrt(x).value(), {NaN, 0, NaN, inf});
  check_values(tanh(x).value(), {NaN, 1, -1, 0});
  check_values(sigmoid(x).value(), {NaN, 1, 0, 0.5});
  check_values(erf(x).value(), {NaN, 1, -1, 0});
  check_values(relu(x).value(), {NaN, inf, 0, 0});
  check_values(abs(x).value(), {NaN, inf, inf, 0});
  check_values(clamp(x, real{-2}, real{3}).value(), {NaN, 3, -2, 0});
  check_values((x - x).value(), {NaN, NaN, NaN, 0});
  check_values((x / x).value(), {NaN, NaN, NaN, NaN});
  check_values(maximum(x, vector({1, NaN, NaN, -inf})).value(), {NaN, NaN, NaN, 0});
  check_values(minimum(x, vector({1, NaN, NaN, -inf})).value(), {NaN, NaN, NaN, -inf});
  check_values(sigmoid(vector({-1e4, 1e4})).value(), {0, 1});
}

TEST_CASE("derivatives at kinks and ties are PyTorch's") {
  const Tensor x = vector({-1, -0.0, 0, 2, NaN});
  check_values(slopes(relu(x), {x})[0], {0, 0, 0, 1, 1});
  check_values(slopes(abs(x), {x})[0], {-1, 0, 0, 1, NaN});
  check_values(slopes(clamp(x, real{-1}, real{0}), {x})[0], {1, 1, 1, 0, NaN});
  check_values(slopes(pow(x, real{0}), {x})[0], {0, 0, 0, 0, 0});
  check_values(slopes(pow(x, real{1}), {x})[0], {1, 1, 1, 1, 1});
  check_values(pow(vector({0, -2, NaN}), real{0}).value(), {1, 1, 1});

  const Tensor a = vector({1, 2, 3, NaN, 1});
  const Tensor b = vector({2, 2, 1, 1, NaN});
  const std::vector<Array> larger = slopes(maximum(a, b), {a, b});
  check_values(larger[0], {0, 0.5, 1, 1, 1});
  check_values(larger[1], {1, 0.5, 0, 1, 1});
  const std::vector<Array> smaller = slopes(minimum(a, b), {a, b});
  check_values(smaller[0], {1, 0.5, 0, 1, 1});
  check_values(smaller[1], {0, 0.5, 1, 1, 1});
}

TEST_CASE("clamp with low above high gives high, and where hides the other branch's NaN") {
  check_values(clamp(vector({-5, 0, 5}), real{2}, real{1}).value(), {1, 1, 1});
  const Tensor x = vector({-1, 4});
  const Tensor y = vitruvian::where(array({2}, {0, 1}), sqrt(x), x * real{2});
  check_values(y.value(), {-2, 2});
  check_values(slopes(vitruvian::where(array({2}, {1, 0}), x, x * x), {x})[0], {1, 8});
}

TEST_CASE("a NaN or infinite cotangent goes through where it is multiplied, 0 times it included") {
  const Tensor x = vector({-2, 0, 2, NaN});
  const auto slope = [&](const Tensor& y, double g) { return grad(y, {x}, full({4}, real(g)))[0]; };
  for (const double g : {NaN, inf}) {
    check_values(slope(abs(x), g), {-g, NaN, g, NaN});
    check_values(slope(clamp(x, real{-1}, real{1}), g), {NaN, g, NaN, NaN});
    check_values(slope(relu(x), g), {0, 0, g, g});  // a choice: what is not chosen gets 0
    check_values(slope(masked_fill(x, array({4}, {1, 0, 0, 0}), 5), g), {0, g, g, g});
  }
}

TEST_CASE("expm1, log1p, softplus and silu keep their digits and do not overflow") {
  constexpr bool is_float = sizeof(real) == sizeof(float);
  const auto last = static_cast<double>(std::numeric_limits<real>::epsilon());
  const auto one = [](const Tensor& y) { return static_cast<double>(y.item()); };
  for (const double tiny : {1e-12, -1e-12, 1e-30}) {
    const auto x = static_cast<double>(static_cast<real>(tiny));
    const Tensor t(scalar(static_cast<real>(tiny)));
    CHECK(std::abs(one(expm1(t)) - x) <= 1e-11 * std::abs(x) + last * std::abs(x));
    CHECK(std::abs(one(log1p(t)) - x) <= 1e-11 * std::abs(x) + last * std::abs(x));
  }
  const double far = is_float ? -60 : -300;  // softplus(x) is e^x there
  const double value = one(softplus(Tensor(scalar(real(far)))));
  CHECK(std::abs(value / std::exp(far) - 1) <= 4 * last);
  const Tensor x = vector({-inf, -1e4, 1e4, inf, NaN});
  check_values(softplus(x).value(), {0, 0, 1e4, inf, NaN});
  check_values(slopes(softplus(x), {x})[0], {0, 0, 1, 1, NaN});
  check_values(silu(x).value(), {NaN, 0, 1e4, inf, NaN});
  check_values(log1p(vector({-1, -2})).value(), {-inf, NaN});
  check_values(expm1(vector({-inf, inf})).value(), {-1, inf});
}
