#include "vitruvian/core/ops/strided.hpp"

#include <algorithm>
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

// Calls run(place) for every row of the innermost axis, in row-major order.
template <class Run>
void for_each_row(const Strided& s, const Run& run) {
  const std::size_t outer = s.shape.size() - 1;
  std::vector<std::size_t> index(outer, 0);
  std::ptrdiff_t place = s.offset;
  const std::size_t rows = count(s.shape) / std::max<std::size_t>(1, s.shape.back());
  for (std::size_t row = 0; row < rows; ++row) {
    run(place);
    for (std::size_t axis = outer; axis-- > 0;) {
      place += s.strides[axis];
      if (++index[axis] < s.shape[axis]) break;
      place -= s.strides[axis] * static_cast<std::ptrdiff_t>(s.shape[axis]);
      index[axis] = 0;
    }
  }
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

Array stretch(const Array& x, const Shape& shape) {
  const Strided own = strided(x.shape());
  Strided s = strided(shape);
  const std::size_t added = shape.size() - x.dimension();
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const bool repeated = axis < added || x.shape()[axis - added] == 1;
    s.strides[axis] = repeated ? 0 : own.strides[axis - added];
  }
  return read(x, s);
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
