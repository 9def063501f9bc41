#pragma once

#include "vitruvian/vit/model.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

/// A node of the tape, and what it costs.
struct GraphNode {
  std::string op;    ///< "linear"; "leaf" for the input and for parameters
  std::string path;  ///< the module: "attn.qkv"; of a parameter its name
  std::vector<std::size_t> shape;
  std::vector<std::size_t> inputs;  ///< indices of nodes
  bool parameter = false;
  std::uint64_t bytes = 0;  ///< of the value; 0 where a residual's sum took its memory over
  std::uint64_t saved = 0;  ///< what its rule keeps beside values of the tape: saved statistics
  std::uint64_t forward_flops = 0;
  std::uint64_t backward_flops = 0;
  double forward_seconds = 0;
  double backward_seconds = 0;
};

/// What one encoder block puts on the tape for a batch: inputs come before what uses them.
struct BlockGraph {
  std::size_t layer = 0;
  std::vector<GraphNode> nodes;

  /// What backward keeps alive: the values of the tape without parameters, and what rules saved.
  [[nodiscard]] std::uint64_t kept_bytes() const;
  /// For graphviz: `dot -Tsvg`.
  [[nodiscard]] std::string to_dot() const;
  /// A table of the nodes, then the ledger: kept values and saved statistics, largest first.
  [[nodiscard]] std::string to_text() const;
};

namespace inspect {

/// Carries z (B, T, D) of random numbers through block `layer` and back, on one thread, and reads
/// the tape: the fused ops, or their twins with `composed`. Throws (Exit::usage) when there is no
/// such block.
BlockGraph block_graph(const VisionTransformer& model, std::size_t layer, std::size_t B = 1,
                       bool composed = false);

}  // namespace inspect

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
