// The rows of the fused functions: each at eight shapes or more, one of them using the op twice on
// the same inputs, so that a lost accumulation shows.

#include "vitruvian/core/check/rows.hpp"

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

void linear_rows(Cases& cases) {
  const Function f = [](const Inputs& x) {
    return linear(x[0], x[1], optional(x, x.size() > 2, 2));
  };
  const Function with_gelu = [](const Inputs& x) {
    return linear_gelu(x[0], x[1], optional(x, x.size() > 2, 2));
  };
  for (const std::vector<Shape>& shapes :
       std::vector<std::vector<Shape>>{{{2, 3}, {4, 3}, {4}},
                                       {{2, 3}, {4, 3}},
                                       {{3}, {2, 3}, {2}},
                                       {{2, 3, 4}, {5, 4}, {5}},
                                       {{2, 1, 3, 2}, {2, 2}, {2}},
                                       {{1, 1}, {1, 1}, {1}},
                                       {{7, 1}, {3, 1}},
                                       {{0, 3}, {2, 3}, {2}},
                                       {{2, 0}, {3, 0}, {3}},
                                       {{33, 17}, {9, 17}, {9}}}) {
    add_row(cases, "linear", shapes, "", f);
    add_row(cases, "linear_gelu", shapes, "", with_gelu);
  }
  add_twice(cases, "linear", {{2, 3}, {4, 3}, {4}}, f);
  add_twice(cases, "linear_gelu", {{2, 3}, {4, 3}, {4}}, with_gelu);
}

void softmax_rows(Cases& cases) {
  const std::vector<std::pair<Shape, int>> places{
      {{3, 4}, -1}, {{3, 4}, 0}, {{5}, 0},    {{}, -1},      {{2, 3, 4}, 1},  {{2, 1, 3, 2}, 2},
      {{3, 1}, -1}, {{0, 3}, 1}, {{2, 0}, 1}, {{4, 33}, -1}, {{2, 17, 3}, -2}};
  for (const auto& [shape, a] : places) {
    const int axis = a;
    const std::string label = fmt::format("axis {}", axis);
    add_row(cases, "softmax", {shape}, label,
            [axis](const Inputs& x) { return softmax(x[0], axis); });
    add_row(cases, "log_softmax", {shape}, label,
            [axis](const Inputs& x) { return log_softmax(x[0], axis); });
  }
  add_twice(cases, "softmax", {{3, 4}}, [](const Inputs& x) { return softmax(x[0]); });
  add_twice(cases, "log_softmax", {{3, 4}}, [](const Inputs& x) { return log_softmax(x[0]); });
}

// Layer norm at one shape.
struct NormRow {
  Shape x, over;
  bool weight, bias;

  // Of x and the parameters that there are.
  [[nodiscard]] std::vector<Shape> shapes() const {
    std::vector<Shape> result{x};
    if (weight) result.push_back(over);
    if (bias) result.push_back(over);
    return result;
  }
  [[nodiscard]] std::string attributes() const {
    return "over " + to_string(over) + (bias && !weight ? ", bias only" : "");
  }
  [[nodiscard]] Tensor norm(const Inputs& in) const {
    return layer_norm(in[0], over, optional(in, weight, 1), optional(in, bias, weight ? 2 : 1),
                      1e-2);
  }
};

void layer_norm_rows(Cases& cases) {
  const std::vector<NormRow> rows{{{2, 5}, {5}, true, true},
                                  {{2, 5}, {5}, false, false},
                                  {{2, 5}, {5}, true, false},
                                  {{2, 5}, {5}, false, true},
                                  {{7}, {7}, true, true},
                                  {{2, 3, 5}, {3, 5}, true, true},
                                  {{2, 2, 2, 3}, {2, 3}, true, false},
                                  {{2, 3, 4}, {2, 3, 4}, false, true},
                                  {{3, 1}, {1}, true, true},
                                  {{0, 4}, {4}, true, true},
                                  {{3, 2, 33}, {33}, true, true},
                                  {{20, 6}, {6}, true, true}};
  for (const NormRow& row : rows) {
    add_row(cases, "layer_norm", row.shapes(), row.attributes(),
            [row](const Inputs& x) { return row.norm(x); });
  }
  add_twice(cases, "layer_norm", {{2, 5}, {5}, {5}},
            [](const Inputs& x) { return layer_norm(x[0], {5}, x[1], x[2], 1e-2); });
}

void batch_norm_rows(Cases& cases) {
  const Function both = [](const Inputs& x) { return batch_norm(x[0], x[1], x[2], 1e-2); };
  for (const Shape& shape : std::vector<Shape>{
           {4, 3}, {5, 1}, {3, 2, 4}, {2, 3, 2, 2}, {1, 2, 3}, {1, 2}, {0, 2}, {17, 5}}) {
    add_row(cases, "batch_norm", {shape, {shape[1]}, {shape[1]}}, "", both);
  }
  add_row(cases, "batch_norm", {{4, 3}}, "",
          [](const Inputs& x) { return batch_norm(x[0], {}, {}, 1e-2); });
  add_row(cases, "batch_norm", {{2, 3, 2}, {3}}, "",
          [](const Inputs& x) { return batch_norm(x[0], x[1], {}, 1e-2); });
  add_row(cases, "batch_norm", {{2, 3, 2}, {3}}, "bias only",
          [](const Inputs& x) { return batch_norm(x[0], {}, x[1], 1e-2); });
  add_twice(cases, "batch_norm", {{4, 3}, {3}, {3}}, both);
}

