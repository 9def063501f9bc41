// Ops that move all elements, or lay them side by side, without computing anything: each is a
// strided copy (strided.hpp), and its derivative is the copy back.

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/core/ops/rows.hpp"
#include "vitruvian/core/ops/strided.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

// One length of -1 is what the others leave of the `size` elements.
Shape resolved(const Shape& from, const std::vector<std::ptrdiff_t>& lengths) {
  const std::string asked = fmt::format("({})", joined(lengths));
  Shape shape(lengths.size());
  Shape known;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] < -1) fail("reshape: length {} in {} is negative", lengths[i], asked);
    if (lengths[i] != -1) {
      shape[i] = static_cast<std::size_t>(lengths[i]);
      known.push_back(shape[i]);
    }
  }
  const std::size_t size = count(from);
  const std::size_t product = count(known);
  const std::size_t unknown = lengths.size() - known.size();
  if (unknown > 1) fail("reshape: {} leaves more than one length open", asked);
  if (unknown == 1) {
    if (product == 0) fail("reshape: with a length of 0 in {}, -1 could be anything", asked);
    if (size % product != 0) {
      fail("reshape: {} has {} elements, which do not divide into {}", to_string(from), size,
           asked);
    }
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      if (lengths[i] == -1) shape[i] = size / product;
    }
  } else if (product != size) {
    fail("reshape: {} has {} elements, {} has {}", to_string(from), size, asked, product);
  }
  return shape;
}

// y = x under another shape                dx = g under x's shape
Tensor reshape_as(const char* op, const Tensor& x, const Shape& shape) {
  return record(op, reshaped(x.value(), shape), {x}, [](const Node& n, Array& g) {
    return cotangents(reshaped(std::move(g), n.in_shape(0)));
  });
}

// y = the xs one after the other along an axis of `joined`           dx_i = g's part i
// `lengths` are theirs along it; with stack they lack the axis and count as 1.
Tensor join_as(const char* op, const std::vector<Tensor>& xs, const Shape& joined, std::size_t axis,
               const std::vector<std::size_t>& lengths) {
  Array y = empty(joined);
  std::ptrdiff_t start = 0;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    write(y, along(joined, axis, start, 1, lengths[i]), xs[i].value());
    start += static_cast<std::ptrdiff_t>(lengths[i]);
  }
  return record(op, std::move(y), xs, [axis, lengths](const Node& n, const Array& g) {
    Cotangents gs;
    std::ptrdiff_t from = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      gs.emplace_back(
          reshaped(read(g, along(g.shape(), axis, from, 1, lengths[i])), n.in_shape(i)));
      from += static_cast<std::ptrdiff_t>(lengths[i]);
    }
    return gs;
  });
}

}  // namespace

Tensor transpose(const Tensor& x, int axis0, int axis1) {
  given("transpose", "x", x);
  const std::size_t a = normalise_axis("transpose", axis0, x.rank());
  const std::size_t b = normalise_axis("transpose", axis1, x.rank());
  return rearranged("transpose", x, exchanged(x.shape(), a, b));
}

// y[i_0, i_1, ...] = x with i_k on axis axes[k]
Tensor permute(const Tensor& x, const Axes& axes) {
  given("permute", "x", x);
  if (axes.size() != x.rank()) {
    fail("permute: {} axes named for an input {} of {}", axes.size(), to_string(x.shape()),
         x.rank());
  }
  normalise_axes("permute", axes, x.rank());  // each axis once
  const Strided own = strided(x.shape());
  Strided s = own;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const std::size_t axis = normalise_axis("permute", axes[k], x.rank());
    s.shape[k] = own.shape[axis];
    s.strides[k] = own.strides[axis];
  }
  return rearranged("permute", x, s);
}

void Lengths::too_long(std::uint64_t length) {
  fail("reshape: no array has an axis of length {}", length);
}

Tensor reshape(const Tensor& x, const Lengths& shape) {
  given("reshape", "x", x);
  return reshape_as("reshape", x, resolved(x.shape(), shape));
}

