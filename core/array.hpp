#pragma once

#include "vitruvian/core/pool.hpp"
#include "vitruvian/core/real.hpp"

// The one public header that includes xtensor: 0.26 moved its headers, and both layouts are met
// here. Expressions (xmath, xview) are included by the .cpp files that need them.
#if __has_include(<xtensor/containers/xarray.hpp>)
#include <xtensor/containers/xarray.hpp>
#else
#include <xtensor/xarray.hpp>
#endif

#include <cstddef>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

/// A row-major, contiguous array of `real`, owned by value. No lazy expression is ever stored:
/// assigning one to an `Array` is what ends it.
using Array = xt::xarray_container<xt::uvector<real, PoolAllocator<real>>,
                                   xt::layout_type::row_major, xt::svector<std::size_t, 4>>;
using Shape = Array::shape_type;

/// One axis, several, or none named, which means all: `sum(x, 1)`, `sum(x, {0, -1})`, `sum(x)`.
class Axes : public std::vector<int> {
 public:
  Axes() = default;
  Axes(int axis) : vector(1, axis) {}  // NOLINT(google-explicit-constructor)
  Axes(bool) = delete;                 // `keepdim` comes after the axes
  Axes(std::initializer_list<int> axes) : vector(axes) {}
  Axes(std::vector<int> axes) : vector(std::move(axes)) {}  // NOLINT(google-explicit-constructor)
};

/// An array of the given shape: uninitialised, filled with one value, or from values in row-major
/// order (their number must be the shape's). Throws, naming the shape, where memory does not reach.
/// `Shape{}` is a scalar: one element, no axes.
Array empty(const Shape& shape);
Array full(const Shape& shape, real value);
Array zeros(const Shape& shape);
Array scalar(real value);
Array array(const Shape& shape, const std::vector<double>& values);

/// The number of elements; throws when it does not fit in memory's address space.
std::size_t count(const Shape& shape);
/// "(2, 3)", "(4,)", "()", as numpy writes it.
std::string to_string(const Shape& shape);

/// The place of `axis` in an array of `rank` axes; negative ones count from the end. Throws, naming
/// `op`, when there is no such axis.
std::size_t normalise_axis(const char* op, int axis, std::size_t rank);
/// The same for a set, sorted and without repetition (which throws). An empty set means all axes.
std::vector<std::size_t> normalise_axes(const char* op, const Axes& axes, std::size_t rank);

/// The shape both broadcast to by numpy's rule: aligned at the last axis, equal or 1. Throws,
/// naming `op` and both shapes.
Shape broadcast_shape(const char* op, const Shape& a, const Shape& b);

/// The adjoint of broadcasting `shape` to g's shape: the sum of `g` over every axis that was
/// stretched or added. Returns `g` itself when there is none.
Array unbroadcast(Array g, const Shape& shape);

/// a += b, same shape.
void add_in_place(Array& a, const Array& b);

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
