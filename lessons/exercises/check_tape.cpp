// The checks of exercises on the tape.

#include "lessons/exercises/judge.hpp"

#include <cmath>

namespace vitruvian::lessons {
inline namespace VITRUVIAN_PRECISION {
namespace {

void difference(Judge& judge) {
  const auto yours = judge.yours<double(const std::function<double(double)>&, double, double)>();
  struct Curve {
    const char* name;
    double (*f)(double);
    double x, h, slope, bend;  // bend: f″, what looking at one side costs
  };
  // Polynomials of degree 2: looking at both sides is exact, at any h.
  const Curve curves[] = {
      {"f(x) = 5 x - 2 at 1, h = 0.5", [](double x) { return 5 * x - 2; }, 1, 0.5, 5, 0},
      {"f(x) = x² at 3, h = 0.5", [](double x) { return x * x; }, 3, 0.5, 6, 2},
      {"f(x) = 1 - 4 x² at -1, h = 0.25", [](double x) { return 1 - 4 * x * x; }, -1, 0.25, 8, -8},
      {"f(x) = exp(x) at 0, h = 0.001", [](double x) { return std::exp(x); }, 0, 1e-3, 1, 1}};
  for (const Curve& c : curves) {
    judge.in_case(c.name, [&] {
      judge.compare(
          "f′(x)", yours(c.f, c.x, c.h), c.slope, "calculus says",
          {{"That is the slope to the right, (f(x + h) − f(x)) / h: look to the left as well.",
            scalar((c.f(c.x + c.h) - c.f(c.x)) / c.h)},
           {"That is the slope to the left, (f(x) − f(x − h)) / h: look to the right as well.",
            scalar((c.f(c.x) - c.f(c.x - c.h)) / c.h)},
           {"Twice too large: from x − h to x + h it is 2h.", scalar(2 * c.slope)},
           {"The rise is divided by 2 and then multiplied by h: put brackets around (2 * h).",
            scalar((c.f(c.x + c.h) - c.f(c.x - c.h)) / 2 * c.h)},
           {"The sign is the wrong way round: right minus left.", scalar(-c.slope)},
           {"The gap is still open; look for \"Yours\" in the file.", scalar(0)}});
    });
  }
  // Flat nearer than h: who looks there has taken another step than the one that was given.
  judge.in_case("f(x) = x, but 0 where |x| < 0.4, at 0, h = 0.5", [&] {
    judge.compare("f′(x)", yours([](double x) { return std::abs(x) < 0.4 ? 0 : x; }, 0, 0.5), 1,
                  "both sides at this h say",
                  {{"You look nearer than h: take the step that is given.", scalar(0)}});
  });
}

using Tape = std::vector<std::vector<std::size_t>>;
using Order = std::vector<std::size_t>;

// What is wrong with an order; empty when nothing is. Checks what the exercise asks for, not one
// particular answer: there are several.
std::string fault_of(const Order& order, const Tape& inputs, std::size_t output) {
  std::vector<bool> needed(inputs.size(), false);
  Order found = {output};
  needed[output] = true;
  for (std::size_t next = 0; next < found.size(); ++next) {
    for (const std::size_t i : inputs[found[next]]) {
      if (!needed[i]) found.push_back(i);
      needed[i] = true;
    }
  }
  if (order.empty()) {
    return fmt::format("Your order is empty. The gap may still be open; there should be {} nodes.",
                       found.size());
  }
  constexpr std::size_t nowhere = SIZE_MAX;
  Order at(inputs.size(), nowhere);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t node = order[i];
    if (node >= inputs.size()) {
      return fmt::format("Place {} of your order names node {}: they go from 0 to {}.", i, node,
                         inputs.size() - 1);
    }
    if (at[node] != nowhere) {
      return fmt::format("Node {} comes twice, at places {} and {}: it would pass its cotangent on "
                         "twice.",
                         node, at[node], i);
    }
    if (!needed[node]) {
      return fmt::format("Node {} is in your order, but output {} does not depend on it.", node,
                         output);
    }
    at[node] = i;
  }
  for (const std::size_t node : found) {
    if (at[node] == nowhere) {
      return fmt::format("Node {} is missing: output {} depends on it.", node, output);
    }
  }
  for (const std::size_t node : found) {
    for (const std::size_t i : inputs[node]) {
      if (at[i] < at[node]) {
        return fmt::format(
            "Node {} comes before node {}, which uses it: a share of its cotangent is still "
            "missing when it passes it on.",
            i, node);
      }
    }
  }
  return "";
}

void backward_order(Judge& judge) {
  const auto yours = judge.yours<Order(const Tape&, std::size_t)>();
  const auto check = [&](const std::string& label, const Tape& inputs, std::size_t output) {
    judge.in_case(label, [&] {
      const std::string fault = fault_of(yours(inputs, output), inputs, output);
      if (!fault.empty()) judge.wrong(fault);
    });
  };
  check("a leaf alone", {{}}, 0);
  check("a chain 0 → 1 → 2", {{}, {0}, {1}}, 2);
  check("y = x·x, the same input twice", {{}, {0, 0}}, 1);
  check("a diamond: 0 is used by 1 and by 3, 1 by 2, 2 by 3", {{}, {0}, {1}, {0, 2}}, 3);
  check("the same with the inputs of 3 exchanged", {{}, {0}, {1}, {2, 0}}, 3);
  check("a diamond upon a chain: 1 is used by 2 and by 4, 2 by 3, 3 by 4",
        {{}, {0}, {1}, {2}, {1, 3}}, 4);
  check("the same with the inputs of 4 exchanged", {{}, {0}, {1}, {2}, {3, 1}}, 4);
  check("nodes out of order: 0 uses 2, 2 uses 1", {{2, 1}, {}, {1}}, 0);
  check("node 2 uses node 0, but the output 1 does not need it", {{}, {0}, {0}}, 1);
  constexpr std::size_t length = 1'000'000;
  Tape chain(length);
  for (std::size_t i = 1; i < length; ++i) chain[i] = {i - 1};
  check("a chain of 1,000,000 nodes", chain, length - 1);
}

void unbroadcast(Judge& judge) {
  const auto yours = judge.yours<Tensor(const Tensor&, const Shape&)>();
  const std::vector<std::pair<Shape, Shape>> cases = {
      {{3}, {}},        {{1, 3}, {1, 1}}, {{2, 3}, {3}},       {{2, 3}, {2, 1}},
      {{2, 3}, {2, 3}}, {{2, 3, 4}, {4}}, {{2, 3, 4}, {3, 1}}, {{2, 3, 4}, {1, 3, 1}}};
  std::uint64_t seed = 1;
  for (const auto& [from, to] : cases) {
    const Tensor g = normal(from, seed++);
    const Shape shape = to;
    judge.in_case(fmt::format("g {}, shape {}", to_string(g.shape()), to_string(shape)), [&] {
      const auto stretch = [&](const Tensor& x) { return broadcast_to(x, g.shape()); };
      const Tensor right = differences(stretch, zeros(shape), g);
      const double copies = static_cast<double>(g.size()) / static_cast<double>(right.size());
      judge.compare(
          "the sum", yours(g, shape), right, "differences say",
          {{"That is the mean over the copies; every copy counts in full.", right / copies},
           {"Nothing was stretched here, yet everything is summed: an empty set of axes "
            "means all of them.",
            sum(g)}});
    });
  }
}

void matmul_vjp(Judge& judge) {
  const auto yours = judge.yours<MatmulGradients(const Tensor&, const Tensor&, const Tensor&)>();
  const std::vector<std::pair<Shape, Shape>> cases = {
      {{2, 3}, {3, 4}}, {{3, 3}, {3, 3}}, {{1, 4}, {4, 1}}, {{2, 3, 2}, {2, 2, 4}}};
  std::uint64_t seed = 1;
  for (const auto& [a, b] : cases) {
    const Tensor A = normal(a, seed++);
    const Tensor B = normal(b, seed++);
    const Tensor g = normal(matmul(A, B).shape(), seed++);
    judge.in_case(fmt::format("A {}, B {}", to_string(A.shape()), to_string(B.shape())), [&] {
      const MatmulGradients got = yours(g, A, B);
      std::vector<Guess> of_a;
      std::vector<Guess> of_b;
      if (A.shape() == B.shape()) {
        of_a = {{"That is g B: B has to be transposed.", matmul(g, B)},
                {"That is Bᵀ g: g stands on the left.", matmul(transpose(B), g)}};
        of_b = {{"That is A g: A has to be transposed.", matmul(A, g)},
                {"That is g Aᵀ: g stands on the right.", matmul(g, transpose(A))}};
      }
      judge.compare_gradient(
          "dA", got.dA, [&](auto& x) { return matmul(x, B); }, A, g, of_a);
      judge.compare_gradient(
          "dB", got.dB, [&](auto& x) { return matmul(A, x); }, B, g, of_b);
    });
  }
}

void linear_vjp(Judge& judge) {
  const auto yours = judge.yours<LinearGradients(const Tensor&, const Tensor&, const Tensor&)>();
  const Shape cases[] = {{3, 4}, {1, 2}, {4, 4}, {2, 1, 2, 3}, {2, 3, 4}};
  std::uint64_t seed = 1;
  for (const Shape& shape : cases) {
    const Tensor x = normal(shape, seed++);
    const Tensor W = normal({4, shape.back()}, seed++);
    const Tensor b = normal({4}, seed++);
    const Tensor g = normal(linear(x, W, b).shape(), seed++);
    judge.in_case(fmt::format("x {}, W {}", to_string(x.shape()), to_string(W.shape())), [&] {
      const LinearGradients got = yours(g, x, W);
      std::vector<Guess> of_x;
      if (W.size(0) == W.size(1)) {
        of_x = {{"That is g Wᵀ. y = x Wᵀ has turned W over already: on the way back it is g W.",
                 matmul(g, transpose(W))}};
      }
      const Tensor dW = differences([&](const Tensor& w) { return linear(x, w, b); }, W, g);
      const Tensor db = differences([&](const Tensor& c) { return linear(x, W, c); }, b, g);
      judge.compare_gradient(
          "dx", got.dx, [&](auto& t) { return linear(t, W, b); }, x, g, of_x);
      judge.compare(
          "dW", got.dW, dW, "differences say",
          {{"Yours is the transpose: W is (out, in), so it is gᵀ x, not xᵀ g.", transpose(dW)}});
      const double rows = static_cast<double>(g.size()) / 4;
      judge.compare("db", got.db, db, "differences say",
                    {{"b is shared by all rows: sum g over them.", g},
                     {"That is the mean over the rows; it is their sum.", db / rows}});
    });
  }
}

void chain_rule(Judge& judge) {
  const auto yours = judge.yours<double(const std::vector<Link>&, double)>();
  const Link square_it = {[](double x) { return x * x; }, [](double x) { return 2 * x; }};
  const Link wave = {[](double x) { return std::sin(x); }, [](double x) { return std::cos(x); }};
  const Link grow = {[](double x) { return std::exp(x); }, [](double x) { return std::exp(x); }};
  const Link three = {[](double x) { return 3 * x; }, [](double) { return 3.0; }};
  struct Case {
    std::string label;
    std::vector<Link> links;
    double x;
  };
  for (const Case& c :
       {Case{"y = 3 x", {three}, 2}, Case{"y = x²", {square_it}, 3},
        Case{"y = sin(x²)", {square_it, wave}, 1.3},
        Case{"y = exp(sin(3 x))", {three, wave, grow}, 0.4}, Case{"an empty chain", {}, 5}}) {
    judge.in_case(c.label, [&] {
      const auto run = [&](double x) {
        for (const Link& link : c.links) x = link.f(x);
        return x;
      };
      double at_x = 1, after = 1, at = c.x, added = 0;
      for (const Link& link : c.links) {
        added += link.df(at);
        at_x *= link.df(c.x);
        at = link.f(at);
        after *= link.df(at);
      }
      judge.compare_gradient(
          "dy/dx", scalar(yours(c.links, c.x)),
          [&](const Tensor& x) { return scalar(run(x.item())); }, scalar(c.x), scalar(1),
          {{fmt::format("A derivative is not 0 here. {}", open_gap), scalar(0)},
           {"Every derivative is taken at x; link i's at what it got, x_{i−1}.", scalar(at_x)},
           {"Each derivative is taken at its link's result; it belongs at what went in.",
            scalar(after)},
           {"The factors are added; the derivative of a chain is their product.", scalar(added)},
           {"That is y itself, not its derivative.", scalar(run(c.x))}});
    });
  }
}

void wrong_entries(Judge& judge) {
  using List = std::vector<double>;
  const auto yours =
      judge.yours<std::vector<std::size_t>(const OfNumbers&, const List&, const List&)>();
  const OfNumbers f = [](const List& x) {
    return x[0] * x[0] * x[1] + std::sin(x[2]) + 1000 * x[3];
  };
  const List near_1 = {1.5, -0.5, 0.25, 2}, small = {0.5, 0.01, 0.25, 2},
             large = {1, -500, 0.25, 2};
  using Indices = std::vector<std::size_t>;
  struct Case {
    std::string label;
    List x, errors;
    Indices wrong, absolute = wrong, relative = wrong;  // by an error that is always judged so
  };
  for (const Case& c :
       {Case{"one entry of the wrong sign", near_1, {0, -4.5, 0, 0}, {1}},
        Case{"all right", near_1, {0, 0, 0, 0}, {}},
        Case{"the first and the last are wrong", near_1, {1e-3, 0, 0, 1}, {0, 3}},
        Case{"a derivative of 1000 that is off by 5e-4", near_1, {0, 0, 1e-5, 5e-4}, {2}, {2, 3}},
        Case{"one of 0.01 that is off by 5e-7", small, {5e-7, 0, 0, 0}, {}, {}, {0}},
        Case{"one of -1000 that is off by 5e-4, one of 1 by 1.8e-6",
             large,
             {5e-4, 1.8e-6, 0, 0},
             {1},
             {0, 1}}}) {
    judge.in_case(c.label, [&] {
      const List& x = c.x;
      List claimed = {2 * x[0] * x[1], x[0] * x[0], std::cos(x[2]), 1000};
      for (std::size_t i = 0; i < x.size(); ++i) claimed[i] += c.errors[i];
      judge.compare_indices(
          "the wrong entries", yours(f, x, claimed), c.wrong,
          {{"The allowed error grows with |d_i|: 10⁻⁶ · max(1, |d_i|).", c.absolute},
           {"Below 1 it shrinks no more: 10⁻⁶ · max(1, |d_i|).", c.relative}});
    });
  }
}

}  // namespace

std::vector<NamedCheck> tape_checks() {
  return {
      {"difference", difference},   {"chain_rule", chain_rule}, {"backward_order", backward_order},
      {"unbroadcast", unbroadcast}, {"matmul", matmul_vjp},     {"wrong_entries", wrong_entries},
      {"linear", linear_vjp}};
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian::lessons
