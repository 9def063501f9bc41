// The rows of the ops that pick, move or pool elements, and of the losses with options.

#include "vitruvian/core/check/rows.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

using Op = std::function<Tensor(const Tensor&)>;

// One row for each function, which the attributes name.
struct Case {
  Shape shape;
  std::string attributes;
  Op f;
};

void rows_of(Cases& cases, const char* op, const std::vector<Case>& rows) {
  for (const Case& row : rows) {
    // Distinct numbers: the largest of a window stays the largest.
    add_at(cases, op, {random_distinct(row.shape, 0.1, cases.size())}, row.attributes,
           [f = row.f](const Inputs& x) { return f(x[0]); });
  }
  add_twice(cases, op, {rows[3].shape}, [f = rows[3].f](const Inputs& x) { return f(x[0]); });
}

// The same op at many shapes, each with an attribute.
template <class F>
void each_of(Cases& cases, const char* op, const char* name,
             const std::vector<std::pair<Shape, int>>& places, const F& f) {
  std::vector<Case> rows;
  for (const auto& [shape, n] : places) {
    rows.push_back(
        {shape, fmt::format("{} {}", name, n), [f, k = n](const Tensor& x) { return f(x, k); }});
  }
  rows_of(cases, op, rows);
}

void axis_rows(Cases& cases) {
  each_of(cases, "squeeze", "axis",
          {{{1}, 0},
           {{1, 3}, 0},
           {{3, 1}, -1},
           {{2, 1, 3}, 1},
           {{2, 3, 1}, 2},
           {{1, 1}, 1},
           {{0, 1}, 1},
           {{2, 1, 3, 2}, -3}},
          [](const Tensor& x, int axis) { return squeeze(x, axis); });
  each_of(cases, "unsqueeze", "axis",
          {{{}, 0},
           {{}, -1},
           {{3}, 0},
           {{3}, 1},
           {{2, 3}, 1},
           {{2, 3}, -1},
           {{2, 3, 2}, 0},
           {{0, 2}, 1}},
          [](const Tensor& x, int axis) { return unsqueeze(x, axis); });
  each_of(cases, "flatten", "from axis",
          {{{}, 0},
           {{3}, 0},
           {{2, 3}, 0},
           {{2, 3, 2}, 1},
           {{2, 3, 2}, -2},
           {{2, 1, 3}, 2},
           {{2, 2, 3, 2}, 1},
           {{0, 3, 2}, 1}},
          [](const Tensor& x, int first) { return flatten(x, first); });
  rows_of(cases, "roll",
          {{{1}, "0 by 1", [](const Tensor& x) { return roll(x, 1, 0); }},
           {{5}, "0 by 2", [](const Tensor& x) { return roll(x, 2, 0); }},
           {{5}, "0 by -7", [](const Tensor& x) { return roll(x, -7, 0); }},
           {{3, 4}, "1 by 1", [](const Tensor& x) { return roll(x, 1, 1); }},
           {{3, 4}, "0 by -1", [](const Tensor& x) { return roll(x, -1, 0); }},
           {{2, 3, 2}, "1 by 5", [](const Tensor& x) { return roll(x, 5, 1); }},
           {{2, 3, 4, 2}, "-2 by 2", [](const Tensor& x) { return roll(x, 2, -2); }},
           {{0, 3}, "0 by 1", [](const Tensor& x) { return roll(x, 1, 0); }},
           {{2, 3}, "1 by 0", [](const Tensor& x) { return roll(x, 0, 1); }}});
  rows_of(cases, "pad",
          {{{1}, "0: 1, 0", [](const Tensor& x) { return pad(x, 0, 1, 0); }},
           {{3}, "0: 0, 2", [](const Tensor& x) { return pad(x, 0, 0, 2); }},
           {{3}, "0: 0, 0", [](const Tensor& x) { return pad(x, 0, 0, 0); }},
           {{2, 3}, "1: 1, 2", [](const Tensor& x) { return pad(x, 1, 1, 2, real(0.5)); }},
           {{2, 3}, "0: 2, 1", [](const Tensor& x) { return pad(x, 0, 2, 1); }},
           {{2, 3, 2}, "-2: 1, 1", [](const Tensor& x) { return pad(x, -2, 1, 1); }},
           {{2, 2, 3, 2}, "3: 0, 1", [](const Tensor& x) { return pad(x, 3, 0, 1); }},
           {{0, 2}, "0: 1, 1", [](const Tensor& x) { return pad(x, 0, 1, 1); }}});
}

