#include "vitruvian/core/check/rows.hpp"

#include <utility>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

std::vector<GradcheckCase> gradcheck_cases() {
  Cases cases;
  elementwise_rows(cases);
  shape_rows(cases);
  layer_rows(cases);
  return cases;
}

void add_row(Cases& cases, const char* op, const Shapes& shapes, const std::string& attributes,
             const Function& f, const Make& make) {
  std::vector<Array> inputs;
  std::string label;
  for (const Shape& shape : shapes) {
    label += (label.empty() ? "" : ", ") + to_string(shape);
    inputs.push_back(make(shape, 100 * cases.size() + inputs.size()));
  }
  if (!attributes.empty()) label += "; " + attributes;
  cases.push_back({op, std::move(label), std::move(inputs), f});
}

void add_row_and_twice(Cases& cases, const char* op, const Shapes& shapes,
                       const std::string& attributes, const Function& f, const Make& make) {
  add_row(cases, op, shapes, attributes, f, make);
  // Times 3, so that the inputs collect two different cotangents.
  add_row(
      cases, op, shapes, attributes.empty() ? "twice" : attributes + ", twice",
      [f](const Inputs& x) { return f(x) + f(x) * real{3}; }, make);
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
