#pragma once

#include "vitruvian/core/base/memory.hpp"
#include "vitruvian/core/base/real.hpp"

// The one public header that includes xtensor: 0.26 moved its headers, and both layouts are met
// here. Expressions (xmath, xview) are included by the .cpp files that need them.
#if __has_include(<xtensor/containers/xarray.hpp>)
#include <xtensor/containers/xarray.hpp>
#else
#include <xtensor/xarray.hpp>
#endif

#include <cstddef>
#include <limits>
#include <new>
#include <string>
#include <vector>

namespace vitruvian {

/// The allocator of `Array`.
template <class T>
struct ArrayAllocator {
  using value_type = T;
  ArrayAllocator() = default;
  template <class U>
  ArrayAllocator(const ArrayAllocator<U>&) noexcept {}  // NOLINT(google-explicit-constructor)

  T* allocate(std::size_t n) {
    if (n > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(memory::allocate(n * sizeof(T)));
  }
  void deallocate(T* p, std::size_t n) noexcept { memory::release(p, n * sizeof(T)); }

  friend bool operator==(const ArrayAllocator&, const ArrayAllocator&) { return true; }
};

inline namespace VITRUVIAN_PRECISION {

/// A row-major, contiguous array of `real`, owned by value. No lazy expression is ever stored:
/// assigning one to an `Array` is what ends it.
using Array = xt::xarray_container<xt::uvector<real, ArrayAllocator<real>>,
                                   xt::layout_type::row_major, xt::svector<std::size_t, 4>>;
using Shape = Array::shape_type;

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

/// The adjoint of broadcasting `shape` to g's shape: the sum of `g` over every axis that was
/// stretched or added. Returns `g` itself when there is none; throws where broadcasting `shape`
/// does not give g's shape.
Array unbroadcast(Array g, const Shape& shape);

/// a += b and a += c b, which throw where the shapes differ; a *= c.
void add_in_place(Array& a, const Array& b);
void add_multiple(Array& a, real c, const Array& b);
void scale(Array& a, real c);

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
