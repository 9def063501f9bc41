#pragma once

#include "vitruvian/core/tensor.hpp"

#include <fmt/format.h>

#include <ostream>
#include <string>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

/// `x` as numpy would write it, six digits a number: "Tensor([[1, 2],\n        [3, 4]], by 'mul')".
/// Of more than 1000 elements three at either end of an axis are shown, and then the shape.
std::string printed(const Tensor& x);
std::ostream& operator<<(std::ostream& out, const Tensor& x);

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian

/// \cond
/// `fmt::print("{}", x)`: the same.
template <>
struct fmt::formatter<vitruvian::Tensor> : fmt::formatter<fmt::string_view> {
  template <class FormatContext>
  auto format(const vitruvian::Tensor& x, FormatContext& context) const {
    return fmt::formatter<fmt::string_view>::format(vitruvian::printed(x), context);
  }
};
/// \endcond
