// Ops that take some of an array: strided parts (strided.hpp), or entries by index or by mask, for
// which an array is (outer, n, inner) around one axis.

#include "vitruvian/core/arguments.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/core/ops/rows.hpp"
#include "vitruvian/core/ops/strided.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

Indices::Indices(const Shape& shape, const std::vector<std::ptrdiff_t>& values)
    : shape_(shape), values_(values.begin(), values.end()) {
  if (count(shape) != values.size()) {
    fail("indices: shape {} takes {} values, not {}", to_string(shape), count(shape),
         values.size());
  }
}

namespace {

void check_indices(const char* op, const Indices& indices, int axis, const Tensor& x,
                   std::size_t n) {
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices.values()[i] >= n) {
      fail("{}: index {} on axis {} of {}, which has length {}", op, indices[i], axis,
           to_string(x.shape()), n);
    }
  }
}

// Entry `indices[j]` of the n is a run of `inner` elements: with one list of indices for all of
// `outer` (shared), or each its own.
struct Picks {
  std::vector<std::size_t> indices;
  std::size_t outer, n, inner;
  bool shared;

  // Calls run(from, to, inner) with the offsets of each run in x and in the result.
  template <class Run>
  void for_each(const Run& run) const {
    const std::size_t each = shared ? indices.size() : outer == 0 ? 0 : indices.size() / outer;
    std::size_t to = 0;
    for (std::size_t o = 0; o < outer; ++o) {
      const std::size_t* const own = indices.data() + (shared ? 0 : o * each);
      for (std::size_t j = 0; j < each; ++j, to += inner) run((o * n + own[j]) * inner, to, inner);
    }
  }
};

// y = x's runs at the picks                dx = g added back to where each run came from
Tensor pick_as(const char* op, const Tensor& x, const Shape& shape, Picks picks) {
  Array y = empty(shape);
  const real* const from = x.value().data();
  picks.for_each([&](std::size_t a, std::size_t b, std::size_t inner) {
    std::copy_n(from + a, inner, y.data() + b);
  });
  return record(op, std::move(y), {x},
                [picks = std::move(picks)](const Node& node, const Array& g) {
                  Array dx = zeros(node.in_shape(0));
                  picks.for_each([&](std::size_t a, std::size_t b, std::size_t inner) {
                    for (std::size_t i = 0; i < inner; ++i) dx.data()[a + i] += g.data()[b + i];
                  });
                  return cotangents(std::move(dx));
                });
}

}  // namespace

Tensor slice(const Tensor& x, int axis, std::ptrdiff_t start, std::ptrdiff_t stop,
             std::ptrdiff_t step) {
  given("slice", "x", x);
  if (step == 0) fail("slice: a step of 0 along axis {} of {}", axis, to_string(x.shape()));
  const std::size_t a = normalise_axis("slice", axis, x.rank());
  const auto n = static_cast<std::ptrdiff_t>(x.shape()[a]);
  // Python's rule: negative ends count from the end, then both are cut to where a walk can be.
  const std::ptrdiff_t lowest = step > 0 ? 0 : -1;
  const auto cut = [&](std::ptrdiff_t end) {
    return std::clamp(end < 0 ? end + n : end, lowest, n + lowest);
  };
  const std::ptrdiff_t from = cut(start);
  const std::ptrdiff_t to = step < 0 && stop == slice_end ? -1 : cut(stop);
  std::ptrdiff_t length = 0;
  if (step > 0 && from < to) length = (to - from - 1) / step + 1;
  if (step < 0 && from > to) length = (to - from + 1) / step + 1;
  return rearranged("slice", x, along(x.shape(), a, from, step, static_cast<std::size_t>(length)));
}

Tensor select(const Tensor& x, int axis, std::ptrdiff_t i) {
  given("select", "x", x);
  const std::size_t a = normalise_axis("select", axis, x.rank());
  const auto n = static_cast<std::ptrdiff_t>(x.shape()[a]);
  if (i < -n || i >= n) {
    fail("select: index {} on axis {} of {}, which has length {}", i, axis, to_string(x.shape()),
         n);
  }
  Strided s = along(x.shape(), a, i < 0 ? i + n : i, 1, 1);
  s.shape.erase(s.shape.begin() + static_cast<std::ptrdiff_t>(a));
  s.strides.erase(s.strides.begin() + static_cast<std::ptrdiff_t>(a));
  return rearranged("select", x, s);
}

