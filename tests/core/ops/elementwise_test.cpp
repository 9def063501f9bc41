// Elementwise ops: values against plain loops and closed forms, gelu's against its twin, and their
// conventions at kinks, ties, NaN and Inf, value and derivative.

#include "tests/core/ops/ops_testing.hpp"

using namespace vitruvian;

namespace {

struct Unary {
  const char* name;
  Tensor (*op)(const Tensor&);
  double (*plain)(double);
};
const Unary unary[] = {
    {"neg", neg, [](double x) { return -x; }},
    {"exp", exp, [](double x) { return std::exp(x); }},
    {"expm1", expm1, [](double x) { return std::expm1(x); }},
    {"log1p", log1p, [](double x) { return std::log1p(x); }},
    {"sin", sin, [](double x) { return std::sin(x); }},
    {"cos", cos, [](double x) { return std::cos(x); }},
    {"silu", silu, [](double x) { return x / (1 + std::exp(-x)); }},
    {"softplus", softplus, [](double x) { return std::log(1 + std::exp(x)); }},
    {"log", log, [](double x) { return std::log(x); }},
    {"sqrt", sqrt, [](double x) { return std::sqrt(x); }},
    {"rsqrt", rsqrt, [](double x) { return 1 / std::sqrt(x); }},
    {"square", square, [](double x) { return x * x; }},
    {"tanh", tanh, [](double x) { return std::tanh(x); }},
    {"sigmoid", sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"erf", erf, [](double x) { return std::erf(x); }},
    {"relu", relu, [](double x) { return std::max(x, 0.0); }},
    {"abs", abs, [](double x) { return std::abs(x); }},
    {"gelu", gelu, [](double x) { return x * std::erfc(-x / std::sqrt(2.0)) / 2; }},
    {"gelu_tanh", gelu_tanh, [](double x) {
       return x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))) / 2;
     }}};

std::map<std::string, GoldenOp> golden_ops() {
  std::map<std::string, GoldenOp> ops{
      {"add", [](const Tensors& x, const Json&) { return add(x[0], x[1]); }},
      {"sub", [](const Tensors& x, const Json&) { return sub(x[0], x[1]); }},
      {"mul", [](const Tensors& x, const Json&) { return mul(x[0], x[1]); }},
      {"div", [](const Tensors& x, const Json&) { return div(x[0], x[1]); }},
      {"maximum", [](const Tensors& x, const Json&) { return maximum(x[0], x[1]); }},
      {"minimum", [](const Tensors& x, const Json&) { return minimum(x[0], x[1]); }},
      {"pow", [](const Tensors& x, const Json& a) { return pow(x[0], a["p"].get<real>()); }},
      {"clamp", [](const Tensors& x, const Json& a) { return clamp(x[0], a["low"], a["high"]); }},
      {"where",
       [](const Tensors& x, const Json& a) {
         const std::vector<double> condition = a["condition"];
         return vitruvian::where(array({condition.size()}, condition), x[0], x[1]);
       }},
      {"masked_fill", [](const Tensors& x, const Json& a) {
         return masked_fill(x[0], golden::tensor(a["mask"]), a["value"]);
       }}};
  for (const auto& [name, op, plain] : unary) {
    ops[name] = [f = op](const Tensors& x, const Json&) { return f(x[0]); };
  }
  return ops;
}
const Golden golden_elementwise(golden_ops());

}  // namespace

