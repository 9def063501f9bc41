// The rows of the elementwise ops: each function at every standard shape, away from its kinks, and
// once twice in one expression, so that a lost accumulation shows.

#include "vitruvian/core/check/rows.hpp"

#include <cstdint>
#include <functional>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

using Unary = Tensor (*)(const Tensor&);
using Binary = Tensor (*)(const Tensor&, const Tensor&);
using Make = std::function<Array(const Shape&, std::uint64_t seed)>;

// y + 3 y', each computed anew: the inputs collect two different cotangents.
Tensor both(const Tensor& y, const Tensor& again) { return y + again * real{3}; }

Make between(double low, double high) {
  return [=](const Shape& shape, std::uint64_t seed) {
    return random_uniform(shape, low, high, seed);
  };
}

// Points k / 10 apart at least, from each other and from zero; those of the second input lie
// between those of the first.
Array grid(const Shape& shape, std::uint64_t seed) { return random_distinct(shape, 0.1, seed); }
Array between_grid(const Shape& shape, std::uint64_t seed) {
  Array x = grid(shape, seed);
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] += real(0.15);
  return x;
}

void unary(Cases& cases, const char* op, const Make& make, Unary f,
           const std::string& attributes = "") {
  const Function once = [f](const Inputs& x) { return f(x[0]); };
  for (const Shape& shape : std::vector<Shape>{
           {}, {1}, {5}, {2, 3}, {2, 1, 3}, {2, 3, 1, 2}, {4, 4, 2}, {0}, {3, 0, 2}}) {
    add_at(cases, op, {make(shape, cases.size())}, attributes, once);
  }
  add_at(cases, op, {make({2, 3}, cases.size())},
         attributes.empty() ? "twice" : attributes + ", twice",
         [f](const Inputs& x) { return both(f(x[0]), f(x[0])); });
}

void binary(Cases& cases, const char* op, const Make& make_a, const Make& make_b, Binary f) {
  const Function once = [f](const Inputs& x) { return f(x[0], x[1]); };
  for (const auto& [a, b] : std::vector<std::pair<Shape, Shape>>{{{}, {}},
                                                                 {{3}, {}},
                                                                 {{}, {2, 3}},
                                                                 {{2, 3}, {2, 3}},
                                                                 {{2, 3}, {3}},
                                                                 {{3, 1}, {1, 4}},
                                                                 {{2, 1, 3}, {4, 1}},
                                                                 {{1}, {2, 2, 1, 3}},
                                                                 {{2, 3, 1, 2}, {3, 2, 1}},
                                                                 {{0, 3}, {1, 3}},
                                                                 {{1}, {0}}}) {
    add_at(cases, op, {make_a(a, cases.size()), make_b(b, cases.size() + 1)}, "", once);
  }
  add_at(cases, op, {make_a({2, 3}, cases.size()), make_b({3}, cases.size() + 1)}, "twice",
         [f](const Inputs& x) { return both(f(x[0], x[1]), f(x[0], x[1])); });
}

void arithmetic_rows(Cases& cases) {
  unary(cases, "neg", random_normal, neg);
  binary(cases, "add", random_normal, random_normal,
         [](const Tensor& a, const Tensor& b) { return a + b; });
  binary(cases, "sub", random_normal, random_normal, sub);
  binary(cases, "mul", random_normal, random_normal,
         [](const Tensor& a, const Tensor& b) { return a * b; });
  binary(cases, "div", random_normal, between(0.5, 2), div);
  add_row(cases, "add", {{2, 3}}, "a + a", [](const Inputs& x) { return x[0] + x[0]; });
  add_row(cases, "mul", {{2, 3}}, "a * a", [](const Inputs& x) { return x[0] * x[0]; });
  unary(cases, "add_scalar", random_normal, [](const Tensor& x) { return x + real(0.7); });
  unary(cases, "mul_scalar", random_normal, [](const Tensor& x) { return x * real(-1.7); });
}

void smooth_rows(Cases& cases) {
  unary(
      cases, "pow", between(0.5, 2), [](const Tensor& x) { return pow(x, real(2.5)); }, "p 2.5");
  for (const real p : {real{3}, real{2}, real{1}, real{0}}) {
    add_at(cases, "pow", {grid({2, 3}, cases.size())}, fmt::format("p {}, either sign", p),
           [p](const Inputs& x) { return pow(x[0], p); });
  }
  add_at(cases, "pow", {between(0.5, 2)({2, 3}, cases.size())}, "p -1.5",
         [](const Inputs& x) { return pow(x[0], real(-1.5)); });
  unary(cases, "exp", random_normal, exp);
  unary(cases, "expm1", random_normal, expm1);
  unary(cases, "log1p", between(-0.5, 3), log1p);
  unary(cases, "sin", random_normal, sin);
  unary(cases, "cos", random_normal, cos);
  unary(cases, "silu", random_normal, silu);
  unary(cases, "softplus", random_normal, softplus);
  unary(cases, "log", between(0.5, 3), log);
  unary(cases, "sqrt", between(0.5, 3), sqrt);
  unary(cases, "rsqrt", between(0.5, 3), rsqrt);
  unary(cases, "square", random_normal, square);
  unary(cases, "tanh", random_normal, tanh);
  unary(cases, "sigmoid", random_normal, sigmoid);
  unary(cases, "erf", random_normal, erf);
}

void kinked_rows(Cases& cases) {
  unary(cases, "relu", grid, relu);
  unary(cases, "abs", grid, abs);
  binary(cases, "maximum", grid, between_grid, maximum);
  binary(cases, "minimum", grid, between_grid, minimum);
  unary(
      cases, "clamp", grid, [](const Tensor& x) { return clamp(x, real(-0.6), real(0.9)); },
      "[-0.6, 0.9]");
}

void where_rows(Cases& cases) {
  struct Row {
    Shape condition, a, b;
  };
  for (const Row& row : std::vector<Row>{{{}, {}, {}},
                                         {{2, 3}, {2, 3}, {2, 3}},
                                         {{2, 3}, {3}, {2, 1}},
                                         {{3}, {2, 3}, {}},
                                         {{2, 1}, {1, 3}, {3}},
                                         {{2, 1, 3}, {}, {2, 1}},
                                         {{2, 2, 1, 3}, {2, 3}, {1}},
                                         {{4}, {1}, {4}},
                                         {{0, 3}, {3}, {0, 1}}}) {
    const Array condition = [&] {
      Array c = random_normal(row.condition, cases.size());
      for (std::size_t i = 0; i < c.size(); ++i) c.data()[i] = c.data()[i] > 0 ? real{1} : real{0};
      return c;
    }();
    const std::string label = "where " + to_string(row.condition);
    const auto f = [condition](const Inputs& x) { return where(condition, x[0], x[1]); };
    add_row(cases, "where", {row.a, row.b}, label, f);
    if (row.condition == Shape{3}) {
      add_row(cases, "where", {row.a, row.b}, label + ", twice",
              [f](const Inputs& x) { return both(f(x), f(x)); });
    }
  }
}

}  // namespace

std::vector<GradcheckCase> elementwise_cases() {
  Cases cases;
  arithmetic_rows(cases);
  smooth_rows(cases);
  kinked_rows(cases);
  where_rows(cases);
  return cases;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
