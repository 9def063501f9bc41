#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// The safetensors format: the length of the header (8 bytes, little-endian), the header (JSON: for
// each tensor its dtype, shape, and [begin, end) among the data bytes), and the data. The reader is
// for files that users bring: it believes nothing before it has checked it.

namespace vitruvian {

enum class Dtype { f32, f64 };

/// Strings about the file as a whole: what safetensors calls __metadata__.
using Metadata = std::map<std::string, std::string>;

/// A tensor in a file: what it is called, and where its row-major, little-endian bytes are.
struct StoredTensor {
  std::string name;
  Dtype dtype = Dtype::f32;
  std::vector<std::size_t> shape;
  std::span<const char> bytes;

  /// How many numbers it holds.
  [[nodiscard]] std::size_t size() const;
  /// Number i, widened to double.
  [[nodiscard]] double operator[](std::size_t i) const;
};

/// The tensors of a buffer, which must outlive them, sorted by name.
struct Safetensors {
  std::string source;  ///< what errors call it: a path
  Metadata metadata;
  std::vector<StoredTensor> tensors;

  /// Throws (Exit::checkpoint) when there is none, naming the nearest.
  [[nodiscard]] const StoredTensor& at(std::string_view name) const;
};

/// A file in memory: the bytes, and what they mean. Move-only: the content points into the bytes.
struct SafetensorsFile {
  SafetensorsFile() = default;
  ~SafetensorsFile() = default;
  SafetensorsFile(SafetensorsFile&&) noexcept = default;
  SafetensorsFile& operator=(SafetensorsFile&&) noexcept = default;
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  std::vector<char> bytes;
  Safetensors content;
};

/// Reads a whole buffer. Throws (Exit::checkpoint), naming `source` and what is wrong: a header
/// that is too long, no JSON, or repeats a name; an unknown dtype; a shape that overflows or does
/// not fit its bytes; tensors that overlap, leave holes, or lie outside; bytes that nobody owns.
/// The memory it takes is bounded by a constant times the header, which must not be above 16 MB.
Safetensors parse_safetensors(std::span<const char> bytes, const std::string& source);

/// Reads a file, and no more of memory than its size. Throws as above.
SafetensorsFile read_safetensors(const std::string& path);

/// Writes tensors safely (see core/safe_file.hpp), sorted by name. The same input gives the same
/// bytes. Throws (Exit::failure) naming the path and the reason.
void write_safetensors(const std::string& path, std::vector<StoredTensor> tensors,
                       const Metadata& metadata);

}  // namespace vitruvian
