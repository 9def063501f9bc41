#pragma once

#include "vitruvian/vit/inspect/block_graph.hpp"
#include "vitruvian/vit/model.hpp"

#include <cstddef>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace inspect {

/// Carries z (B, T, D) of random numbers through block `layer` and back, on one thread, and reads
/// the tape: the fused ops, or their twins with `composed`. Throws (Exit::usage) when there is no
/// such block.
BlockGraph block_graph(const VisionTransformer& model, std::size_t layer, std::size_t B = 1,
                       bool composed = false);

}  // namespace inspect
}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
