#pragma once

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/tensor.hpp"

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

/// The value of `x`; throws, naming the op and its argument, when the tensor is absent.
inline const Array& given(const char* op, const char* argument, const Tensor& x) {
  if (!x) fail("{}: {} is absent; it must be a tensor that has a value", op, argument);
  return x.value();
}

/// A result whose own rule does not read its value, so that a sum may take it over (`operator+`).
inline Tensor unread(Tensor y) {
  y.node().unread = true;
  return y;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
