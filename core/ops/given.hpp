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

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
