#include "vitruvian/core/ops/strided.hpp"

#include "vitruvian/core/arguments.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/fault.hpp"

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

// The fewest axes that reach the same places in the same order: neighbours that lie as one long
// axis become one, and axes of length 1 go. What remains has long inner loops.
Strided merged(const Strided& s) {
  Strided m;
  m.offset = s.offset;
  for (std::size_t axis = 0; axis < s.shape.size(); ++axis) {
    const std::size_t n = s.shape[axis];
    const std::ptrdiff_t stride = s.strides[axis];
    if (n == 1) continue;
    if (!m.shape.empty() && m.strides.back() == stride * static_cast<std::ptrdiff_t>(n)) {
      m.shape.back() *= n;
      m.strides.back() = stride;
    } else {
      m.shape.push_back(n);
      m.strides.push_back(stride);
    }
  }
  if (m.shape.empty()) {
    m.shape.push_back(1);
    m.strides.push_back(1);
  }
  return m;
}

}  // namespace

Strided strided(const Shape& shape) {
  Strided s;
  s.shape = shape;
  s.strides.resize(shape.size());
  std::ptrdiff_t step = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    s.strides[axis] = step;
    step *= static_cast<std::ptrdiff_t>(shape[axis]);
  }
  return s;
}

Strided along(const Shape& shape, std::size_t axis, std::ptrdiff_t start, std::ptrdiff_t step,
              std::size_t length) {
  Strided s = strided(shape);
  s.offset = start * s.strides[axis];
  s.strides[axis] *= step;
  s.shape[axis] = length;
  return s;
}

Strided exchanged(const Shape& shape, std::size_t axis0, std::size_t axis1) {
  Strided s = strided(shape);
  std::swap(s.shape[axis0], s.shape[axis1]);
  std::swap(s.strides[axis0], s.strides[axis1]);
  return s;
}

Strided stretched(const Shape& own, const Shape& shape) {
  const Strided from = strided(own);
  Strided s = strided(shape);
  const std::size_t added = shape.size() - own.size();
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const bool repeated = axis < added || own[axis - added] == 1;
    s.strides[axis] = repeated ? 0 : from.strides[axis - added];
  }
  return s;
}

Array read(const Array& x, const Strided& where) {
  Array y = empty(where.shape);
  if (y.size() == 0) return y;
  const Strided s = merged(where);
  const auto n = static_cast<std::ptrdiff_t>(s.shape.back());
  const std::ptrdiff_t stride = s.strides.back();
  real* to = y.data();
  for_each_row(s, [&](std::ptrdiff_t place) {
    const real* const from = x.data() + place;
    if (stride == 1) {
      std::copy(from, from + n, to);
    } else if (stride == 0) {
      std::fill(to, to + n, *from);
    } else {
      for (std::ptrdiff_t i = 0; i < n; ++i) to[i] = from[i * stride];
    }
    to += n;
  });
  return y;
}

void write(Array& x, const Strided& where, const Array& values) {
  if (values.size() == 0) return;
  const Strided s = merged(where);
  const auto n = static_cast<std::ptrdiff_t>(s.shape.back());
  const std::ptrdiff_t stride = s.strides.back();
  const real* from = values.data();
  for_each_row(s, [&](std::ptrdiff_t place) {
    real* const to = x.data() + place;
    if (stride == 1) {
      std::copy(from, from + n, to);
    } else {
      for (std::ptrdiff_t i = 0; i < n; ++i) to[i * stride] = from[i];
    }
    from += n;
  });
}

Array reshaped(Array x, const Shape& shape) {
  x.reshape(shape);
  return x;
}

Array stretch(const Array& x, const Shape& shape) { return read(x, stretched(x.shape(), shape)); }

Tensor rearranged(const char* op, const Tensor& x, const Strided& s) {
  return record(op, read(x.value(), s), {x}, [s](const Node& n, const Array& g) {
    const Shape& shape = n.in_shape(0);
    Array dx = g.size() == count(shape) ? empty(shape) : zeros(shape);
    write(dx, s, g);
    return cotangents(std::move(dx));
  });
}

Array unbroadcast(Array g, const Shape& shape) {
  if (g.shape() == shape || Fault::forgets_unbroadcast()) return g;
  if (g.dimension() < shape.size() ||
      broadcast_shape("unbroadcast", shape, g.shape()) != g.shape()) {
    fail("unbroadcast: {} was never broadcast to {}", to_string(shape), to_string(g.shape()));
  }
  Array result = zeros(shape);
  if (g.size() == 0) return result;
  const Strided places = stretched(shape, g.shape());  // of what each element of g is added to
  const std::size_t n = g.shape().back();
  const bool row_is_summed = places.strides.back() == 0;
  const auto add_to = [&](auto* const sums) {
    const real* from = g.data();
    for_each_row(places, [&](std::ptrdiff_t place) {
      auto* const to = sums + place;
      if (row_is_summed) {
        *to += static_cast<std::decay_t<decltype(*to)>>(std::accumulate(from, from + n, 0.0));
      } else {
        for (std::size_t i = 0; i < n; ++i) to[i] += from[i];
      }
      from += n;
    });
  };
  // A float that a great many were added to no longer feels the next one.
  constexpr std::size_t many = 1024;
  if (g.size() / result.size() > many) {
    std::vector<double> sums(result.size());
    add_to(sums.data());
    std::transform(sums.begin(), sums.end(), result.data(),
                   [](double sum) { return static_cast<real>(sum); });
  } else {
    add_to(result.data());
  }
  return result;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