std::vector<Tensor> split(const Tensor& x, const std::vector<std::size_t>& lengths, int axis) {
  given("split", "x", x);
  const std::size_t a = normalise_axis("split", axis, x.rank());
  std::size_t rest = x.shape()[a];
  bool fit = true;
  for (const std::size_t n : lengths) {
    fit = fit && n <= rest;
    rest -= n;
  }
  if (!fit || rest != 0) {
    fail("split: pieces of ({}) do not add up to the length {} of axis {} of {}", joined(lengths),
         x.shape()[a], axis, to_string(x.shape()));
  }
  std::vector<Tensor> pieces;
  std::ptrdiff_t start = 0;
  for (const std::size_t n : lengths) {
    pieces.push_back(rearranged("split", x, along(x.shape(), a, start, 1, n)));
    start += static_cast<std::ptrdiff_t>(n);
  }
  return pieces;
}

// y[o, j, i] = x[o, indices[j], i]           dx[o, k, i] = sum of g[o, j, i] over indices[j] = k
Tensor index_select(const Tensor& x, int axis, const Indices& indices) {
  given("index_select", "x", x);
  const std::size_t a = normalise_axis("index_select", axis, x.rank());
  if (indices.shape().size() != 1) {
    fail("index_select: indices {} are not one list", to_string(indices.shape()));
  }
  Shape shape = x.shape();
  const std::size_t n = std::exchange(shape[a], indices.size());
  check_indices("index_select", indices, axis, x, n);
  return pick_as(
      "index_select", x, shape,
      {indices.values(), flattened(shape, 0, a), n, flattened(shape, a + 1, shape.size()), true});
}

// y[o, j, i] = x[o, indices[o, j], i], or x[o, indices[o, j, i], i]      dx: g, added back to there
Tensor gather(const Tensor& x, int axis, const Indices& indices) {
  given("gather", "x", x);
  const std::size_t a = normalise_axis("gather", axis, x.rank());
  const Shape& asked = indices.shape();
  Shape shape = x.shape();
  const std::size_t n = shape[a];
  const bool whole = asked.size() == a + 1;  // entries, not elements
  if (asked.size() > a) shape[a] = asked[a];
  if ((!whole && asked.size() != shape.size()) ||
      !std::equal(asked.begin(), asked.end(), shape.begin())) {
    fail(
        "gather: indices {} at axis {} of {}: but for that axis, they must have its shape, or end "
        "with it",
        to_string(asked), axis, to_string(x.shape()));
  }
  check_indices("gather", indices, axis, x, n);
  const std::size_t outer = flattened(shape, 0, a);
  const std::size_t inner = flattened(shape, a + 1, shape.size());
  if (whole) return pick_as("gather", x, shape, {indices.values(), outer, n, inner, false});
  // Element (o, j, i) is the run of length 1 at (o n + index) inner + i of the flat x.
  std::vector<std::size_t> places(indices.size());
  for (std::size_t k = 0; k < places.size(); ++k) {
    const std::size_t o = k / (shape[a] * inner);
    places[k] = (o * n + indices.values()[k]) * inner + k % inner;
  }
  return pick_as("gather", x, shape, {std::move(places), 1, x.size(), 1, true});
}

// y[..., :] = weight[indices[...], :]        dweight[v, :] = sum of g[..., :] over indices = v
Tensor embedding(const Indices& indices, const Tensor& weight) {
  given("embedding", "weight", weight);
  if (weight.rank() != 2) fail("embedding: weight {} is not (V, D)", to_string(weight.shape()));
  check_indices("embedding", indices, 0, weight, weight.size(0));
  Shape shape = indices.shape();
  shape.push_back(weight.size(1));
  return pick_as("embedding", weight, shape,
                 {indices.values(), 1, weight.size(0), weight.size(1), true});
}

// y = mask ? value : x                       dx = mask ? 0 : g
Tensor masked_fill(const Tensor& x, const Array& mask, real value) {
  given("masked_fill", "x", x);
  if (mask.dimension() > x.rank() ||
      broadcast_shape("masked_fill", mask.shape(), x.shape()) != x.shape()) {
    fail("masked_fill: mask {} does not broadcast to {}", to_string(mask.shape()),
         to_string(x.shape()));
  }
  const auto filled = [m = stretch(mask, x.shape())](const Array& from, real fill) {
    Array y = from;
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (m.data()[i] != 0) y.data()[i] = fill;
    }
    return y;
  };
  Array y = filled(x.value(), value);
  return record("masked_fill", std::move(y), {x},
                [filled](const Node&, const Array& g) { return cotangents(filled(g, 0)); });
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
