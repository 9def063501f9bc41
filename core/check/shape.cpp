// The rows of the ops that move elements: each at eight shapes or more, one of them using the op
// twice on the same inputs.

#include "vitruvian/core/check/rows.hpp"

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

void permutation_rows(Cases& cases) {
  for (const Place& place : std::vector<Place>{{{2, 3}, {-2, -1}},
                                               {{2, 3}, {0, 0}},
                                               {{2, 3, 4}, {0, 2}},
                                               {{2, 3, 4}, {1, -1}},
                                               {{2, 1, 3, 2}, {1, 2}},
                                               {{2, 3, 2, 2}, {0, 3}},
                                               {{1, 1}, {0, 1}},
                                               {{1}, {0, 0}},
                                               {{0, 3}, {0, 1}}}) {
    add_row(cases, "transpose", {place.shape}, named("axes", place.axes),
            [a = place.axes](const Inputs& x) { return transpose(x[0], a[0], a[1]); });
  }
  add_twice(cases, "transpose", {{2, 3}}, [](const Inputs& x) { return transpose(x[0]); });

  for (const Place& place : std::vector<Place>{{{}, {}},
                                               {{1}, {0}},
                                               {{4}, {-1}},
                                               {{2, 3}, {1, 0}},
                                               {{2, 3, 4}, {2, 0, 1}},
                                               {{2, 3, 4}, {1, 0, 2}},
                                               {{2, 3, 2, 2}, {0, 2, 1, 3}},
                                               {{2, 3, 1, 2}, {3, -2, 1, 0}},
                                               {{3, 0, 2}, {2, 0, 1}}}) {
    add_row(cases, "permute", {place.shape}, named("order", place.axes),
            [order = place.axes](const Inputs& x) { return permute(x[0], order); });
  }
  add_twice(cases, "permute", {{2, 3, 2}}, [](const Inputs& x) {
    return permute(x[0], {1, 2, 0});
  });
}

void reshape_rows(Cases& cases) {
  using Lengths = std::vector<std::ptrdiff_t>;
  for (const auto& [shape, lengths] :
       std::vector<std::pair<Shape, Lengths>>{{{}, {1, 1}},
                                              {{1}, {}},
                                              {{6}, {2, 3}},
                                              {{2, 3}, {-1}},
                                              {{2, 3}, {3, -1}},
                                              {{2, 3, 4}, {4, 6}},
                                              {{2, 1, 3, 2}, {-1, 2}},
                                              {{4, 3}, {2, 2, 3, 1}},
                                              {{0, 3}, {3, 0}},
                                              {{0, 3}, {-1, 3}}}) {
    add_row(cases, "reshape", {shape}, fmt::format("to ({})", fmt::join(lengths, ", ")),
            [to = lengths](const Inputs& x) { return reshape(x[0], to); });
  }
  add_twice(cases, "reshape", {{2, 3}}, [](const Inputs& x) { return reshape(x[0], {6}); });

  for (const auto& [shape, wider] : std::vector<std::pair<Shape, Shape>>{{{}, {}},
                                                                         {{}, {2, 3}},
                                                                         {{1}, {4}},
                                                                         {{3}, {2, 3}},
                                                                         {{2, 1}, {2, 3}},
                                                                         {{2, 1, 3}, {2, 2, 2, 3}},
                                                                         {{1, 3, 1}, {2, 3, 2}},
                                                                         {{2, 3}, {2, 3}},
                                                                         {{1, 3}, {0, 3}}}) {
    add_row(cases, "broadcast_to", {shape}, "to " + to_string(wider),
            [to = wider](const Inputs& x) { return broadcast_to(x[0], to); });
  }
  add_twice(cases, "broadcast_to", {{3, 1}}, [](const Inputs& x) {
    return broadcast_to(x[0], {2, 3, 2});
  });
}

