#pragma once

#include <cstdint>
#include <string_view>

namespace vitruvian {

/// The checksum of gzip and PNG (ISO 3309), for programs without zlib: a bit at a time. `before` is
/// that of the bytes before these.
inline std::uint32_t crc32(std::string_view bytes, std::uint32_t before = 0) {
  std::uint32_t c = ~before;
  for (const char byte : bytes) {
    c ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1U) ^ ((c & 1U) != 0 ? 0xEDB88320U : 0U);
  }
  return ~c;
}

}  // namespace vitruvian