Tensor squeeze(const Tensor& x, int axis) {
  given("squeeze", "x", x);
  const std::size_t a = normalise_axis("squeeze", axis, x.rank());
  Shape shape = x.shape();
  if (shape[a] != 1) {
    fail("squeeze: axis {} of {} has length {}, not 1", axis, to_string(shape), shape[a]);
  }
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(a));
  return reshape_as("squeeze", x, shape);
}

Tensor unsqueeze(const Tensor& x, int axis) {
  given("unsqueeze", "x", x);
  const std::size_t a = normalise_axis("unsqueeze", axis, x.rank() + 1);
  Shape shape = x.shape();
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(a), std::size_t{1});
  return reshape_as("unsqueeze", x, shape);
}

Tensor flatten(const Tensor& x, int first, int last) {
  given("flatten", "x", x);
  const std::size_t rank = std::max<std::size_t>(1, x.rank());
  const std::size_t a = normalise_axis("flatten", first, rank);
  const std::size_t b = normalise_axis("flatten", last, rank);
  if (a > b) fail("flatten: axis {} of {} comes after axis {}", first, to_string(x.shape()), last);
  Shape shape(x.shape().begin(), x.shape().begin() + a);
  shape.push_back(flattened(x.shape(), a, std::min(b + 1, x.rank())));
  for (std::size_t axis = b + 1; axis < x.rank(); ++axis) shape.push_back(x.shape()[axis]);
  return reshape_as("flatten", x, shape);
}

// y = x, repeated                          dx = unbroadcast(g)
Tensor broadcast_to(const Tensor& x, const Shape& shape) {
  given("broadcast_to", "x", x);
  if (x.rank() > shape.size() || broadcast_shape("broadcast_to", x.shape(), shape) != shape) {
    fail("broadcast_to: {} cannot be stretched to {}", to_string(x.shape()), to_string(shape));
  }
  return record("broadcast_to", stretch(x.value(), shape), {x}, [](const Node& n, const Array& g) {
    return cotangents(unbroadcast(g, n.in_shape(0)));
  });
}

// y = x between entries of `value`         dx = the middle of g
Tensor pad(const Tensor& x, int axis, std::ptrdiff_t before, std::ptrdiff_t after, real value) {
  given("pad", "x", x);
  const std::size_t a = normalise_axis("pad", axis, x.rank());
  for (const auto& [name, n] : {std::pair{"before", before}, std::pair{"after", after}}) {
    if (n < 0) fail("pad: {} is {}; slice takes entries away", name, n);
  }
  const std::size_t length = x.shape()[a];
  const auto room =
      std::numeric_limits<std::ptrdiff_t>::max() - static_cast<std::ptrdiff_t>(length);
  if (before > room || after > room - before) {
    fail("pad: {} and {} beside a length of {}: no array is so long", before, after, length);
  }
  Shape shape = x.shape();
  shape[a] = static_cast<std::size_t>(before) + length + static_cast<std::size_t>(after);
  Array y = full(shape, value);
  const Strided middle = along(shape, a, before, 1, length);
  write(y, middle, x.value());
  return record("pad", std::move(y), {x},
                [middle](const Node&, const Array& g) { return cotangents(read(g, middle)); });
}

// y[(i + shift) mod n] = x[i]              dx[i] = g[(i + shift) mod n]
Tensor roll(const Tensor& x, std::ptrdiff_t shift, int axis) {
  given("roll", "x", x);
  const std::size_t a = normalise_axis("roll", axis, x.rank());
  const auto n = static_cast<std::ptrdiff_t>(x.shape()[a]);
  const std::ptrdiff_t by = n == 0 ? 0 : shift % n;  // the lowest number of all has no negative
  const auto rolled = [a, n](const Array& from, std::ptrdiff_t places) {
    Array to = empty(from.shape());
    if (n == 0) return to;
    const std::ptrdiff_t first = (places + n) % n;  // where entry 0 goes
    const auto part = [&](std::ptrdiff_t start, std::ptrdiff_t length) {
      return along(from.shape(), a, start, 1, static_cast<std::size_t>(length));
    };
    write(to, part(first, n - first), read(from, part(0, n - first)));
    write(to, part(0, first), read(from, part(n - first, first)));
    return to;
  };
  return record("roll", rolled(x.value(), by), {x},
                [rolled, by](const Node&, const Array& g) { return cotangents(rolled(g, -by)); });
}

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
