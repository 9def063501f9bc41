#include "vitruvian/nn/number_types.hpp"

#include "vitruvian/core/base/error.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

namespace vitruvian {
namespace {

float from_half(std::uint16_t bits) {
  const int exponent = bits >> 10U & 0x1F;
  const unsigned fraction = bits & 0x3FFU;
  const std::uint32_t sign = (bits & 0x8000U) << 16U;
  if (exponent == 0) {  // zero, and the subnormal numbers: fraction 2^-24
    const float magnitude = std::ldexp(static_cast<float>(fraction), -24);
    return sign == 0 ? magnitude : -magnitude;
  }
  // Infinity and NaN keep their exponent of all ones; other exponents have another bias.
  const std::uint32_t wide = exponent == 0x1F ? 0xFFU : static_cast<std::uint32_t>(exponent) + 112U;
  return std::bit_cast<float>(sign | wide << 23U | fraction << 13U);
}

}  // namespace

Dtype dtype_of(FileType type) {
  if (type == FileType::other) return Dtype::other;
  return type == FileType::f64 ? Dtype::f64 : Dtype::f32;
}

void check_readable(const NamedType& type, const std::string& what) {
  if (type.type != FileType::other) return;
  fail(Exit::checkpoint, "{} has dtype '{}'; float64, float32, float16 and bfloat16 are read", what,
       type.name);
}

Bytes upcast(Bytes bytes, FileType type) {
  if (type == FileType::f32 || type == FileType::f64) return bytes;
  Bytes result(bytes.size() / 2 * sizeof(float));
  for (std::size_t i = 0; i < bytes.size() / 2; ++i) {
    std::uint16_t half = 0;
    std::memcpy(&half, bytes.data() + 2 * i, sizeof half);
    const float x =
        type == FileType::f16 ? from_half(half) : std::bit_cast<float>(std::uint32_t{half} << 16U);
    std::memcpy(result.data() + i * sizeof x, &x, sizeof x);
  }
  return result;
}

std::uint64_t bytes_of_shape(const std::vector<std::size_t>& shape, std::size_t bits,
                             const std::string& what) {
  constexpr std::uint64_t most = std::numeric_limits<std::ptrdiff_t>::max();
  std::uint64_t count = 1;
  for (const std::size_t n : shape) {
    if (n != 0 && count > most / n) {
      fail(Exit::checkpoint, "{}: its shape {} overflows", what, shape_text(shape));
    }
    count *= std::max<std::size_t>(n, 1);
  }
  if (count / 8 >= most / bits) {  // count * bits / 8 may be above `most`
    fail(Exit::checkpoint, "{}: its shape {} overflows", what, shape_text(shape));
  }
  if (std::find(shape.begin(), shape.end(), 0U) != shape.end()) return 0;
  if (count % 8 * bits % 8 != 0) {
    fail(Exit::checkpoint, "{}: its shape {} does not end with a byte", what, shape_text(shape));
  }
  return count / 8 * bits + count % 8 * bits / 8;
}

}  // namespace vitruvian
