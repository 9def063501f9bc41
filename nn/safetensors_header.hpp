#pragma once

#include "vitruvian/nn/number_types.hpp"
#include "vitruvian/nn/safetensors_file.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The header of a safetensors file, as it stands in the file: nothing here is compared with the
// data yet. Internal to nn.

namespace vitruvian {

inline constexpr std::size_t most_names = 65'536;  // of tensors and metadata together

struct HeaderEntry {
  std::string name;
  std::optional<NamedType> type;
  std::optional<std::vector<std::size_t>> shape;
  std::optional<std::vector<std::size_t>> offsets;  // begin and end
};

struct Header {
  std::vector<HeaderEntry> entries;
  Metadata metadata;
};

/// Parses the JSON; throws (Exit::checkpoint) on anything that is not such a header, a name or key
/// that comes twice included.
Header parse_header(std::string_view json, const std::string& source);

/// The JSON of a header, sorted by name and padded with spaces, so that it and the 8 bytes before
/// it are a multiple of 8 long. The tensors' data follow one another in the order given.
std::string format_header(const std::vector<StoredTensor>& tensors, const Metadata& metadata);

}  // namespace vitruvian
