#pragma once

#include "vitruvian/nn/tensor_file.hpp"

#include <cstdint>
#include <string>
#include <vector>

// The numbers of files, and what they become here. Internal to nn.

namespace vitruvian {

/// What may stand in a file. float16 is IEEE's binary16 (5 bits of exponent, 10 of fraction),
/// bfloat16 the upper half of a float32; `other` is a type whose numbers are not read.
enum class FileType { f32, f64, f16, bf16, other };

/// A type as a file names it.
struct NamedType {
  FileType type = FileType::f32;
  std::size_t bits = 32;  ///< of a number
  std::string name;       ///< "BF16", "<f4"
};

Dtype dtype_of(FileType type);
/// float16 and bfloat16 as float32, exactly; the rest stays as it is.
Bytes upcast(Bytes bytes, FileType type);
/// Throws (Exit::checkpoint), naming `what` and the type, where its numbers are not read.
void check_readable(const NamedType& type, const std::string& what);

/// The bytes that numbers of so many bits need in a shape; throws (Exit::checkpoint), naming
/// `what`, when memory cannot address them, or when they do not end with a byte. A length of 0
/// makes them 0 wherever it stands, but hides no overflow beside it.
std::uint64_t bytes_of_shape(const std::vector<std::size_t>& shape, std::size_t bits,
                             const std::string& what);

/// An error that quotes names needs names that are no book and have no second line.
inline constexpr std::size_t longest_name = 1'000;
/// More axes than this are no tensor.
inline constexpr std::size_t largest_rank = 16;

}  // namespace vitruvian
