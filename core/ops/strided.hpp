#pragma once

#include "vitruvian/core/tensor.hpp"

#include <cstddef>
#include <vector>

// Arrays are contiguous; everything that picks, repeats or reorders elements is one strided copy.

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

/// Where the elements of a rearrangement lie in an array's data: element (i, j, ...) at
/// offset + i strides[0] + j strides[1] + ... A stride of 0 repeats, a negative one walks back.
struct Strided {
  Shape shape;
  xt::svector<std::ptrdiff_t, 4> strides;
  std::ptrdiff_t offset = 0;
};

/// All of an array of this shape, in order: what a rearrangement starts from.
Strided strided(const Shape& shape);
/// The places of `length` entries of one axis, from `start` on in steps of `step`.
Strided along(const Shape& shape, std::size_t axis, std::ptrdiff_t start, std::ptrdiff_t step,
              std::size_t length);
/// An array of this shape with two axes exchanged.
Strided exchanged(const Shape& shape, std::size_t axis0, std::size_t axis1);
/// An array of shape `own`, repeated along the axes that numpy's rule stretches to reach `shape`;
/// it must reach it.
Strided stretched(const Shape& own, const Shape& shape);

/// Calls run(place) for every row of the innermost axis, in row-major order; without axes there is
/// one row, of one element. Rows may be empty.
template <class Run>
void for_each_row(const Strided& s, const Run& run) {
  const std::size_t outer = s.shape.empty() ? 0 : s.shape.size() - 1;
  std::vector<std::size_t> index(outer, 0);
  std::ptrdiff_t place = s.offset;
  const std::size_t rows = count(Shape(s.shape.begin(), s.shape.begin() + outer));
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

/// The elements of `x` at the places of `where`, as an array of where.shape.
Array read(const Array& x, const Strided& where);
/// The way back: puts the elements of `values` at the places of `where` in `x`.
void write(Array& x, const Strided& where, const Array& values);

/// y = the elements of x at the places of `s`, each at most once           dx = g there, else 0
Tensor rearranged(const char* op, const Tensor& x, const Strided& s);

/// The same elements in row-major order under another shape of as many.
Array reshaped(Array x, const Shape& shape);

/// `x` repeated, by numpy's rule, to reach `shape`; its adjoint is `unbroadcast`.
Array stretch(const Array& x, const Shape& shape);

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
