// The ops that move, join and pick elements, against plain loops over multi-indices.

#include "tests/core/ops/ops_testing.hpp"

using namespace vitruvian;

namespace {

// 0, 1, 2, ... : every element tells where it came from.
Array counting(const Shape& shape) {
  Array a = empty(shape);
  std::iota(a.data(), a.data() + a.size(), real{0});
  return a;
}

Indices indices_of(const Json& a) {
  return {lengths(a["shape"]), a["indices"].get<std::vector<std::ptrdiff_t>>()};
}

const Golden golden_shape({
    {"transpose",
     [](const Tensors& x, const Json& a) { return transpose(x[0], a["axis0"], a["axis1"]); }},
    {"permute",
     [](const Tensors& x, const Json& a) { return permute(x[0], a["order"].get<Axes>()); }},
    {"reshape",
     [](const Tensors& x, const Json& a) {
       return reshape(x[0], a["shape"].get<std::vector<std::ptrdiff_t>>());
     }},
    {"broadcast_to",
     [](const Tensors& x, const Json& a) { return broadcast_to(x[0], lengths(a["shape"])); }},
    {"squeeze", [](const Tensors& x, const Json& a) { return squeeze(x[0], a["axis"]); }},
    {"unsqueeze", [](const Tensors& x, const Json& a) { return unsqueeze(x[0], a["axis"]); }},
    {"flatten",
     [](const Tensors& x, const Json& a) { return flatten(x[0], a["first"], a["last"]); }},
    {"roll", [](const Tensors& x, const Json& a) { return roll(x[0], a["shift"], a["axis"]); }},
    {"pad",
     [](const Tensors& x, const Json& a) {
       return pad(x[0], a["axis"], a["before"], a["after"], a["value"]);
     }},
    {"slice",
     [](const Tensors& x, const Json& a) {
       return slice(x[0], a["axis"], a["start"], a["stop"], a["step"]);
     }},
    {"concat", [](const Tensors& x, const Json& a) { return concat(x, a["axis"]); }},
    {"stack", [](const Tensors& x, const Json& a) { return stack(x, a["axis"]); }},
    {"select", [](const Tensors& x, const Json& a) { return select(x[0], a["axis"], a["i"]); }},
    {"index_select",
     [](const Tensors& x, const Json& a) {
       return index_select(x[0], a["axis"], a["indices"].get<std::vector<std::size_t>>());
     }},
    {"gather",
     [](const Tensors& x, const Json& a) { return gather(x[0], a["axis"], indices_of(a)); }},
    {"embedding", [](const Tensors& x, const Json& a) { return embedding(indices_of(a), x[0]); }},
});

}  // namespace

TEST_CASE("permute and transpose move every element to its place") {
  const Array x = counting({2, 3, 4, 5});
  for (const Axes& order : std::vector<Axes>{
           {0, 1, 2, 3}, {3, 2, 1, 0}, {0, 2, 1, 3}, {1, 0, 3, 2}, {2, 3, 0, 1}, {-1, 0, -3, 2}}) {
    Shape shape;
    std::vector<std::size_t> from;
    for (const int axis : order) {
      from.push_back(static_cast<std::size_t>(axis < 0 ? axis + 4 : axis));
      shape.push_back(x.shape()[from.back()]);
    }
    check_elements(permute(x, order), shape, [&](const Index& i) {
      Index source(4);
      for (std::size_t k = 0; k < 4; ++k) source[from[k]] = i[k];
      return at(x, source);
    });
  }
  check_elements(vitruvian::transpose(x), {2, 3, 5, 4}, [&](const Index& i) {
    return at(x, {i[0], i[1], i[3], i[2]});
  });
  check_elements(vitruvian::transpose(x, 0, 2), {4, 3, 2, 5}, [&](const Index& i) {
    return at(x, {i[2], i[1], i[0], i[3]});
  });
  CHECK(permute(zeros({3, 0, 2}), {2, 0, 1}).shape() == Shape{2, 3, 0});
  CHECK(permute(scalar(7), {}).item() == real{7});
  CHECK_FAILS_WITH(permute(x, {0, 1}), "permute: 2 axes named for an input (2, 3, 4, 5) of 4");
  CHECK_FAILS_WITH(permute(x, {0, 1, 1, 2}), "permute: axis 1 is named twice");
  CHECK_FAILS_WITH(vitruvian::transpose(zeros({3})), "transpose: axis -2 of an array with 1 axes");
}

