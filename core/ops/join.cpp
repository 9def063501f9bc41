// Ops that lay tensors side by side.

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/core/ops/given.hpp"
#include "vitruvian/core/ops/strided.hpp"

#include <algorithm>
#include <utility>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
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
  for (const Tensor& x : xs) given("concat", "one of the tensors", x);
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
  for (const Tensor& x : xs) given("stack", "one of the tensors", x);
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

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
