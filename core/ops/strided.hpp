#pragma once

#include "vitruvian/core/array.hpp"

#include <cstddef>

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

/// The elements of `x` at the places of `where`, as an array of where.shape.
Array read(const Array& x, const Strided& where);
/// The way back: puts the elements of `values` at the places of `where` in `x`.
void write(Array& x, const Strided& where, const Array& values);

/// The same elements in row-major order under another shape of as many.
Array reshaped(Array x, const Shape& shape);

/// `x` repeated along the axes that numpy's rule stretches to reach `shape`; it must reach it.
Array stretch(const Array& x, const Shape& shape);

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
