// The rows of the reductions, of the matrix product, and of the ops that move or pick elements.

#include "vitruvian/core/check/rows.hpp"

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

// Distinct numbers: the largest of a group or a window stays the largest.
Array distinct(const Shape& shape, std::uint64_t seed) { return random_distinct(shape, 0.1, seed); }

using Reduce = Tensor (*)(const Tensor&, const Axes&, bool keepdim);

void reduce_rows(Cases& cases, const char* op, Reduce f, bool of_nothing,
                 const Make& make = random_normal) {
  At<Axes> places{{{3, 4}, {0}},       {{}, {}},         {{1}, {0}},
                  {{5}, {}},           {{3, 4}, {-1}},   {{3, 4}, {}},
                  {{2, 3, 4}, {0, 2}}, {{2, 3, 4}, {1}}, {{2, 3, 1, 2}, {-1, 1}},
                  {{2, 1, 3, 2}, {1}}, {{3, 0}, {0}}};
  if (of_nothing) places.push_back({{0, 3}, {0}});
  for (const bool keepdim : {false, true}) {
    add_rows(
        cases, op, keepdim ? "over {}, keepdim" : "over {}", places,
        [=](const Tensor& x, const Axes& axes) { return f(x, axes, keepdim); }, make);
  }
}

void reduction_rows(Cases& cases) {
  reduce_rows(cases, "sum", sum, true);
  reduce_rows(cases, "mean", mean, false);
  reduce_rows(
      cases, "var",
      [](const Tensor& x, const Axes& axes, bool keep) { return var(x, axes, 0, keep); }, false);
  add_rows(cases, "var", "over (-1), correction {}", At<int>{{{3, 4}, 1}, {{3, 4}, 2}},
           [](const Tensor& x, int correction) { return var(x, {-1}, correction); });
  reduce_rows(cases, "amax", amax, false, distinct);
  reduce_rows(cases, "logsumexp", logsumexp, true);
}

void matmul_rows(Cases& cases) {
  const std::vector<Shapes> places{
      {{2, 1, 2, 3}, {3, 3, 2}},    {{2, 3}, {3, 4}}, {{0, 2}, {2, 3}},    {{3}, {3}},
      {{2, 2, 3}, {2, 3, 2}},       {{1, 1}, {1, 5}}, {{17, 9}, {9, 33}},  {{1}, {1}},
      {{1, 1, 2, 3}, {3, 2}},       {{3}, {2, 3, 2}}, {{2, 2, 3}, {3, 2}}, {{3}, {3, 2}},
      {{1, 2, 3}, {2, 2, 3, 1}},    {{2, 2, 3}, {3}}, {{2, 3}, {2, 3, 2}}, {{2, 3}, {3}},
      {{2, 3, 1, 2}, {2, 1, 2, 2}}, {{2, 0}, {0, 3}}, {{0, 2, 3}, {3, 2}}};
  add_rows(cases, "matmul", places, [](const Inputs& x) { return matmul(x[0], x[1]); });
  add_row(cases, "matmul", {{3, 3}}, "a a", [](const Inputs& x) { return matmul(x[0], x[0]); });
}

