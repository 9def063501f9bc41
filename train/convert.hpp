#pragma once

#include "vitruvian/vit/weights/weights.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace vitruvian {

struct ConvertOptions {
  std::string from;              ///< safetensors, .npz or .pth, or a run directory
  std::string to;                ///< safetensors; or NAME.onnx; or under Scheme::hf a folder
  Scheme scheme = Scheme::timm;  ///< whose names; an ONNX file has operators instead

  [[nodiscard]] bool to_onnx() const { return to.ends_with(".onnx"); }
  WeightsRequest request;
};

struct Converted {
  ViTConfig config;
  Scheme from = Scheme::timm;
  std::size_t tensors = 0;  ///< that were written
  std::vector<std::string> notes;
};

/// Writes weights under another naming scheme (float16 and bfloat16 become float32), one tensor in
/// memory at a time. The new file carries the config, and mean and std: those of the old file, or
/// what the project of its scheme normalises by. What the project's model has no switch for is
/// written out (vit/weights/held.hpp).
///
/// To NAME.onnx it writes the model as a graph (vit/onnx/graph.hpp), whose metadata_props say the
/// same, with the classes' names and how a picture becomes its input. Under Scheme::hf, where `to`
/// is a folder or ends in '/', it makes the folder that transformers opens (train/hf_folder.hpp).
///
/// Throws as open_weights does, (Exit::usage) for a model that
/// the scheme's project cannot hold, and (Exit::failure) when the new file cannot be written; there
/// is none then.
Converted convert(const ConvertOptions& options);

}  // namespace vitruvian
