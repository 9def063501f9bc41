#pragma once

#include "vitruvian/nn/parameter.hpp"
#include "vitruvian/nn/tensor_file.hpp"

#include <string>
#include <vector>

// A model's parameters in a file, under their names.

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

/// The parameters as a file would hold them; they must outlive the result.
std::vector<StoredTensor> stored_tensors(const std::vector<NamedParameter>& parameters);

/// Writes the parameters in this precision, safely (see core/base/safe_file.hpp).
void save(const std::vector<NamedParameter>& parameters, const std::string& path,
          const Metadata& metadata = {});
template <class Module>
void save(const Module& module, const std::string& path, const Metadata& metadata = {}) {
  save(named_parameters(module), path, metadata);
}

/// Fills the parameters from a file that has exactly them, converting precision where it differs.
/// Throws (Exit::checkpoint), naming every tensor that is missing, unknown or misshapen (the first
/// few of them), before any parameter is changed: only a file that can no longer be read stops it
/// halfway.
void load(const std::vector<NamedParameter>& parameters, const TensorFile& file);
template <class Module>
void load(const Module& module, const TensorFile& file) {
  load(named_parameters(module), file);
}
/// The same from a path. Returns the file's metadata.
template <class Module>
Metadata load(const Module& module, const std::string& path) {
  const TensorFile file = read_safetensors(path);
  load(module, file);
  return file.metadata;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