void permutation_rows(Cases& cases) {
  const At<int, int> exchanges{{{2, 3}, -2, -1},   {{2, 3}, 0, 0},       {{2, 3, 4}, 0, 2},
                               {{2, 3, 4}, 1, -1}, {{2, 1, 3, 2}, 1, 2}, {{2, 3, 2, 2}, 0, 3},
                               {{1, 1}, 0, 1},     {{1}, 0, 0},          {{0, 3}, 0, 1}};
  add_rows(cases, "transpose", "axes ({}, {})", exchanges, transpose);
  const At<Axes> orders{{{2, 3, 4}, {2, 0, 1}}, {{}, {}},    {{3, 0, 2}, {2, 0, 1}},
                        {{2, 3}, {1, 0}},       {{1}, {0}},  {{2, 3, 2, 2}, {0, 2, 1, 3}},
                        {{2, 3, 4}, {1, 0, 2}}, {{4}, {-1}}, {{2, 3, 1, 2}, {3, -2, 1, 0}}};
  add_rows(cases, "permute", "order {}", orders, permute);
  const At<int, int> rolls{
      {{2, 3}, 1, -1}, {{1}, 1, 0},       {{5}, 2, 0},           {{5}, -7, 0},   {{3, 4}, 1, 1},
      {{3, 4}, -1, 0}, {{2, 3, 2}, 5, 1}, {{2, 3, 4, 2}, 2, -2}, {{0, 3}, 1, 0}, {{2, 3}, 0, 1}};
  add_rows(cases, "roll", "by {} along {}", rolls, roll);
}

void reshape_rows(Cases& cases) {
  const At<std::vector<std::ptrdiff_t>> reshapes{
      {{2, 3}, {3, -1}},       {{}, {1, 1}},           {{1}, {}},
      {{6}, {2, 3}},           {{2, 3}, {-1}},         {{2, 3, 4}, {4, 6}},
      {{2, 1, 3, 2}, {-1, 2}}, {{4, 3}, {2, 2, 3, 1}}, {{0, 3}, {3, 0}},
      {{0, 3}, {-1, 3}}};
  add_rows(cases, "reshape", "to {}", reshapes, reshape);
  const At<Shape> stretches{{{2, 1}, {2, 3}},       {{}, {}},
                            {{}, {2, 3}},           {{1}, {4}},
                            {{3}, {2, 3}},          {{2, 1, 3}, {2, 2, 2, 3}},
                            {{1, 3, 1}, {2, 3, 2}}, {{2, 3}, {2, 3}},
                            {{1, 3}, {0, 3}}};
  add_rows(cases, "broadcast_to", "to {}", stretches, broadcast_to);
  const At<int> squeezed{{{2, 1, 3}, 1}, {{1}, 0},    {{1, 3}, 0}, {{3, 1}, -1},
                         {{2, 3, 1}, 2}, {{1, 1}, 1}, {{0, 1}, 1}, {{2, 1, 3, 2}, -3}};
  add_rows(cases, "squeeze", "axis {}", squeezed, squeeze);
  const At<int> added{{{2, 3}, 1}, {Shape{}, 0}, {Shape{}, -1},  {{3}, 0},
                      {{3}, 1},    {{2, 3}, -1}, {{2, 3, 2}, 0}, {{0, 2}, 1}};
  add_rows(cases, "unsqueeze", "axis {}", added, unsqueeze);
  const At<int> first{{{2, 3}, 0},     {Shape{}, 0},   {{3}, 0},          {{2, 3, 2}, 1},
                      {{2, 3, 2}, -2}, {{2, 1, 3}, 2}, {{2, 2, 3, 2}, 1}, {{0, 3, 2}, 1}};
  add_rows(cases, "flatten", "from axis {}", first,
           [](const Tensor& x, int axis) { return flatten(x, axis); });
}

