#pragma once

#include "vitruvian/nn/tensor_file.hpp"

#include <memory>
#include <string>
#include <vector>

// The safetensors format: the length of the header (8 bytes, little-endian), the header (JSON: for
// each tensor its dtype, shape, and [begin, end) among the data bytes), and the data. The reader is
// for files that users bring: it believes nothing before it has checked it.

namespace vitruvian {

/// Opens a file: reads and checks its header only. Throws (Exit::checkpoint), naming the file and
/// what is wrong: a header that is too long (above 16 MB), no JSON from its first byte to its
/// padding of spaces, or repeats a name; a dtype that the format does not have; a shape that
/// overflows or does not fit its bytes; tensors that overlap, leave holes, or lie outside; bytes
/// that nobody owns; more than 65,536 names, or one that is no line of at most 1,000 characters.
/// Tensors of other types than F64, F32, F16 and BF16 are listed, but not read.
TensorFile read_safetensors(const std::shared_ptr<const ByteSource>& file);
TensorFile read_safetensors(const std::string& path);

/// Writes tensors safely (see core/base/safe_file.hpp), one at a time, sorted by name. The same
/// input gives the same bytes. Throws (Exit::failure) naming the path and the reason.
void write_safetensors(const std::string& path, std::vector<StoredTensor> tensors,
                       const Metadata& metadata);

}  // namespace vitruvian
