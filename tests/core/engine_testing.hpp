#pragma once

#include "tests/expect.hpp"
#include "vitruvian/core/ops.hpp"

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

inline Tensor leaf(double value) { return Tensor(scalar(static_cast<real>(value)), true); }
/// The gradient of a scalar leaf.
inline double only(const Tensor& x) { return static_cast<double>(x.grad()->data()[0]); }

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
