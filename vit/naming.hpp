#pragma once

#include "nn/tensor_file.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// One model, four ways to call its tensors: torchvision's, timm's (which are ours), Hugging Face's
// ViTForImageClassification, and the original JAX code's (flax, whose matrices are transposed and
// whose heads have an axis of their own). A table says what is called how; it is read in both
// directions, and nothing is lost in either.

namespace vitruvian {

enum class Scheme { torchvision, timm, hf, jax };

/// "torchvision", "timm", "hf", "jax"; in the order of the enumeration.
const std::vector<std::string>& scheme_names();
/// Throws (Exit::usage) on a name that does not exist.
Scheme scheme_of(const std::string& name);
std::string name_of(Scheme scheme);
/// As it stands in a sentence: "Hugging Face's".
std::string names_of(Scheme scheme);

/// The scheme that most of the file's names belong to. Throws (Exit::checkpoint) when none does.
Scheme detect_scheme(const TensorFile& file);

/// What the tensors of a ViT say about its sizes; 0 where they do not.
struct StoredSizes {
  std::size_t C = 0, P = 0, D = 0, L = 0, M = 0;
  std::size_t K = 0;       ///< 0 where the file has no head
  std::size_t tokens = 0;  ///< rows of the position embeddings
  std::size_t h = 0;       ///< JAX's shapes tell it; 0 under the other schemes
};

/// The tensors under our names and in our layouts: views, nothing is read. Throws
/// (Exit::checkpoint), naming the file, the scheme it looks like, and the tensors of that scheme
/// that are missing, misshapen, there twice under an old and a new name, or that it does not know.
/// A head may be missing when `headless` says so.
struct Named {
  TensorFile file;
  StoredSizes sizes;
};
Named to_timm(const TensorFile& file, Scheme scheme, bool headless = false);

/// The other direction, for `heads` attention heads. Throws (Exit::checkpoint) on a tensor that the
/// scheme has no name for.
TensorFile from_timm(const TensorFile& file, Scheme scheme, std::size_t heads);

}  // namespace vitruvian
