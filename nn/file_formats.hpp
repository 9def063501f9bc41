#pragma once

#include "vitruvian/nn/tensor_file.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

// What the readers of files share, and the header of .npy. Internal to nn.

namespace vitruvian {

// --- the numbers of files, and what they become here

/// What may stand in a file. float16 is IEEE's binary16 (5 bits of exponent, 10 of fraction),
/// bfloat16 the upper half of a float32; `other` is a type whose numbers are not read.
enum class FileType { f32, f64, f16, bf16, other };

/// A type as a file names it.
struct NamedType {
  FileType type = FileType::f32;
  std::size_t bits = 32;  ///< of a number
  std::string name;       ///< "BF16", "<f4"
};

/// Throws (Exit::checkpoint) "what: problem".
[[noreturn]] void refuse(const std::string& what, const std::string& problem);

Dtype dtype_of(FileType type);
/// float16 and bfloat16 as float32, exactly; the rest stays as it is.
Bytes upcast(Bytes bytes, FileType type);
/// Throws (Exit::checkpoint), naming `what` and the type, where its numbers are not read.
void check_readable(const NamedType& type, const std::string& what);

/// The `n` numbers in `bytes`; narrowing to float rounds to nearest, as the processor does.
template <class Number, class To>
void copy_numbers(const Bytes& bytes, To* to, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    Number x = 0;
    std::memcpy(&x, bytes.data() + i * sizeof x, sizeof x);
    to[i] = static_cast<To>(x);
  }
}

/// And the way back.
template <class Numbers>
Bytes as_bytes(const Numbers& numbers) {
  const char* const begin = reinterpret_cast<const char*>(numbers.data());
  return Bytes(begin, begin + numbers.size() * sizeof *numbers.data());
}

/// A whole number, its lowest byte first; of up to 8 bytes.
std::uint64_t little_endian(std::string_view bytes);

/// The bytes that numbers of so many bits need in a shape; throws (Exit::checkpoint), naming
/// `what`, when memory cannot address them, or when they do not end with a byte. A length of 0
/// makes them 0 wherever it stands, but hides no overflow beside it.
std::uint64_t bytes_of_shape(const std::vector<std::size_t>& shape, std::size_t bits,
                             const std::string& what);

/// An error that quotes names needs names that are no book and have no second line.
inline constexpr std::size_t longest_name = 1'000;
bool is_control(char c);
/// Whether it is no longer than that, and a line.
bool is_tensor_name(const std::string& name);
/// Throws (Exit::checkpoint), naming the file and the name, where sorted tensors have one name.
void check_names_differ(const TensorFile& file);
/// More axes than this are no tensor.
inline constexpr std::size_t largest_rank = 16;

// --- the header of numpy's .npy format: "\x93NUMPY", two bytes of version, the length of the text
// that follows (two bytes in version 1.0, four later), and that text, a Python dictionary such as
// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } padded with spaces.

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