TEST_CASE("reshape keeps the order, works out -1, and says what does not fit") {
  const Array x = counting({2, 3, 4});
  for (const std::vector<std::ptrdiff_t>& to : std::vector<std::vector<std::ptrdiff_t>>{
           {24}, {-1}, {4, 6}, {4, -1}, {-1, 1, 8}, {3, 2, 2, 2}}) {
    const Array y = reshape(x, to).value();
    CHECK(y.dimension() == to.size());
    CHECK(std::equal(x.data(), x.data() + 24, y.data(), y.data() + y.size()));
  }
  CHECK(reshape(x, {4, -1}).shape() == Shape{4, 6});
  CHECK(reshape(zeros({0, 3}), {-1, 3}).shape() == Shape{0, 3});
  CHECK(reshape(zeros({1}), {}).shape().empty());
  CHECK_FAILS_WITH(reshape(x, {5, 5}), "reshape: (2, 3, 4) has 24 elements, (5, 5) has 25");
  CHECK_FAILS_WITH(reshape(x, {5, -1}), "24 elements, which do not divide into (5, -1)");
  CHECK_FAILS_WITH(reshape(x, {-1, -1}), "(-1, -1) leaves more than one length open");
  CHECK_FAILS_WITH(reshape(zeros({0, 3}), {-1, 0}), "-1 could be anything");
  CHECK_FAILS_WITH(reshape(x, {-2, 12}), "length -2 in (-2, 12) is negative");
}

TEST_CASE("what was broadcast a million times gets its gradient to the last digits of a float") {
  constexpr std::size_t R = 1'000'000;
  const Array g = full({R, 2}, real(0.1));
  const double sum = R * static_cast<double>(real(0.1));
  const auto near = [&](const Array& gradient, double expected) {
    for (const real x : gradient) CHECK(std::abs(x / expected - 1) < 1e-7);
  };
  const Tensor x(full({R, 2}, 1));
  const Tensor b(zeros({2}), true), c(scalar(0), true), d(zeros({1, 2}), true);
  near(grad(x + b, {b}, g)[0], sum);
  near(grad(x * d, {d}, g)[0], sum);
  near(grad(x + c, {c}, g)[0], 2 * sum);
}

TEST_CASE("broadcast_to repeats, and refuses to shrink") {
  const Array x = counting({3, 1});
  check_elements(broadcast_to(x, {2, 3, 4}), {2, 3, 4}, [&](const Index& i) { return at(x, i); });
  CHECK(broadcast_to(zeros({1, 3}), {0, 3}).shape() == Shape{0, 3});
  CHECK_FAILS_WITH(broadcast_to(zeros({2, 3}), {3}), "(2, 3) cannot be stretched to (3,)");
  CHECK_FAILS_WITH(broadcast_to(zeros({2, 3}), {1, 3}), "(2, 3) cannot be stretched to (1, 3)");
}

