#pragma once

#include "vitruvian/core/check/gradcheck.hpp"
#include "vitruvian/core/ops.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

// How the rows of the table are written down.

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

using Cases = std::vector<GradcheckCase>;
using Inputs = std::vector<Tensor>;

/// Adds a row at the given inputs, whose shapes the label lists before `attributes`.
inline void add_at(Cases& cases, const char* op, std::vector<Array> inputs,
                   const std::string& attributes, Function f) {
  std::string label;
  for (const Array& x : inputs) label += (label.empty() ? "" : ", ") + to_string(x.shape());
  if (!attributes.empty()) label += "; " + attributes;
  cases.push_back({op, std::move(label), std::move(inputs), std::move(f)});
}

/// The same at normal inputs of the given shapes.
inline void add_row(Cases& cases, const char* op, const std::vector<Shape>& shapes,
                    const std::string& attributes, Function f) {
  std::vector<Array> inputs;
  for (const Shape& shape : shapes) {
    inputs.push_back(random_normal(shape, 100 * cases.size() + inputs.size()));
  }
  add_at(cases, op, std::move(inputs), attributes, std::move(f));
}

/// The op twice on the same inputs, in one expression.
inline void add_twice(Cases& cases, const char* op, const std::vector<Shape>& shapes,
                      const Function& f) {
  add_row(cases, op, shapes, "twice", [f](const Inputs& x) { return f(x) * f(x); });
}

/// The input at `i`, or an absent tensor.
inline Tensor optional(const Inputs& x, bool present, std::size_t i) {
  return present ? x[i] : Tensor();
}

/// A shape, and axes that an op takes there.
struct Place {
  Shape shape;
  Axes axes;
};

/// "over (0, 2)": how a label names axes.
inline std::string named(const char* name, const Axes& axes) {
  return fmt::format("{} ({})", name, fmt::join(axes, ", "));
}

/// The rows of the reductions and of the matrix product: reduce.cpp.
void reduction_rows(Cases& cases);
void matmul_rows(Cases& cases);

/// The rows of attention and of the losses: losses.cpp.
void attention_rows(Cases& cases);
void loss_rows(Cases& cases);

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
