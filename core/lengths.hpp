#pragma once

#include "vitruvian/core/array.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

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

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