void slice_rows(Cases& cases) {
  constexpr std::ptrdiff_t end = slice_end;
  const At<int, std::ptrdiff_t, std::ptrdiff_t, std::ptrdiff_t> slices{
      {{5}, 0, 1, 4, 1},         {{5}, 0, 0, end, 2},        {{5}, 0, -1, end, -1},
      {{1}, 0, 0, 1, 1},         {{2, 7}, 1, 5, 0, -2},      {{4, 3}, 0, -3, -1, 1},
      {{2, 3, 4}, 1, 1, end, 1}, {{2, 3, 4}, -1, 0, end, 3}, {{2, 2, 3, 2}, 2, 0, 2, 1},
      {{4}, 0, 3, 1, 1},         {{0, 3}, 1, 0, 2, 1}};
  add_rows(cases, "slice", "axis {}, {}:{}:{}", slices, slice);
  const At<int, std::ptrdiff_t> selected{
      {{2, 3}, 0, 1},       {{1}, 0, 0},           {{4}, 0, -1},
      {{2, 3}, 1, -2},      {{2, 3, 4}, 1, 2},     {{2, 3, 4}, -1, 0},
      {{2, 3, 1, 2}, 2, 0}, {{2, 2, 3, 2}, 0, -1}, {{0, 3}, 1, 2}};
  add_rows(cases, "select", "axis {}, index {}", selected, select);
  const At<int, std::ptrdiff_t, std::ptrdiff_t, real> pads{
      {{2, 3}, 1, 1, 2, 0.5},     {{1}, 0, 1, 0, 0},    {{3}, 0, 0, 2, 0},
      {{3}, 0, 0, 0, 0},          {{2, 3}, 0, 2, 1, 0}, {{2, 3, 2}, -2, 1, 1, 0},
      {{2, 2, 3, 2}, 3, 0, 1, 0}, {{0, 2}, 0, 1, 1, 0}};
  add_rows(cases, "pad", "axis {}, {} before, {} after, of {}", pads, pad);
}

void join_rows(Cases& cases) {
  const AtAll<int> joins{{{{2, 3}, {2, 1}}, 1},
                         {{{2}, {3}}, 0},
                         {{{1}}, 0},
                         {{{2, 3}, {1, 3}}, 0},
                         {{{2, 3}, {2, 1}, {2, 2}}, -1},
                         {{{2, 1, 3}, {2, 2, 3}}, 1},
                         {{{2, 2, 1, 2}, {2, 2, 2, 2}}, 2},
                         {{{0, 3}, {2, 3}}, 0},
                         {{{0, 3}, {0, 2}}, 1}};
  add_rows(cases, "concat", "axis {}", joins, concat);
  add_row(cases, "concat", {{2, 3}}, "a, a", [](const Inputs& x) {
    return concat({x[0], x[0]}, 0);
  });
  const AtAll<int> stacks{
      {{{3}, {3}}, 1}, {{{3}, {3}}, 0},      {{{2, 3}, {2, 3}}, 1}, {{{2, 3}, {2, 3}}, -1},
      {{{}}, -1},      {{{3}, {3}, {3}}, 1}, {{{0, 3}, {0, 3}}, 1}, {{{2, 1, 3}, {2, 1, 3}}, 0},
      {{{}, {}}, 0}};
  add_rows(cases, "stack", "axis {}", stacks, stack);
  add_row(cases, "stack", {{2, 3}}, "a, a", [](const Inputs& x) { return stack({x[0], x[0]}, 1); });
  const At<int, std::vector<std::size_t>> pieces{{{5}, 0, {2, 3}},       {{1}, 0, {1}},
                                                 {{5}, 0, {5}},          {{5}, 0, {0, 4, 1}},
                                                 {{4, 3}, 0, {1, 3}},    {{2, 6}, -1, {2, 2, 2}},
                                                 {{2, 3, 2}, 1, {1, 2}}, {{2, 2, 3, 2}, 2, {2, 1}},
                                                 {{0, 3}, 1, {1, 2}}};
  add_rows(cases, "split", "axis {}, lengths {}", pieces,
           [](const Tensor& x, int axis, const std::vector<std::size_t>& lengths) {
             // The pieces meet again in a sum of squares, so that all of them are seen at once.
             Tensor total = scalar(0);
             double weight = 1;
             for (const Tensor& piece : split(x, lengths, axis)) {
               total += sum(square(piece)) * weight++;
             }
             return total;
           });
}