void gather_rows(Cases& cases) {
  struct Row {
    Shape shape;
    int axis;
    Indices indices;
  };
  const std::vector<Row> rows{{{3}, 0, {2, 0, 2}},
                              {{2, 3}, 1, {{2, 2}, {0, 2, 1, 1}}},
                              {{2, 3}, 0, {{4, 3}, {0, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 0}}},
                              {{2, 4, 3}, 1, {{2, 2}, {3, 0, 2, 2}}},
                              {{2, 3, 2}, 1, {{2, 1, 2}, {2, 0, 1, 1}}},
                              {{2, 3, 2}, -1, {{2, 3, 1}, {0, 1, 1, 0, 0, 1}}},
                              {{2, 3, 2, 2}, 1, {{2, 3}, {0, 0, 0, 2, 1, 0}}},
                              {{2, 3}, 1, {{2, 0}, {}}},
                              {{0, 3}, 1, {{0, 2}, {}}}};
  std::vector<Case> gathers;
  for (const Row& row : rows) {
    gathers.push_back({row.shape,
                       fmt::format("axis {}, indices {}", row.axis, to_string(row.indices.shape())),
                       [row](const Tensor& x) { return gather(x, row.axis, row.indices); }});
  }
  rows_of(cases, "gather", gathers);

  std::vector<Case> embeddings;
  for (const auto& [table, indices] :
       std::vector<std::pair<Shape, Indices>>{{{1, 1}, {0}},
                                              {{3, 2}, {2, 0}},
                                              {{3, 2}, {1, 1, 1}},
                                              {{4, 3}, {{2, 2}, {3, 0, 3, 1}}},
                                              {{4, 3}, {Shape{}, {2}}},
                                              {{2, 5}, {{1, 2, 1}, {1, 0}}},
                                              {{3, 2}, {{0, 2}, {}}},
                                              {{5, 1}, {4, 3, 2, 1, 0}}}) {
    embeddings.push_back({table, "indices " + to_string(indices.shape()),
                          [ids = indices](const Tensor& w) { return embedding(ids, w); }});
  }
  rows_of(cases, "embedding", embeddings);

  std::vector<Case> fills;
  for (const auto& [shape, mask] :
       std::vector<std::pair<Shape, Array>>{{{}, scalar(0)},
                                            {{3}, array({3}, {0, 1, 0})},
                                            {{2, 3}, array({3}, {1, 0, 0})},
                                            {{2, 3}, array({2, 1}, {0, 1})},
                                            {{2, 3}, array({2, 3}, {0, 1, 1, 0, -2, 0})},
                                            {{2, 3, 2}, array({3, 1}, {1, 0, 1})},
                                            {{2, 2, 1, 2}, array({1, 2}, {0, 1})},
                                            {{0, 3}, array({3}, {1, 0, 1})}}) {
    fills.push_back({shape, "mask " + to_string(mask.shape()),
                     [m = mask](const Tensor& x) { return masked_fill(x, m, real(-0.7)); }});
  }
  rows_of(cases, "masked_fill", fills);
}

void pool_rows(Cases& cases) {
  struct Row {
    Shape shape;
    std::size_t size, stride, padding;
  };
  std::vector<Case> means;
  std::vector<Case> largest;
  for (const Row& row : std::vector<Row>{{{1, 1, 1, 1}, 1, 0, 0},
                                         {{1, 1, 4, 4}, 2, 0, 0},
                                         {{2, 3, 4, 6}, 2, 2, 0},
                                         {{2, 1, 5, 4}, 3, 1, 0},
                                         {{1, 2, 4, 5}, 3, 2, 1},
                                         {{1, 1, 5, 5}, 2, 3, 0},
                                         {{2, 2, 3, 3}, 3, 1, 1},
                                         {{0, 2, 4, 4}, 2, 0, 0},
                                         {{2, 1, 7, 3}, 2, 2, 1}}) {
    const std::string attributes =
        fmt::format("size {}, stride {}, padding {}", row.size, row.stride, row.padding);
    means.push_back({row.shape, attributes, [row](const Tensor& x) {
                       return avg_pool2d(x, row.size, row.stride, row.padding);
                     }});
    largest.push_back({row.shape, attributes, [row](const Tensor& x) {
                         return max_pool2d(x, row.size, row.stride, row.padding);
                       }});
  }
  rows_of(cases, "avg_pool2d", means);
  rows_of(cases, "max_pool2d", largest);
}

void option_rows(Cases& cases) {
  const Indices labels{1, -100, 2, 1};
  for (const Reduction reduction : {Reduction::mean, Reduction::sum, Reduction::none}) {
    for (const double e : {0.0, 0.2}) {
      for (const bool weighed : {false, true}) {
        add_row(cases, "cross_entropy", {{4, 3}},
                fmt::format("{}row ignored, smoothing {}, reduction {}", weighed ? "weights, " : "",
                            e, static_cast<int>(reduction)),
                [=](const Inputs& x) {
                  const Tensor w = weighed ? Tensor(array({3}, {0.5, 2, 1})) : Tensor();
                  return cross_entropy(x[0], labels,
                                       {.weights = w,
                                        .ignore_index = -100,
                                        .label_smoothing = e,
                                        .reduction = reduction});
                });
      }
    }
  }

  std::vector<Case> rows;
  for (const Shape& shape :
       std::vector<Shape>{{}, {1}, {5}, {2, 3}, {2, 1, 3}, {2, 3, 1, 2}, {4, 4, 2}, {0, 3}}) {
    const Array targets = random_uniform(shape, 0, 1, 7);
    const Reduction reduction = shape.size() == 1   ? Reduction::sum
                                : shape.size() == 2 ? Reduction::none
                                : shape.size() == 0 ? Reduction::none
                                                    : Reduction::mean;
    rows.push_back(
        {shape, "", [=](const Tensor& x) { return bce_with_logits(x, targets, reduction); }});
  }
  rows_of(cases, "bce_with_logits", rows);
}

}  // namespace

std::vector<GradcheckCase> pick_cases() {
  Cases cases;
  axis_rows(cases);
  gather_rows(cases);
  pool_rows(cases);
  option_rows(cases);
  return cases;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