TEST_CASE("ops of two tensors agree with plain loops under every kind of broadcasting") {
  const std::vector<std::pair<Shape, Shape>> pairs{
      {{}, {}},         {{3}, {}},        {{}, {2, 3}},        {{2, 3}, {2, 3}},
      {{2, 3}, {3}},    {{3, 1}, {1, 4}}, {{2, 1, 3}, {4, 1}}, {{1}, {2, 2, 1, 3}},
      {{0, 3}, {1, 3}}, {{1}, {0}},       {{2, 0}, {2, 1}},    {{5, 1, 1}, {1, 1, 1}}};
  for (const auto& [a, b] : pairs) {
    const Tensor x(random_normal(a, 1));
    const Tensor y(random_uniform(b, 0.5, 2, 2));
    const Shape both = broadcast_shape("test", a, b);
    const auto check = [&](const auto& op, const auto& plain) {
      check_elements(op(x, y), both,
                     [&](const Index& i) { return plain(at(x.value(), i), at(y.value(), i)); });
      check_elements(
          op(y, x), both, [&](const Index& i) { return plain(at(y.value(), i), at(x.value(), i)); },
          4, 100);
    };
    check(std::plus<>(), std::plus<>());
    check(std::minus<>(), std::minus<>());
    check(std::multiplies<>(), std::multiplies<>());
    check(std::divides<>(), std::divides<>());
    check([](const Tensor& s, const Tensor& t) { return maximum(s, t); },
          [](double s, double t) { return std::max(s, t); });
    check([](const Tensor& s, const Tensor& t) { return minimum(s, t); },
          [](double s, double t) { return std::min(s, t); });
  }
}

TEST_CASE("where agrees with a plain loop, all three operands broadcasting") {
  const Array condition = array({2, 1, 3}, {0, 1, -2, 0, 0, 5});
  const Array a = random_normal({4, 1}, 1);
  const Array b = random_normal({3}, 2);
  check_elements(vitruvian::where(condition, a, b), {2, 4, 3},
                 [&](const Index& i) { return at(condition, i) != 0 ? at(a, i) : at(b, i); });
}

TEST_CASE("shapes that do not broadcast are refused with both shapes") {
  const Tensor a(zeros({2, 3}));
  const Tensor b(zeros({2, 4}));
  CHECK_FAILS_WITH(a * b, "mul: shapes (2, 3) and (2, 4) do not broadcast");
  CHECK_FAILS_WITH(maximum(a, b), "maximum: shapes (2, 3) and (2, 4)");
  CHECK_FAILS_WITH(vitruvian::where(zeros({5}), a, a), "where: shapes (5,) and (2, 3)");
  CHECK_FAILS_WITH(a + Tensor(zeros({0})), "add: shapes (2, 3) and (0,)");
  const Tensor x(zeros({2, 3, 4}));
  CHECK_FAILS_WITH(masked_fill(x, zeros({3}), 0),
                   "masked_fill: shapes (3,) and (2, 3, 4) do not broadcast");
  CHECK_FAILS_WITH(masked_fill(Tensor(zeros({4})), zeros({2, 4}), 0),
                   "masked_fill: mask (2, 4) does not broadcast to (4,)");
}

TEST_CASE("ops of one tensor agree with the functions they are named after") {
  for (const Shape& shape : Shapes{{}, {1}, {50}, {2, 3, 4}, {0}, {3, 0}}) {
    const Array x = random_normal(shape, 3);  // of either sign: log and sqrt give NaN there
    const auto check = [&](const Tensor& y, const auto& plain) {
      check_elements(y, shape, [&](const Index& i) { return plain(at(x, i)); });
    };
    const Tensor t(x);
    for (const Unary& u : unary) {
      INFO(u.name);
      check(u.op(t), u.plain);
      CHECK_SAYS(u.op(Tensor()),
                 u.name + std::string(": x is absent; it must be a tensor that has a value"));
    }
    check(pow(t, real(2.5)), [](double v) { return std::pow(v, 2.5); });
    check(t + real(0.25), [](double v) { return v + 0.25; });
    check(t - real(0.25), [](double v) { return v - 0.25; });
    check(t * real(-1.5), [](double v) { return v * -1.5; });
    check(t / real{4}, [](double v) { return v / 4; });
    check(clamp(t, real(-0.5), real(0.75)),
          [](double v) { return std::min(std::max(v, -0.5), 0.75); });
  }
}

