#pragma once

#include "vitruvian/nn/number_types.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// The header of numpy's .npy format: "\x93NUMPY", two bytes of version, the length of the text that
// follows (two bytes in version 1.0, four later), and that text, a Python dictionary such as
// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } padded with spaces. Internal to nn.

namespace vitruvian {

/// At most so many bytes of a file are header: numpy's own limit.
inline constexpr std::size_t largest_npy_header = 10'000;

struct NpyHeader {
  NamedType type;
  bool fortran_order = false;
  std::vector<std::size_t> shape;
  std::size_t begin = 0;    ///< of the numbers, from the start of the file
  std::uint64_t bytes = 0;  ///< of the numbers
};

/// Parses the header at the start of `bytes`, which hold the whole file or at least
/// `largest_npy_header` of it. Throws (Exit::checkpoint), naming `what`, on anything that is not
/// exactly such a header, on a dtype that has no fixed number of bytes, and on a shape that
/// overflows. |V2 is how JAX saves bfloat16.
NpyHeader parse_npy_header(std::string_view bytes, const std::string& what);

}  // namespace vitruvian
