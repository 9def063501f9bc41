// Ops that lay tensors side by side, and the one that picks entries by index. All see an array as
// (outer, n, inner) around one axis.

#include "core/error.hpp"
#include "core/ops.hpp"
#include "core/ops/strided.hpp"

#include <algorithm>
#include <utility>

namespace vitruvian::inline VITRUVIAN_PRECISION {
namespace {

// The places of part i of a joined array, the parts having the given lengths along `axis`.
Strided part(const Shape& joined, std::size_t axis, std::size_t start, std::size_t length) {
  Strided s = strided(joined);
  s.offset = static_cast<std::ptrdiff_t>(start) * s.strides[axis];
  s.shape[axis] = length;
  return s;
}

// y = the xs one after the other along an axis of `joined`           dx_i = g's part i
// `lengths` are theirs along it; with stack they lack the axis and count as 1.
Tensor join_as(const char* op, const std::vector<Tensor>& xs, const Shape& joined, std::size_t axis,
               const std::vector<std::size_t>& lengths) {
  Array y = empty(joined);
  std::size_t start = 0;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    write(y, part(joined, axis, start, lengths[i]), xs[i].value());
    start += lengths[i];
  }
  return record(op, std::move(y), xs, [axis, lengths](const Node& n, const Array& g) {
    Cotangents gs;
    std::size_t from = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      Array dx = read(g, part(g.shape(), axis, from, lengths[i]));
      dx.reshape(n.in_shape(i));
      gs.emplace_back(std::move(dx));
      from += lengths[i];
    }
    return gs;
  });
}

}  // namespace

Tensor concat(const std::vector<Tensor>& xs, int axis) {
  if (xs.empty()) fail("concat: nothing to join");
  Shape joined = xs[0].shape();
  const std::size_t a = normalise_axis("concat", axis, joined.size());
  std::vector<std::size_t> lengths;
  std::size_t sum = 0;
  for (const Tensor& x : xs) {
    Shape shape = x.shape();
    const std::size_t length = a < shape.size() ? shape[a] : 0;
    if (a < shape.size()) shape[a] = joined[a];
    if (shape != joined) {
      fail("concat: {} and {} differ in more than axis {}", to_string(xs[0].shape()),
           to_string(x.shape()), a);
    }
    lengths.push_back(length);
    sum += length;
  }
  joined[a] = sum;
  return join_as("concat", xs, joined, a, lengths);
}

Tensor stack(const std::vector<Tensor>& xs, int axis) {
  if (xs.empty()) fail("stack: nothing to join");
  Shape joined = xs[0].shape();
  for (const Tensor& x : xs) {
    if (x.shape() != joined) {
      fail("stack: shapes {} and {} differ", to_string(joined), to_string(x.shape()));
    }
  }
  const std::size_t a = normalise_axis("stack", axis, joined.size() + 1);
  joined.insert(joined.begin() + static_cast<std::ptrdiff_t>(a), xs.size());
  return join_as("stack", xs, joined, a, std::vector<std::size_t>(xs.size(), 1));
}

// y[o, j, i] = x[o, indices[j], i]           dx[o, k, i] = sum of g[o, j, i] over indices[j] = k
Tensor index_select(const Tensor& x, int axis, const std::vector<std::size_t>& indices) {
  const std::size_t a = normalise_axis("index_select", axis, x.rank());
  const std::size_t n = x.shape()[a];
  for (const std::size_t index : indices) {
    if (index >= n) {
      fail("index_select: index {} on axis {} of {}, which has length {}", index, axis,
           to_string(x.shape()), n);
    }
  }
  Shape shape = x.shape();
  shape[a] = indices.size();
  std::size_t inner = 1;
  for (std::size_t i = a + 1; i < shape.size(); ++i) inner *= shape[i];
  Array y = empty(shape);
  const std::size_t outer = y.size() == 0 ? 0 : y.size() / (indices.size() * inner);
  real* to = y.data();
  for (std::size_t o = 0; o < outer; ++o) {
    for (const std::size_t index : indices) {
      const real* const from = x.value().data() + (o * n + index) * inner;
      to = std::copy(from, from + inner, to);
    }
  }
  return record("index_select", std::move(y), {x},
                [indices, n, outer, inner](const Node& node, const Array& g) {
                  Array dx = zeros(node.in_shape(0));
                  const real* from = g.data();
                  for (std::size_t o = 0; o < outer; ++o) {
                    for (const std::size_t index : indices) {
                      real* const sum = dx.data() + (o * n + index) * inner;
                      for (std::size_t i = 0; i < inner; ++i) sum[i] += *from++;
                    }
                  }
                  return cotangents(std::move(dx));
                });
}

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