TEST_CASE("NaN and Inf go through where IEEE 754 says so") {
  const Tensor x = vector({NaN, inf, -inf, 0});
  check_values(exp(x), {NaN, inf, 0, 1});
  check_values(log(x), {NaN, inf, NaN, -inf});
  check_values(sqrt(x), {NaN, inf, NaN, 0});
  check_values(rsqrt(x), {NaN, 0, NaN, inf});
  check_values(tanh(x), {NaN, 1, -1, 0});
  check_values(sigmoid(x), {NaN, 1, 0, 0.5});
  check_values(erf(x), {NaN, 1, -1, 0});
  check_values(relu(x), {NaN, inf, 0, 0});
  check_values(abs(x), {NaN, inf, inf, 0});
  check_values(gelu(x), {NaN, inf, NaN, 0});  // -inf * 0, as PyTorch
  check_values(gelu_tanh(vector({NaN})), {NaN});
  check_values(dropout(vector({NaN}), 0, Rng(1)), {NaN});
  check_values(clamp(x, real{-2}, real{3}), {NaN, 3, -2, 0});
  check_values(x - x, {NaN, NaN, NaN, 0});
  check_values(x / x, {NaN, NaN, NaN, NaN});
  check_values(maximum(x, vector({1, NaN, NaN, -inf})), {NaN, NaN, NaN, 0});
  check_values(minimum(x, vector({1, NaN, NaN, -inf})), {NaN, NaN, NaN, -inf});
  check_values(sigmoid(vector({-1e4, 1e4})), {0, 1});
}

TEST_CASE("derivatives at kinks and ties are PyTorch's") {
  const Tensor x = vector({-1, -0.0, 0, 2, NaN});
  check_values(slopes(relu(x), {x})[0], {0, 0, 0, 1, 1});
  check_values(slopes(abs(x), {x})[0], {-1, 0, 0, 1, NaN});
  check_values(slopes(clamp(x, real{-1}, real{0}), {x})[0], {1, 1, 1, 0, NaN});
  check_values(slopes(pow(x, real{0}), {x})[0], {0, 0, 0, 0, 0});
  check_values(slopes(pow(x, real{1}), {x})[0], {1, 1, 1, 1, 1});
  check_values(pow(vector({0, -2, NaN}), real{0}), {1, 1, 1});

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
  check_values(clamp(vector({-5, 0, 5}), real{2}, real{1}), {1, 1, 1});
  const Tensor x = vector({-1, 4});
  check_values(vitruvian::where(array({2}, {0, 1}), sqrt(x), x * real{2}), {-2, 2});
  check_values(slopes(vitruvian::where(array({2}, {1, 0}), x, x * x), {x})[0], {1, 8});
}

TEST_CASE(
    "a NaN or infinite cotangent goes through where it is multiplied, and not to what was left "
    "out") {
  const Tensor x = vector({-2, 0, 2, NaN});
  const auto slope = [&](const Tensor& y, double g) { return grad(y, {x}, full({4}, real(g)))[0]; };
  for (const double g : {NaN, inf}) {
    check_values(slope(abs(x), g), {-g, NaN, g, NaN});
    check_values(slope(clamp(x, real{-1}, real{1}), g), {0, g, 0, NaN});
    check_values(slope(relu(x), g), {0, 0, g, g});  // a choice: what is not chosen gets 0
    check_values(slope(masked_fill(x, array({4}, {1, 0, 0, 0}), 5), g), {0, g, g, g});
  }
}

TEST_CASE("expm1, log1p, softplus and silu keep their digits and do not overflow") {
  const auto last = static_cast<double>(std::numeric_limits<real>::epsilon());
  for (const double tiny : {1e-12, -1e-12, 1e-30}) {
    const auto x = static_cast<double>(static_cast<real>(tiny));
    const Tensor t(scalar(static_cast<real>(tiny)));
    CHECK(std::abs(number(expm1(t)) - x) <= 1e-11 * std::abs(x) + last * std::abs(x));
    CHECK(std::abs(number(log1p(t)) - x) <= 1e-11 * std::abs(x) + last * std::abs(x));
  }
  const double far = in_double ? -300 : -60;  // softplus(x) is e^x there
  CHECK(std::abs(number(softplus(Tensor(scalar(real(far))))) / std::exp(far) - 1) <= 4 * last);
  const Tensor x = vector({-inf, -1e4, 1e4, inf, NaN});
  check_values(softplus(x), {0, 0, 1e4, inf, NaN});
  check_values(slopes(softplus(x), {x})[0], {0, 0, 1, 1, NaN});
  check_values(silu(x), {NaN, 0, 1e4, inf, NaN});
  check_values(log1p(vector({-1, -2})), {-inf, NaN});
  check_values(expm1(vector({-inf, inf})), {-1, inf});
}

