#pragma once

#include "vitruvian/core/array.hpp"

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <vector>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

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

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
