#include "vitruvian/core/array.hpp"

#include "vitruvian/core/arguments.hpp"
#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/kernels/kernels.hpp"

#include <algorithm>
#include <cstdint>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

namespace {

// What `make` makes; that there is no room for it is said in the project's words.
template <class Make>
Array allocated(const Shape& shape, const Make& make) {
  const std::size_t elements = count(shape);
  try {
    return make();
  } catch (const std::bad_alloc&) {
    fail("an array of shape {} takes {}: there is not that much memory", to_string(shape),
         console::human_bytes(std::uint64_t{elements} * sizeof(real)));
  }
}

void check_same(const char* name, const Array& a, const Array& b) {
  if (a.shape() == b.shape()) return;
  fail("{}: shapes {} and {} differ", name, to_string(a.shape()), to_string(b.shape()));
}

}  // namespace

Array empty(const Shape& shape) {
  return allocated(shape, [&] { return Array(Array::from_shape(shape)); });
}

Array full(const Shape& shape, real value) {
  return allocated(shape, [&] { return Array(shape, value); });
}

Array zeros(const Shape& shape) { return full(shape, real{0}); }

Array scalar(real value) { return full({}, value); }

Array array(const Shape& shape, const std::vector<double>& values) {
  Array a = empty(shape);
  if (values.size() != a.size()) {
    fail("array: shape {} takes {} values, not {}", to_string(shape), a.size(), values.size());
  }
  std::transform(values.begin(), values.end(), a.data(),
                 [](double v) { return static_cast<real>(v); });
  return a;
}

std::size_t count(const Shape& shape) {
  constexpr std::size_t most = std::numeric_limits<std::ptrdiff_t>::max() / sizeof(real);
  std::size_t product = 1;
  bool overflow = false;
  for (const std::size_t n : shape) {
    if (n == 0) return 0;
    overflow = overflow || product > most / n;
    product *= n;
  }
  if (overflow) fail("shape {} has more elements than memory can address", to_string(shape));
  return product;
}

std::string to_string(const Shape& shape) { return shape_text(shape); }

std::size_t normalise_axis(const char* op, int axis, std::size_t rank) {
  const int n = static_cast<int>(rank);
  if (axis < -n || axis >= n) fail("{}: axis {} of an array with {} axes", op, axis, rank);
  return static_cast<std::size_t>(axis < 0 ? axis + n : axis);
}

std::vector<std::size_t> normalise_axes(const char* op, const Axes& axes, std::size_t rank) {
  std::vector<std::size_t> result;
  if (axes.empty()) {
    for (std::size_t i = 0; i < rank; ++i) result.push_back(i);
    return result;
  }
  for (const int axis : axes) result.push_back(normalise_axis(op, axis, rank));
  std::sort(result.begin(), result.end());
  if (const auto twice = std::adjacent_find(result.begin(), result.end()); twice != result.end()) {
    fail("{}: axis {} is named twice", op, *twice);
  }
  return result;
}

Shape broadcast_shape(const char* op, const Shape& a, const Shape& b) {
  Shape result(std::max(a.size(), b.size()));
  for (std::size_t i = 1; i <= result.size(); ++i) {
    const std::size_t m = i <= a.size() ? a[a.size() - i] : 1;
    const std::size_t n = i <= b.size() ? b[b.size() - i] : 1;
    if (m != n && m != 1 && n != 1) {
      fail("{}: shapes {} and {} do not broadcast: axis -{} is {} against {}", op, to_string(a),
           to_string(b), i, m, n);
    }
    result[result.size() - i] = m == 1 ? n : m;
  }
  return result;
}

void add_in_place(Array& a, const Array& b) {
  check_same("add_in_place", a, b);
  kernels::add(a.data(), b.data(), a.data(), a.size());
}

void add_multiple(Array& a, real c, const Array& b) {
  check_same("add_multiple", a, b);
  std::transform(a.begin(), a.end(), b.begin(), a.begin(),
                 [c](real x, real y) { return x + c * y; });
}

void scale(Array& a, real c) {
  std::transform(a.begin(), a.end(), a.begin(), [c](real x) { return c * x; });
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