void pick_rows(Cases& cases) {
  const At<int, Indices> chosen{{{3, 2}, 0, {2, 0, 2}},    {{1}, 0, {0}},
                                {{4}, 0, {3, 1}},          {{4}, 0, {2, 2, 2, 0}},
                                {{2, 3}, 0, {1, 0, 1}},    {{2, 3}, -1, {2, 0}},
                                {{2, 3, 4}, 1, {0, 2, 0}}, {{2, 3, 1, 2}, 3, {1, 1}},
                                {{2, 3}, 1, {}},           {{0, 3}, 1, {0, 1}}};
  add_rows(cases, "index_select", "axis {}, indices {}", chosen, index_select);
  const At<int, Indices> gathers{{{2, 3}, 1, {{2, 2}, {0, 2, 1, 1}}},
                                 {{3}, 0, {2, 0, 2}},
                                 {{2, 3}, 0, {{4, 3}, {0, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 0}}},
                                 {{2, 4, 3}, 1, {{2, 2}, {3, 0, 2, 2}}},
                                 {{2, 3, 2}, 1, {{2, 1, 2}, {2, 0, 1, 1}}},
                                 {{2, 3, 2}, -1, {{2, 3, 1}, {0, 1, 1, 0, 0, 1}}},
                                 {{2, 3, 2, 2}, 1, {{2, 3}, {0, 0, 0, 2, 1, 0}}},
                                 {{2, 3}, 1, {{2, 0}, {}}},
                                 {{0, 3}, 1, {{0, 2}, {}}}};
  add_rows(cases, "gather", "axis {}, indices {}", gathers, gather);
  const At<Indices> embeddings{{{3, 2}, {1, 1, 1}},      {{1, 1}, {0}},
                               {{3, 2}, {2, 0}},         {{4, 3}, {{2, 2}, {3, 0, 3, 1}}},
                               {{4, 3}, {Shape{}, {2}}}, {{2, 5}, {{1, 2, 1}, {1, 0}}},
                               {{3, 2}, {{0, 2}, {}}},   {{5, 1}, {4, 3, 2, 1, 0}}};
  add_rows(cases, "embedding", "indices {}", embeddings,
           [](const Tensor& w, const Indices& indices) { return embedding(indices, w); });
  const At<Array> masks{{{2, 3}, array({3}, {1, 0, 0})},
                        {Shape{}, scalar(0)},
                        {{3}, array({3}, {0, 1, 0})},
                        {{2, 3}, array({2, 1}, {0, 1})},
                        {{2, 3}, array({2, 3}, {0, 1, 1, 0, -2, 0})},
                        {{2, 3, 2}, array({3, 1}, {1, 0, 1})},
                        {{2, 2, 1, 2}, array({1, 2}, {0, 1})},
                        {{0, 3}, array({3}, {1, 0, 1})}};
  add_rows(cases, "masked_fill", "mask {}", masks,
           [](const Tensor& x, const Array& mask) { return masked_fill(x, mask, real(-0.7)); });
}

void pool_rows(Cases& cases) {
  const At<std::size_t, std::size_t, std::size_t> windows{
      {{1, 1, 4, 4}, 2, 0, 0}, {{1, 1, 1, 1}, 1, 0, 0}, {{2, 3, 4, 6}, 2, 2, 0},
      {{2, 1, 5, 4}, 3, 1, 0}, {{1, 2, 4, 5}, 3, 2, 1}, {{1, 1, 5, 5}, 2, 3, 0},
      {{2, 2, 3, 3}, 3, 1, 1}, {{0, 2, 4, 4}, 2, 0, 0}, {{2, 1, 7, 3}, 2, 2, 1}};
  const char* const names = "size {}, stride {}, padding {}";
  add_rows(cases, "avg_pool2d", names, windows, avg_pool2d, distinct);
  add_rows(cases, "max_pool2d", names, windows, max_pool2d, distinct);
}

}  // namespace

void shape_rows(Cases& cases) {
  reduction_rows(cases);
  matmul_rows(cases);
  permutation_rows(cases);
  reshape_rows(cases);
  slice_rows(cases);
  join_rows(cases);
  pick_rows(cases);
  pool_rows(cases);
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
