#pragma once

#include "vitruvian/nn/file_formats.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// What torch.save writes of a state dict: a pickle, which is a program for a small stack machine.
// Python's own machine would import and call whatever a pickle names. This one knows the opcodes
// that a state dict needs, and the few names of PyTorch and Python; it makes values out of them,
// calls nothing, and refuses the rest. Internal to nn.

namespace vitruvian {

/// One tensor, as the pickle describes it: some of the numbers of a storage, which is an entry of
/// the archive.
struct PickledTensor {
  std::string name;
  NamedType type;             ///< of the storage
  std::string storage;        ///< the entry's key: a number in digits
  std::uint64_t numbers = 0;  ///< in the storage
  std::uint64_t offset = 0;   ///< of the first one, in numbers
  std::vector<std::size_t> shape;
  std::vector<std::uint64_t> strides;  ///< in numbers; as many as the shape has axes
};

/// The largest pickle that is read, and the most values that one may make.
inline constexpr std::uint64_t largest_pickle = 16U << 20U;
inline constexpr std::size_t most_pickled_values = 500'000;

/// The tensors of a state dict: of the pickle's dictionary, or of the one in it that is called
/// model, state_dict or the like, where the checkpoint holds more than the model. What is no tensor
/// (an epoch, a name) is left out. Throws (Exit::checkpoint), naming `what`, on an opcode or a name
/// that no state dict needs, and on anything that is not exactly what PyTorch writes. It takes
/// memory in proportion to the pickle, whatever that says.
std::vector<PickledTensor> parse_state_dict(std::string_view pickle, const std::string& what);

}  // namespace vitruvian
