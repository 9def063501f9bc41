#pragma once

#include "vitruvian/core/array.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <utility>
#include <vector>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

// What ops take beside tensors: axes, lengths of axes, and places along them.

/// One axis, several, or none named, which means all: `sum(x, 1)`, `sum(x, {0, -1})`, `sum(x)`.
class Axes : public std::vector<int> {
 public:
  Axes() = default;
  Axes(int axis) : vector(1, axis) {}  // NOLINT(google-explicit-constructor)
  Axes(bool) = delete;                 // `keepdim` comes after the axes
  Axes(std::initializer_list<int> axes) : vector(axes) {}
  Axes(std::vector<int> axes) : vector(std::move(axes)) {}  // NOLINT(google-explicit-constructor)
};

/// What `reshape` takes: integers of any type, of which one may be -1; another array's shape; or
/// some of it.
///
///   reshape(x, {B, T, -1})     reshape(x, y.shape())     reshape(x, {s.begin() + 1, s.end()})
class Lengths : public std::vector<std::ptrdiff_t> {
 public:
  template <std::integral... Ns>
  Lengths(Ns... lengths)  // NOLINT(google-explicit-constructor)
      : vector{checked(lengths)...} {}
  template <std::input_iterator It>
  requires std::integral<std::iter_value_t<It>> Lengths(It first, It last) {
    for (; first != last; ++first) push_back(checked(*first));
  }
  Lengths(const Shape& shape)  // NOLINT(google-explicit-constructor)
      : Lengths(shape.begin(), shape.end()) {}
  Lengths(std::vector<std::ptrdiff_t> lengths)  // NOLINT(google-explicit-constructor)
      : vector(std::move(lengths)) {}

 private:
  template <std::integral N>
  static std::ptrdiff_t checked(N n) {
    if (!std::in_range<std::ptrdiff_t>(n)) too_long(static_cast<std::uint64_t>(n));
    return static_cast<std::ptrdiff_t>(n);
  }
  [[noreturn]] static void too_long(std::uint64_t length);
};

/// Whole numbers of any integer type that name classes (labels) or places along an axis, in
/// row-major order. A negative one is kept as it is, so that an op which refuses it can say which
/// it was.
///
///   cross_entropy(logits, {0, 2})           gather(x, 1, {{2, 3}, {0, 4, 1, 2, 2, 0}})
class Indices {
 public:
  Indices() = default;
  template <std::integral I>
  Indices(std::initializer_list<I> values)  // NOLINT(google-explicit-constructor)
      : shape_{values.size()}, values_(values.begin(), values.end()) {}
  template <std::integral I>
  Indices(const std::vector<I>& values)  // NOLINT(google-explicit-constructor)
      : shape_{values.size()}, values_(values.begin(), values.end()) {}
  /// Throws when the shape does not take so many values.
  Indices(const Shape& shape, const std::vector<std::ptrdiff_t>& values);

  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] std::size_t size() const { return values_.size(); }
  [[nodiscard]] std::ptrdiff_t operator[](std::size_t i) const {
    return static_cast<std::ptrdiff_t>(values_[i]);
  }
  /// The same as places: a negative one is huge.
  [[nodiscard]] const std::vector<std::size_t>& values() const { return values_; }

 private:
  Shape shape_ = {0};
  std::vector<std::size_t> values_;
};

/// The place of `axis` in an array of `rank` axes; negative ones count from the end. Throws, naming
/// `op`, when there is no such axis.
std::size_t normalise_axis(const char* op, int axis, std::size_t rank);
/// The same for a set, sorted and without repetition (which throws). An empty set means all axes.
std::vector<std::size_t> normalise_axes(const char* op, const Axes& axes, std::size_t rank);

/// The shape both broadcast to by numpy's rule: aligned at the last axis, equal or 1. Throws,
/// naming `op` and both shapes.
Shape broadcast_shape(const char* op, const Shape& a, const Shape& b);

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