TEST_CASE("slice is Python's: [0, 1, 2, 3, 4][start:stop:step]") {
  struct Row {
    std::ptrdiff_t start, stop, step;
    std::vector<double> result;  // as Python 3.11 printed it
  };
  const Tensor x(counting({5}));
  const Tensor columns(counting({2, 5}));
  for (const Row& row : std::vector<Row>{{1, 4, 1, {1, 2, 3}},
                                         {0, slice_end, 2, {0, 2, 4}},
                                         {-1, slice_end, -1, {4, 3, 2, 1, 0}},
                                         {-2, slice_end, 1, {3, 4}},
                                         {-100, 100, 1, {0, 1, 2, 3, 4}},
                                         {3, 1, 1, {}},
                                         {3, 1, -1, {3, 2}},
                                         {4, 0, -2, {4, 2}},
                                         {100, -100, -1, {4, 3, 2, 1, 0}},
                                         {-1, -6, -3, {4, 1}},
                                         {0, 5, 7, {0}},
                                         {5, 9, 1, {}},
                                         {4, slice_end, -5, {4}},
                                         {2, 2, 1, {}},
                                         {0, -1, 1, {0, 1, 2, 3}},
                                         {-6, 3, 2, {0, 2}},
                                         {-6, slice_end, -1, {}},
                                         {9, 1, -3, {4}},
                                         {0, 0, -1, {}},
                                         {1, slice_end, 3, {1, 4}},
                                         {0, slice_end, PTRDIFF_MAX, {0}},
                                         {4, slice_end, PTRDIFF_MIN, {4}}}) {
    INFO(row.start, ":", row.stop, ":", row.step);
    check_values(slice(x, 0, row.start, row.stop, row.step), row.result);
    check_elements(
        slice(columns, -1, row.start, row.stop, row.step), {2, row.result.size()},
        [&](const Index& i) { return static_cast<double>(5 * i[0]) + row.result[i[1]]; });
  }
  CHECK_FAILS_WITH(slice(x, 0, 0, 5, 0), "slice: a step of 0 along axis 0 of (5,)");
  CHECK_FAILS_WITH(slice(x, 1, 0, 5), "slice: axis 1 of an array with 1 axes");
}

TEST_CASE("select and index_select pick entries of one axis") {
  const Array x = counting({2, 3, 4});
  check_elements(select(x, 1, 2), {2, 4}, [&](const Index& i) { return at(x, {i[0], 2, i[1]}); });
  check_elements(select(x, -1, -4), {2, 3}, [&](const Index& i) { return at(x, {i[0], i[1], 0}); });
  CHECK_FAILS_WITH(select(x, 1, 3), "index 3 on axis 1 of (2, 3, 4), which has length 3");
  CHECK_FAILS_WITH(select(x, 1, -4), "select: index -4");

  const std::vector<std::size_t> places{2, 0, 2, 1};
  check_elements(index_select(x, 1, places), {2, 4, 4}, [&](const Index& i) {
    return at(x, {i[0], places[i[1]], i[2]});
  });
  CHECK(index_select(x, 0, {}).shape() == Shape{0, 3, 4});
  CHECK(index_select(zeros({2, 3, 0}), 1, {1}).shape() == Shape{2, 1, 0});
  CHECK_FAILS_WITH(index_select(x, 1, {3}), "index_select: index 3 on axis 1 of (2, 3, 4)");
}

TEST_CASE("concat, stack and split are each other's inverses") {
  const Tensor x(counting({2, 5, 3}));
  for (const int axis : {1, -2}) {
    const std::vector<Tensor> pieces = split(x, {2, 0, 3}, axis);
    REQUIRE(pieces.size() == 3);
    CHECK(pieces[0].shape() == Shape{2, 2, 3});
    CHECK(pieces[1].shape() == Shape{2, 0, 3});
    check_elements(pieces[2], {2, 3, 3}, [&](const Index& i) {
      return at(x.value(), {i[0], i[1] + 2, i[2]});
    });
    const Tensor whole = concat(pieces, axis);
    CHECK(whole.shape() == x.shape());
    CHECK(std::equal(x.value().data(), x.value().data() + x.size(), whole.value().data()));
  }
  const std::vector<Tensor> rows{select(x, 1, 0), select(x, 1, 3)};
  check_elements(stack(rows, 1), {2, 2, 3}, [&](const Index& i) {
    return at(x.value(), {i[0], i[1] == 0 ? 0U : 3U, i[2]});
  });
  CHECK(stack({Tensor(scalar(1)), Tensor(scalar(2))}, 0).shape() == Shape{2});
  CHECK(stack(rows, -1).shape() == Shape{2, 3, 2});
}

