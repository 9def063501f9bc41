// The rows of the reductions and of the matrix product.

#include "vitruvian/core/check/rows.hpp"

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

using Reduce = Tensor (*)(const Tensor&, const Axes&, bool keepdim);

void reduce_rows(Cases& cases, const char* op, bool distinct, bool of_nothing, Reduce f) {
  std::vector<Place> places{{{}, {}},
                            {{1}, {0}},
                            {{5}, {}},
                            {{3, 4}, {0}},
                            {{3, 4}, {-1}},
                            {{3, 4}, {}},
                            {{2, 3, 4}, {0, 2}},
                            {{2, 3, 4}, {1}},
                            {{2, 3, 1, 2}, {-1, 1}},
                            {{2, 1, 3, 2}, {1}},
                            {{3, 0}, {0}}};
  if (of_nothing) places.push_back({{0, 3}, {0}});
  for (const Place& place : places) {
    for (const bool keepdim : {false, true}) {
      const auto seed = cases.size();
      const Array x =
          distinct ? random_distinct(place.shape, 0.1, seed) : random_normal(place.shape, seed);
      add_at(cases, op, {x}, named("over", place.axes) + (keepdim ? ", keepdim" : ""),
             [=, axes = place.axes](const Inputs& in) { return f(in[0], axes, keepdim); });
    }
  }
  add_at(cases, op, {random_distinct({3, 4}, 0.1, cases.size())}, "twice",
         [f](const Inputs& in) { return f(in[0], {0}, false) * f(in[0], {0}, false); });
}

}  // namespace

void reduction_rows(Cases& cases) {
  reduce_rows(cases, "sum", false, true, sum);
  reduce_rows(cases, "mean", false, false, mean);
  reduce_rows(cases, "var", false, false, [](const Tensor& x, const Axes& axes, bool keepdim) {
    return var(x, axes, 0, keepdim);
  });
  for (const int correction : {1, 2}) {
    add_row(cases, "var", {{3, 4}}, fmt::format("over (-1), correction {}", correction),
            [=](const Inputs& x) { return var(x[0], {-1}, correction); });
  }
  reduce_rows(cases, "amax", true, false, amax);
  reduce_rows(cases, "logsumexp", false, true, logsumexp);
}

void matmul_rows(Cases& cases) {
  const Function f = [](const Inputs& x) { return matmul(x[0], x[1]); };
  for (const std::vector<Shape>& shapes :
       std::vector<std::vector<Shape>>{{{3}, {3}},
                                       {{1}, {1}},
                                       {{3}, {3, 2}},
                                       {{2, 3}, {3}},
                                       {{2, 3}, {3, 4}},
                                       {{1, 1}, {1, 5}},
                                       {{2, 2, 3}, {3, 2}},
                                       {{2, 3}, {2, 3, 2}},
                                       {{2, 2, 3}, {2, 3, 2}},
                                       {{2, 1, 2, 3}, {3, 3, 2}},
                                       {{1, 2, 3}, {2, 2, 3, 1}},
                                       {{2, 3, 1, 2}, {2, 1, 2, 2}},
                                       {{3}, {2, 3, 2}},
                                       {{2, 2, 3}, {3}},
                                       {{1, 1, 2, 3}, {3, 2}},
                                       {{2, 0}, {0, 3}},
                                       {{0, 2}, {2, 3}},
                                       {{0, 2, 3}, {3, 2}},
                                       {{17, 9}, {9, 33}}}) {
    add_row(cases, "matmul", shapes, "", f);
  }
  add_twice(cases, "matmul", {{2, 1, 2, 3}, {3, 3, 2}}, f);
  add_row(cases, "matmul", {{3, 3}}, "a a", [](const Inputs& x) { return matmul(x[0], x[0]); });
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