TEST_CASE("gelu and gelu_tanh are their readable twins") {
  for (const Shape& shape :
       Shapes{{}, {1}, {7}, {3, 4}, {2, 0}, {2, 3, 4}, {5, 2, 1, 3}, {100, 33}}) {
    check_fused({shape}, [](const Tensors& x) { return gelu(x[0]); });
    check_fused({shape}, [](const Tensors& x) { return gelu_tanh(x[0]); });
  }
}

TEST_CASE("golden values of gelu and its derivative") {
  const double tolerance = in_double ? 2e-14 : 2e-7;
  const Tensor x = vector({-3, -1, -.5, .5, 1, 3});
  check_values(gelu(x),
               {-.00404969409489, -.158655253931457, -.154268769362993, .345731230637007,
                .841344746068543, 2.99595030590511},
               tolerance);
  check_values(gelu_tanh(vector({1, 3})), {.841191990608277, 2.99636260791823}, tolerance);
  const Tensor s = vector({1, -1, .5});
  check_values(slopes(gelu(s), {s})[0], {1.08331547058769, -.0833154705876864, .867495124656163},
               tolerance);
  const Tensor zero = vector({0});
  check_values(slopes(gelu(zero), {zero})[0], {.5});
  check_values(gelu(vector({-.751792})), {-.16997120748}, std::max(tolerance, 1e-11));
  std::vector<double> line;
  for (int i = -6000; i <= 6000; ++i) line.push_back(static_cast<double>(real(i) / 1000));
  const double most = distance(gelu(vector(line)), gelu_tanh(vector(line)));
  CHECK(std::abs(most - 4.7324e-4) <= (in_double ? 1e-8 : 1e-6));
}

// Which words draw the mask, and of which matrix, is in the tests of the kernels and of attention.
TEST_CASE("dropout multiplies by the mask of its key") {
  const Rng rng = Rng(5).fork("dropout");
  for (const double p : {0.0, 0.1, 0.5, 0.999}) {
    for (const Shape& shape : Shapes{{}, {1}, {4, 3}, {2, 3, 4}, {0, 3}, {33, 35}, {70, 1000}}) {
      const Tensor scaled_mask = dropout(full(shape, 1), p, rng);
      check_twins(
          {shape}, [&](const Tensors& x) { return dropout(x[0], p, rng); },
          [&](const Tensors& x) { return x[0] * scaled_mask; });
    }
  }
}

TEST_CASE("dropout with probability 0 is the identity, with 1 gives zeros, and keeps the mean") {
  const Array x = random_normal({5, 7}, 1);
  CHECK(distance(dropout(x, 0, Rng(1)), x) == 0);
  CHECK(distance(dropout(x, 1, Rng(1)), zeros({5, 7})) == 0);
  const auto all = [](const Tensor& t) { return dropout(t, 1, Rng(1)); };
  CHECK(distance(gradient(all, x, x), zeros({5, 7})) == 0);
  const double kept = number(mean(dropout(full({200'000}, 1), 0.3, Rng(9))));
  CHECK(std::abs(kept - 1) <= 4 * std::sqrt(0.3 / 0.7 / 200'000));
  const auto refused = [](double p) { return message_of([=] { dropout(zeros({2}), p, Rng(1)); }); };
  CHECK(refused(1.5) == "dropout: probability 1.5 is not in [0, 1]");
  CHECK(refused(-0.1) == "dropout: probability -0.1 is not in [0, 1]");
  CHECK(refused(NaN) == "dropout: probability nan is not in [0, 1]");
}
