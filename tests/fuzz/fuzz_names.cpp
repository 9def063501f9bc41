// What follows the reader of weights: whose names they are, our names for them, and theirs again.

#include "tests/fuzz/fuzz.hpp"
#include "vitruvian/nn/safetensors_file.hpp"
#include "vitruvian/vit/weights/naming.hpp"

#include <cstdlib>

void read_one(const std::shared_ptr<const vitruvian::ByteSource>& source) {
  using namespace vitruvian;
  const TensorFile file = read_safetensors(source);
  const Named named = to_timm(file, detect_scheme(file), {.head = true});
  for (const StoredTensor& t : from_timm(named.file, Scheme::torchvision, 1).tensors) {
    if (t.size() <= 100'000 && t.values().size() != t.size()) std::abort();
  }
}
