#pragma once

#include "nn/tensor_file.hpp"

#include <cstdint>
#include <string>
#include <vector>

// The numbers of files, and what they become here. Internal to nn.

namespace vitruvian {

/// What may stand in a file. float16 is IEEE's binary16 (5 bits of exponent, 10 of fraction),
/// bfloat16 the upper half of a float32.
enum class FileType { f32, f64, f16, bf16 };

std::size_t width(FileType type);
Dtype dtype_of(FileType type);
/// Halves become float32, exactly; the rest stays as it is.
Bytes widened(Bytes bytes, FileType type);

/// The bytes that numbers of this width need in a shape; throws (Exit::checkpoint), naming `what`,
/// when 63 bits do not hold them. A length of 0 makes them 0 wherever it stands, but hides no
/// overflow beside it.
std::uint64_t bytes_of_shape(const std::vector<std::size_t>& shape, std::size_t width,
                             const std::string& what);

/// An error that quotes names needs names that are no book and have no second line.
inline constexpr std::size_t longest_name = 1'000;
/// More axes than this are no tensor.
inline constexpr std::size_t largest_rank = 16;

}  // namespace vitruvian
