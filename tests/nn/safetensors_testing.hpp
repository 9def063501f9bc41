#pragma once

#include "vitruvian/core/byte_source.hpp"
#include "vitruvian/nn/safetensors_file.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

// What tests of weights in files share.

namespace vitruvian {

// The bytes of a file with this header and so many bytes of data.
inline std::string bytes_of(const std::string& header, std::size_t data) {
  const std::uint64_t length = header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + header + std::string(data, 'x');
}

// The bytes must outlive the result.
inline TensorFile parse_safetensors(const std::string& bytes, const std::string& name) {
  return read_safetensors(std::make_shared<const MemorySource>(bytes, name, Exit::checkpoint));
}

}  // namespace vitruvian
