// One reader of weights, READ (read_safetensors or read_npz): the list of tensors, then the numbers
// of those that are small.

#include "tests/fuzz/fuzz.hpp"
#include "vitruvian/nn/npz.hpp"
#include "vitruvian/nn/safetensors_file.hpp"

#include <cstdlib>

void read_one(const std::shared_ptr<const vitruvian::ByteSource>& source) {
  const vitruvian::TensorFile file = vitruvian::READ(source);
  for (const vitruvian::StoredTensor& t : file.tensors) {
    if (t.size() <= 1000 && t.values().size() != t.size()) std::abort();
  }
}
