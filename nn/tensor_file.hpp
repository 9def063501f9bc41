#pragma once

#include "vitruvian/core/base/byte_source.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

// Tensors that lie in a file: their names, types and shapes are known, their numbers are read when
// somebody asks. So a file can be renamed, cut and resized without being in memory.

namespace vitruvian {

/// What the numbers are. Half precision in a file (float16, bfloat16) is widened to float32 as it
/// is read, which loses nothing. Any other type that the format has (integers, say, which are no
/// weights) is listed with its name and shape, but its numbers are not read.
enum class Dtype { f32, f64, other };
/// Bytes of a number; 0 for `other`.
std::size_t width(Dtype dtype);

/// Strings about the file as a whole: what safetensors calls __metadata__.
using Metadata = std::map<std::string, std::string>;

using Bytes = std::vector<char>;

struct StoredTensor {
  std::string name;
  Dtype dtype = Dtype::f32;
  std::vector<std::size_t> shape;
  /// The numbers: row-major, little-endian, size() * width(dtype) bytes. Throws (Exit::checkpoint)
  /// when they cannot be read, naming the tensor and its type where that is `other`.
  std::function<Bytes()> read;

  /// How many numbers it holds.
  [[nodiscard]] std::size_t size() const;
  /// The numbers, widened to double.
  [[nodiscard]] std::vector<double> values() const;
};

/// The tensors of a file, or what was made of them, sorted by name.
struct TensorFile {
  std::string source;  ///< what errors call it: a path
  Metadata metadata;
  std::vector<StoredTensor> tensors;

  /// Null when there is none.
  [[nodiscard]] const StoredTensor* find(std::string_view name) const;
  /// Throws (Exit::checkpoint) when there is none, naming the nearest.
  [[nodiscard]] const StoredTensor& at(std::string_view name) const;
  /// The numbers in all tensors; saturates.
  [[nodiscard]] std::uint64_t size() const;
};

/// As a TensorFile has them.
void sort_by_name(std::vector<StoredTensor>& tensors);

/// A tensor whose numbers are given. Throws where there are not as many as the shape says.
StoredTensor stored(std::string name, std::vector<std::size_t> shape, std::vector<double> values,
                    Dtype dtype = Dtype::f32);
/// A tensor of zeros.
StoredTensor stored_zeros(std::string name, std::vector<std::size_t> shape,
                          Dtype dtype = Dtype::f32);

/// Views of stored tensors: nothing is read before somebody reads the result. They throw, naming
/// the tensor, for a shape of another size, axes that are not all of its own, each once, rows that
/// it does not have, and parts whose rows differ in shape.
StoredTensor reshaped(StoredTensor tensor, std::vector<std::size_t> shape);
/// Axis k of the result is axis axes[k] of the tensor.
StoredTensor permuted(const StoredTensor& tensor, const std::vector<std::size_t>& axes);
/// [begin, end) of the first axis.
StoredTensor rows(const StoredTensor& tensor, std::size_t begin, std::size_t end);
/// One after the other along the first axis. All must have the same dtype.
StoredTensor concatenated(const std::vector<StoredTensor>& parts);

/// Opens a file of weights: .pth where it is a zip archive with a data.pkl, .npz where it is
/// another, otherwise safetensors. Only its list of tensors is read; the numbers are when somebody
/// asks. PyTorch's older forms are named and refused.
TensorFile read_tensor_file(const std::shared_ptr<const ByteSource>& file);
TensorFile read_tensor_file(const std::string& path);

// --- the safetensors format: the length of the header (8 bytes, little-endian), the header (JSON:
// for each tensor its dtype, shape, and [begin, end) among the data bytes), and the data. The
// reader is for files that users bring: it believes nothing before it has checked it.

/// Opens a file: reads and checks its header only. Throws (Exit::checkpoint), naming the file and
/// what is wrong: a header that is too long (above 16 MB), no JSON from its first byte to its
/// padding of spaces, or repeats a name; a dtype that the format does not have; a shape that
/// overflows or does not fit its bytes; tensors that overlap, leave holes, or lie outside; bytes
/// that nobody owns; more than 65,536 names, or one that is no line of at most 1,000 characters.
/// Tensors of other types than F64, F32, F16 and BF16 are listed, but not read.
TensorFile read_safetensors(const std::shared_ptr<const ByteSource>& file);
TensorFile read_safetensors(const std::string& path);

/// Writes tensors safely (see core/base/safe_file.hpp), one at a time, sorted by name. The same
/// input gives the same bytes. Throws (Exit::failure) naming the path and the reason; also for what
/// read_safetensors would refuse: a name that comes twice or is no line of at most 1,000
/// characters, numbers that do not fill their shape.
void write_safetensors(const std::string& path, std::vector<StoredTensor> tensors,
                       const Metadata& metadata);

// --- numpy's .npz

/// Opens a .npz file (a zip archive of .npy files, as numpy and JAX write it): reads the headers of
/// its arrays only. A name is the entry's, without ".npy". Throws (Exit::checkpoint), naming the
/// file, the entry and what is wrong; where the archive promises more than its packed bytes can
/// hold, before anything of that size is allocated. Says so where the build has no libzip.
/// Arrays of other types than <f2, <f4, <f8 and |V2 are listed, but not read.
TensorFile read_npz(const std::shared_ptr<const ByteSource>& file);

// --- PyTorch's .pth and .pt: a zip archive of a pickle and of the storages that it names

/// Whether a zip archive is such a file. Throws as read_pth does where it is no whole archive.
bool is_pth(const std::shared_ptr<const ByteSource>& file);

/// Opens the state dict that torch.save writes since PyTorch 1.6, alone or in a checkpoint, where
/// it is called model, state_dict or the like. A pickle is a program: of this one nothing is run,
/// and whatever a state dict does not need is refused by its name (nn/pickle.hpp). Throws
/// (Exit::checkpoint), naming the file and what is wrong: an entry that is packed, comes twice, or
/// is no part of a state dict; a tensor beyond its storage, or one that is a view of another;
/// tensors that share so many numbers that they would be more than twice what is stored. Tensors of
/// other types than float64, float32, float16 and bfloat16 are listed, but not read. Says so where
/// the build has no libzip.
TensorFile read_pth(const std::shared_ptr<const ByteSource>& file);

}  // namespace vitruvian