void gelu_rows(Cases& cases) {
  const Function exact = [](const Inputs& x) { return gelu(x[0]); };
  const Function approximate = [](const Inputs& x) { return gelu_tanh(x[0]); };
  for (const Shape& shape :
       std::vector<Shape>{{}, {1}, {9}, {3, 4}, {2, 3, 4}, {2, 1, 3, 2}, {0}, {2, 0, 3}, {5, 33}}) {
    add_row(cases, "gelu", {shape}, "", exact);
    add_row(cases, "gelu_tanh", {shape}, "", approximate);
  }
  add_twice(cases, "gelu", {{3, 4}}, exact);
  add_twice(cases, "gelu_tanh", {{3, 4}}, approximate);
}

void dropout_rows(Cases& cases) {
  const std::vector<std::pair<Shape, double>> places{
      {{}, 0.3},           {{1}, 0.1},    {{9}, 0.5},    {{3, 4}, 0.3}, {{2, 3, 4}, 0.9},
      {{2, 1, 3, 2}, 0.5}, {{0, 3}, 0.5}, {{3, 4}, 0.0}, {{3, 4}, 1.0}, {{7, 33}, 0.2}};
  for (const auto& [shape, probability] : places) {
    const double p = probability;
    add_row(cases, "dropout", {shape}, fmt::format("p {}", p),
            [p](const Inputs& x) { return dropout(x[0], p, Rng(7)); });
  }
  add_twice(cases, "dropout", {{3, 4}}, [](const Inputs& x) { return dropout(x[0], 0.3, Rng(7)); });
  for (const auto& [shape, probability] : places) {
    const double p = probability;
    if (shape.empty()) continue;  // no images
    add_row(cases, "stochastic_depth", {shape}, fmt::format("p {}", p),
            [p](const Inputs& x) { return stochastic_depth(x[0], p, Rng(7)); });
  }
  add_twice(cases, "stochastic_depth", {{3, 4}},
            [](const Inputs& x) { return stochastic_depth(x[0], 0.3, Rng(7)); });
}

void unfold_rows(Cases& cases) {
  const std::vector<std::pair<Shape, Window>> places{{{2, 3, 4, 4}, {2, 2, 2, 2}},
                                                     {{1, 1, 1, 1}, {1, 1}},
                                                     {{1, 2, 4, 5}, {3, 2}},
                                                     {{2, 1, 5, 4}, {3, 3, 2, 1, 1, 1}},
                                                     {{1, 1, 2, 2}, {3, 3, 1, 1, 2, 2}},
                                                     {{1, 2, 5, 5}, {2, 2, 3, 3}},
                                                     {{0, 2, 4, 4}, {2, 2, 2, 2}},
                                                     {{1, 1, 1, 6}, {1, 3, 1, 2, 0, 1}},
                                                     {{1, 1, 3, 3}, {1, 1, 2, 2, 3, 3}},
                                                     {{1, 0, 3, 3}, {2, 2}}};
  for (const auto& [shape, w] : places) {
    const Window window = w;
    const std::string attributes =
        fmt::format("window {}x{}, stride {},{}, padding {},{}", w.height, w.width, w.stride_y,
                    w.stride_x, w.padding_y, w.padding_x);
    add_row(cases, "unfold", {shape}, attributes,
            [window](const Inputs& x) { return unfold(x[0], window); });
  }
  add_twice(cases, "unfold", {{1, 2, 3, 3}}, [](const Inputs& x) { return unfold(x[0], {2, 2}); });
}

void conv2d_rows(Cases& cases) {
  struct Row {
    std::vector<Shape> shapes;
    Stride stride;
    std::size_t padding;
  };
  for (const Row& row : std::vector<Row>{{{{2, 2, 4, 4}, {3, 2, 2, 2}, {3}}, 2, 0},
                                         {{{1, 1, 1, 1}, {1, 1, 1, 1}, {1}}, 1, 0},
                                         {{{1, 2, 4, 3}, {2, 2, 3, 2}}, 1, 0},
                                         {{{2, 1, 4, 4}, {2, 1, 3, 3}, {2}}, 2, 1},
                                         {{{1, 1, 2, 2}, {1, 1, 3, 3}, {1}}, 1, 2},
                                         {{{1, 2, 5, 5}, {2, 2, 2, 2}}, 3, 0},
                                         {{{0, 1, 3, 3}, {2, 1, 2, 2}, {2}}, 1, 0},
                                         {{{3, 3, 2, 2}, {4, 3, 1, 1}, {4}}, 1, 0},
                                         {{{1, 0, 3, 3}, {2, 0, 2, 2}, {2}}, 1, 0},
                                         {{{1, 2, 4, 3}, {2, 2, 2, 1}, {2}}, {2, 1}, 0}}) {
    const std::string attributes =
        fmt::format("stride {},{}, padding {}", row.stride.y, row.stride.x, row.padding);
    add_row(cases, "conv2d", row.shapes, attributes, [row](const Inputs& x) {
      return conv2d(x[0], x[1], optional(x, x.size() > 2, 2), row.stride, row.padding);
    });
  }
  add_twice(cases, "conv2d", {{1, 1, 3, 3}, {2, 1, 2, 2}, {2}},
            [](const Inputs& x) { return conv2d(x[0], x[1], x[2]); });
}

}  // namespace

std::vector<GradcheckCase> layer_cases() {
  Cases cases;
  linear_rows(cases);
  softmax_rows(cases);
  layer_norm_rows(cases);
  batch_norm_rows(cases);
  gelu_rows(cases);
  dropout_rows(cases);
  unfold_rows(cases);
  conv2d_rows(cases);
  attention_rows(cases);
  loss_rows(cases);
  return cases;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
