// The rows of the elementwise ops: each function at every standard shape, away from its kinks.

#include "vitruvian/core/check/rows.hpp"

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

using Unary = Tensor (*)(const Tensor&);
using Binary = Tensor (*)(const Tensor&, const Tensor&);

Make between(double low, double high) {
  return [=](const Shape& shape, std::uint64_t seed) {
    return random_uniform(shape, low, high, seed);
  };
}

// Points 0.1 apart at least, from each other and from zero; those of the second input lie between
// those of the first.
Array grid(const Shape& shape, std::uint64_t seed) { return random_distinct(shape, 0.1, seed); }
Array between_grid(const Shape& shape, std::uint64_t seed) {
  Array x = grid(shape, seed);
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] += real(0.15);
  return x;
}
// Seeds end in the index of the input: the first has another kind of numbers than the second.
bool is_first(std::uint64_t seed) { return seed % 100 == 0; }
Array either_grid(const Shape& shape, std::uint64_t seed) {
  return is_first(seed) ? grid(shape, seed) : between_grid(shape, seed);
}
Array normal_and_positive(const Shape& shape, std::uint64_t seed) {
  return is_first(seed) ? random_normal(shape, seed) : random_uniform(shape, 0.5, 2, seed);
}

void unary(Cases& cases, const char* op, const Make& make, Unary f,
           const std::string& attributes = "") {
  const Function once = [f](const Inputs& x) { return f(x[0]); };
  add_row_and_twice(cases, op, {{2, 3}}, attributes, once, make);
  for (const Shape& shape :
       Shapes{{}, {1}, {5}, {2, 1, 3}, {2, 3, 1, 2}, {4, 4, 2}, {0}, {3, 0, 2}}) {
    add_row(cases, op, {shape}, attributes, once, make);
  }
}

void binary(Cases& cases, const char* op, const Make& make, Binary f) {
  const Function once = [f](const Inputs& x) { return f(x[0], x[1]); };
  add_row_and_twice(cases, op, {{2, 3}, {3}}, "", once, make);
  const std::vector<Shapes> places{
      {{}, {}},         {{3}, {}},           {{}, {2, 3}},        {{2, 3}, {2, 3}},
      {{3, 1}, {1, 4}}, {{2, 1, 3}, {4, 1}}, {{1}, {2, 2, 1, 3}}, {{2, 3, 1, 2}, {3, 2, 1}},
      {{0, 3}, {1, 3}}, {{1}, {0}}};
  for (const Shapes& shapes : places) add_row(cases, op, shapes, "", once, make);
}

void arithmetic_rows(Cases& cases) {
  unary(cases, "neg", random_normal, neg);
  binary(cases, "add", random_normal, add);
  binary(cases, "sub", random_normal, sub);
  binary(cases, "mul", random_normal, mul);
  binary(cases, "div", normal_and_positive, div);
  add_row(cases, "add", {{2, 3}}, "a + a", [](const Inputs& x) { return x[0] + x[0]; });
  add_row(cases, "mul", {{2, 3}}, "a * a", [](const Inputs& x) { return x[0] * x[0]; });
  unary(cases, "add_scalar", random_normal, [](const Tensor& x) { return x + real(0.7); });
  unary(cases, "mul_scalar", random_normal, [](const Tensor& x) { return x * real(-1.7); });
  unary(cases, "div_scalar", random_normal, [](const Tensor& x) { return x / real(-1.7); });
}

void smooth_rows(Cases& cases) {
  unary(
      cases, "pow", between(0.5, 2), [](const Tensor& x) { return pow(x, real(2.5)); }, "p 2.5");
  for (const real p : {real{3}, real{2}, real{1}, real{0}, real{-1.5}}) {
    add_row(
        cases, "pow", {{2, 3}}, fmt::format("p {}{}", p, p < 0 ? "" : ", either sign"),
        [p](const Inputs& x) { return pow(x[0], p); }, p < 0 ? between(0.5, 2) : grid);
  }
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
  unary(cases, "gelu", random_normal, gelu);
  unary(cases, "gelu_tanh", random_normal, gelu_tanh);
}

void kinked_rows(Cases& cases) {
  unary(cases, "relu", grid, relu);
  unary(cases, "abs", grid, abs);
  binary(cases, "maximum", either_grid, maximum);
  binary(cases, "minimum", either_grid, minimum);
  unary(
      cases, "clamp", grid, [](const Tensor& x) { return clamp(x, real(-0.6), real(0.9)); },
      "[-0.6, 0.9]");
}

void where_rows(Cases& cases) {
  const AtAll<Shape> places{
      {{{2, 3}, {}}, {3}},           {{{}, {}}, {}},          {{{2, 3}, {2, 3}}, {2, 3}},
      {{{3}, {2, 1}}, {2, 3}},       {{{1, 3}, {3}}, {2, 1}}, {{{}, {2, 1}}, {2, 1, 3}},
      {{{2, 3}, {1}}, {2, 2, 1, 3}}, {{{1}, {4}}, {4}},       {{{3}, {0, 1}}, {0, 3}}};
  add_rows(cases, "where", "where {}", places, [](const Inputs& x, const Shape& shape) {
    Array condition = random_normal(shape, 8);
    for (real& c : condition) c = c > 0 ? real{1} : real{0};
    return where(condition, x[0], x[1]);
  });
}

}  // namespace

void elementwise_rows(Cases& cases) {
  arithmetic_rows(cases);
  smooth_rows(cases);
  kinked_rows(cases);
  where_rows(cases);
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