void slice_rows(Cases& cases) {
  struct Row {
    Shape shape;
    int axis;
    std::ptrdiff_t start, stop, step;
  };
  for (const Row& row : std::vector<Row>{{{5}, 0, 1, 4, 1},
                                         {{5}, 0, 0, slice_end, 2},
                                         {{5}, 0, -1, slice_end, -1},
                                         {{1}, 0, 0, 1, 1},
                                         {{2, 7}, 1, 5, 0, -2},
                                         {{4, 3}, 0, -3, -1, 1},
                                         {{2, 3, 4}, 1, 1, slice_end, 1},
                                         {{2, 3, 4}, -1, 0, slice_end, 3},
                                         {{2, 2, 3, 2}, 2, 0, 2, 1},
                                         {{4}, 0, 3, 1, 1},
                                         {{0, 3}, 1, 0, 2, 1}}) {
    add_row(
        cases, "slice", {row.shape},
        fmt::format("axis {}, {}:{}:{}", row.axis, row.start,
                    row.stop == slice_end ? "" : std::to_string(row.stop), row.step),
        [row](const Inputs& x) { return slice(x[0], row.axis, row.start, row.stop, row.step); });
  }
  add_twice(cases, "slice", {{2, 5}}, [](const Inputs& x) { return slice(x[0], 1, 1, 5, 2); });

  struct Index {
    Shape shape;
    int axis;
    std::ptrdiff_t i;
  };
  for (const Index& row : std::vector<Index>{{{1}, 0, 0},
                                             {{4}, 0, -1},
                                             {{2, 3}, 0, 1},
                                             {{2, 3}, 1, -2},
                                             {{2, 3, 4}, 1, 2},
                                             {{2, 3, 4}, -1, 0},
                                             {{2, 3, 1, 2}, 2, 0},
                                             {{2, 2, 3, 2}, 0, -1},
                                             {{0, 3}, 1, 2}}) {
    add_row(cases, "select", {row.shape}, fmt::format("axis {}, index {}", row.axis, row.i),
            [row](const Inputs& x) { return select(x[0], row.axis, row.i); });
  }
  add_twice(cases, "select", {{2, 3}}, [](const Inputs& x) { return select(x[0], 1, 1); });

  struct Chosen {
    Shape shape;
    int axis;
    std::vector<std::size_t> indices;
  };
  for (const Chosen& row : std::vector<Chosen>{{{1}, 0, {0}},
                                               {{4}, 0, {3, 1}},
                                               {{4}, 0, {2, 2, 2, 0}},
                                               {{2, 3}, 0, {1, 0, 1}},
                                               {{2, 3}, -1, {2, 0}},
                                               {{2, 3, 4}, 1, {0, 2, 0}},
                                               {{2, 3, 1, 2}, 3, {1, 1}},
                                               {{2, 3}, 1, {}},
                                               {{0, 3}, 1, {0, 1}}}) {
    add_row(cases, "index_select", {row.shape},
            fmt::format("axis {}, [{}]", row.axis, fmt::join(row.indices, ", ")),
            [row](const Inputs& x) { return index_select(x[0], row.axis, row.indices); });
  }
  add_twice(cases, "index_select", {{3, 2}}, [](const Inputs& x) {
    return index_select(x[0], 0, {2, 0, 2});
  });
}

void join_rows(Cases& cases) {
  struct Row {
    std::vector<Shape> shapes;
    int axis;
  };
  for (const Row& row : std::vector<Row>{{{{2}, {3}}, 0},
                                         {{{1}}, 0},
                                         {{{2, 3}, {1, 3}}, 0},
                                         {{{2, 3}, {2, 1}, {2, 2}}, -1},
                                         {{{2, 1, 3}, {2, 2, 3}}, 1},
                                         {{{2, 2, 1, 2}, {2, 2, 2, 2}}, 2},
                                         {{{0, 3}, {2, 3}}, 0},
                                         {{{0, 3}, {0, 2}}, 1}}) {
    add_row(cases, "concat", row.shapes, fmt::format("axis {}", row.axis),
            [axis = row.axis](const Inputs& x) { return concat(x, axis); });
  }
  add_row(cases, "concat", {{2, 3}}, "a, a", [](const Inputs& x) {
    return concat({x[0], x[0]}, 0);
  });
  add_twice(cases, "concat", {{2, 3}, {2, 1}}, [](const Inputs& x) { return concat(x, 1); });

  for (const Row& row : std::vector<Row>{{{{}, {}}, 0},
                                         {{{}}, -1},
                                         {{{3}, {3}}, 0},
                                         {{{3}, {3}, {3}}, 1},
                                         {{{2, 3}, {2, 3}}, -1},
                                         {{{2, 3}, {2, 3}}, 1},
                                         {{{2, 1, 3}, {2, 1, 3}}, 0},
                                         {{{0, 3}, {0, 3}}, 1}}) {
    add_row(cases, "stack", row.shapes, fmt::format("axis {}", row.axis),
            [axis = row.axis](const Inputs& x) { return stack(x, axis); });
  }
  add_row(cases, "stack", {{2, 3}}, "a, a", [](const Inputs& x) { return stack({x[0], x[0]}, 1); });
  add_twice(cases, "stack", {{3}, {3}}, [](const Inputs& x) { return stack(x, 1); });
}

void split_rows(Cases& cases) {
  struct Row {
    Shape shape;
    std::vector<std::size_t> lengths;
    int axis;
  };
  // The pieces meet again in a sum of squares, so that all of them are seen at once.
  const auto f = [](const Row& row) {
    return [row](const Inputs& x) {
      Tensor total = scalar(0);
      real weight = 1;
      for (const Tensor& piece : split(x[0], row.lengths, row.axis)) {
        total = total + sum(square(piece)) * weight;
        weight += 1;
      }
      return total;
    };
  };
  for (const Row& row : std::vector<Row>{{{1}, {1}, 0},
                                         {{5}, {2, 3}, 0},
                                         {{5}, {5}, 0},
                                         {{5}, {0, 4, 1}, 0},
                                         {{4, 3}, {1, 3}, 0},
                                         {{2, 6}, {2, 2, 2}, -1},
                                         {{2, 3, 2}, {1, 2}, 1},
                                         {{2, 2, 3, 2}, {2, 1}, 2},
                                         {{0, 3}, {1, 2}, 1}}) {
    add_row(cases, "split", {row.shape},
            fmt::format("axis {}, [{}]", row.axis, fmt::join(row.lengths, ", ")), f(row));
  }
}

}  // namespace

std::vector<GradcheckCase> shape_cases() {
  Cases cases;
  reduction_rows(cases);
  matmul_rows(cases);
  permutation_rows(cases);
  reshape_rows(cases);
  slice_rows(cases);
  join_rows(cases);
  split_rows(cases);
  return cases;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
