#pragma once

#include "vitruvian/nn/tensor_file.hpp"
#include "vitruvian/vit/weights/weights.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

// The forward pass as a graph of ONNX's operators (https://onnx.ai/onnx/operators), which other
// programs run. Here it is values: what knows protobuf is write.cpp alone.

namespace vitruvian {

/// The operators are those of this version of ONNX's standard set (2022), the first that has
/// LayerNormalization.
inline constexpr int onnx_opset = 17;

struct OnnxAttribute {
  std::string name;
  std::variant<std::int64_t, double, std::vector<std::int64_t>> value;
};

/// output = op(inputs), each by its name.
struct OnnxNode {
  std::string op;
  std::string output;
  std::vector<std::string> inputs;
  std::vector<OnnxAttribute> attributes;
};

/// Integers that an operator takes as an input: lengths, indices.
struct OnnxIntegers {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> values;
};

struct OnnxGraph {
  std::string source;                   ///< what errors call the weights
  std::vector<std::size_t> image;       ///< the input "images" is (B, C, H, W), normalised
  std::string output;                   ///< "logits" (B, K); "features" (B, D) without a head
  std::size_t width = 0;                ///< K or D
  std::vector<StoredTensor> weights{};  ///< under our names
  std::vector<OnnxIntegers> integers{};
  std::vector<OnnxNode> nodes{};  ///< in the order in which they can be computed
};

/// Equations 1 to 4 for any number of images B. Throws (Exit::usage), naming them, for switches
/// that are on and for tensors that the graph would leave out, and as held_by does where the
/// tensors are not those of the config.
OnnxGraph onnx_graph(VitWeights weights);

/// Writes the graph, its weights in float32, safely (core/base/safe_file.hpp); `metadata` become
/// metadata_props. The same input gives the same bytes. Throws (Exit::usage) for weights beyond the
/// 2 GB of a protobuf message, and (Exit::failure) where the file cannot be written or the build
/// has no ONNX.
void write_onnx(const std::string& path, const OnnxGraph& graph, const Metadata& metadata);

}  // namespace vitruvian