TEST_CASE("what cannot be joined or cut is refused with its shapes") {
  const Tensor a(zeros({2, 3}));
  const Tensor b(zeros({2, 4}));
  CHECK_FAILS_WITH(concat({a, b}, 0), "concat: (2, 3) and (2, 4) differ in more than axis 0");
  CHECK_FAILS_WITH(concat({a, zeros({2})}, 0), "concat: (2, 3) and (2,) differ");
  CHECK_FAILS_WITH(concat({zeros({}), zeros({})}, 0), "concat: axis 0 of an array with 0 axes");
  CHECK_FAILS_WITH(concat({}, 0), "concat: nothing to join");
  CHECK_FAILS_WITH(stack({a, b}, 0), "stack: shapes (2, 3) and (2, 4) differ");
  CHECK_FAILS_WITH(stack({}, 0), "stack: nothing to join");
  CHECK_FAILS_WITH(split(b, {1, 2}, 1), "split: pieces of (1, 2) do not add up to the length 4");
}

TEST_CASE("what cannot be picked, squeezed, padded or rolled is refused, and what could be said") {
  const Tensor x(zeros({2, 3, 4}));
  CHECK_FAILS_WITH(gather(x, 1, {{2, 2}, {0, 1, 3, 0}}),
                   "gather: index 3 on axis 1 of (2, 3, 4), which has length 3");
  CHECK_FAILS_WITH(gather(x, 1, {{2, 1}, {0, -4}}), "gather: index -4 on axis 1");
  CHECK_FAILS_WITH(gather(x, 1, {{3, 2}, {0, 0, 0, 0, 0, 0}}),
                   "gather: indices (3, 2) at axis 1 of (2, 3, 4): but for that axis");
  CHECK_FAILS_WITH(gather(x, 1, {0, 1}), "gather: indices (2,) at axis 1");
  CHECK_FAILS_WITH(Indices({2, 2}, {1}), "indices: shape (2, 2) takes 4 values, not 1");
  CHECK_FAILS_WITH(embedding({0, 2}, Tensor(zeros({2, 3}))),
                   "embedding: index 2 on axis 0 of (2, 3), which has length 2");
  CHECK_FAILS_WITH(embedding({0}, x), "embedding: weight (2, 3, 4) is not (V, D)");
  CHECK_SAYS(index_select(Tensor(zeros({2, 3})), 1, {2, -1}),
             "index_select: index -1 on axis 1 of (2, 3), which has length 3");
  CHECK_FAILS_WITH(squeeze(x, 1), "squeeze: axis 1 of (2, 3, 4) has length 3, not 1");
  CHECK_FAILS_WITH(unsqueeze(x, 4), "unsqueeze: axis 4");
  CHECK_FAILS_WITH(flatten(x, 2, 1), "flatten: axis 2 of (2, 3, 4) comes after axis 1");
  CHECK_FAILS_WITH(pad(x, 0, -1, 0), "pad: before is -1; slice takes entries away");
  CHECK_FAILS_WITH(pad(x, 0, PTRDIFF_MAX, PTRDIFF_MAX), "no array is so long");
  CHECK_FAILS_WITH(pad(x, 0, 0, PTRDIFF_MAX), "no array is so long");
  CHECK_FAILS_WITH(split(Tensor(zeros({4, 0})), {static_cast<std::size_t>(-1), 5}, 0),
                   "do not add up to the length 4 of axis 0");
  const Tensor three(array({3}, {1, 2, 3}), true);  // the way back is the way there, backwards
  CHECK(grad(roll(three, PTRDIFF_MIN, 0), {three}, roll(three, PTRDIFF_MIN, 0).value())[0] ==
        three.value());
  CHECK_FAILS_WITH(roll(x, 1, 3), "roll: axis 3 of an array with 3 axes");
}
