#pragma once

#include "tests/datasets/datasets_testing.hpp"
#include "tests/folder.hpp"
#include "tests/skip.hpp"
#include "vitruvian/datasets/fetch/checksum.hpp"
#include "vitruvian/datasets/fetch/fetch.hpp"

#include <string>

// What the tests of fetched files and archives share.

namespace vitruvian {

inline std::string noise(std::size_t n) {
  std::string text;
  for (std::size_t i = 0; i < n; ++i) text += static_cast<char>((i * i * 31 + i / 7) >> 3U);
  return text;
}

inline bool has_checksums() {
  if (!Checksum::available()) skip("this build has no OpenSSL");
  return Checksum::available();
}

inline std::string sha256(const std::string& text) {
  Checksum checksum;
  checksum.update(text);
  return checksum.hex();
}

}  // namespace vitruvian
