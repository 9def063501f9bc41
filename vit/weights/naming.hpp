#pragma once

#include "vitruvian/nn/tensor_file.hpp"

#include <cstddef>
#include <string>
#include <vector>

// One model, four ways to call its tensors: torchvision's, timm's (which are ours too), Hugging
// Face's ViTForImageClassification, and the original JAX code's (flax, whose matrices are
// transposed and whose heads have an axis of their own). A table says what is called how; it is
// read in both directions, and nothing is lost in either. What models the others can hold besides,
// vit/weights/held.hpp says.

namespace vitruvian {

enum class Scheme {
  torchvision,
  timm,
  hf,
  jax,
  vitruvian  ///< timm's names, for every model that a config can say
};

/// "torchvision", "timm", "hf", "jax", "vitruvian"; in the order of the enumeration.
const std::vector<std::string>& scheme_names();
/// Throws (Exit::usage) on a name that does not exist.
Scheme scheme_of(const std::string& name);
std::string name_of(Scheme scheme);
/// As it stands in a sentence: "Hugging Face's".
std::string names_of(Scheme scheme);

/// The scheme that most of the file's names belong to; never ours, whose names are timm's. Throws
/// (Exit::checkpoint) when none does.
Scheme detect_scheme(const TensorFile& file);

/// What the tensors of a ViT say about its sizes; 0 where they do not.
struct StoredSizes {
  std::size_t C = 0, P = 0, D = 0, L = 0, M = 0;
  std::size_t P_w = 0;     ///< the width of a patch
  std::size_t K = 0;       ///< 0 where the file has no head
  std::size_t tokens = 0;  ///< rows of the position embeddings
  std::size_t h = 0;       ///< JAX's shapes tell it, and norms of q and k; 0 otherwise
  std::size_t registers = 0;
  bool swiglu = false;
};

/// What a file may lack.
struct Without {
  bool head = false, class_token = false;
};

/// The tensors under our names and in our layouts: views, nothing is read. Throws
/// (Exit::checkpoint), naming the file, the scheme it looks like, and the tensors of that scheme
/// that are missing, misshapen, there twice under an old and a new name, or that it does not know.
struct Named {
  TensorFile file;
  StoredSizes sizes;
};
Named to_timm(const TensorFile& file, Scheme scheme, const Without& without = {});

/// The other direction, for `heads` attention heads: of a model as `held_by` returns it. Throws
/// (Exit::checkpoint) on a tensor that the scheme has no name for.
TensorFile from_timm(const TensorFile& file, Scheme scheme, std::size_t heads);

}  // namespace vitruvian
