#pragma once

#include "vitruvian/core/base/rng.hpp"
#include "vitruvian/nn/layers.hpp"

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

/// Weights of attention as they look after long training (Trockman and Kolter 2023, "Mimetic
/// Initialization of Self-Attention Layers", arXiv 2305.09828). With U_q of a head and so on as the
/// matrices that a token, a row, is multiplied by, and every Z (D, D) drawn from N(0, 1 / D) anew:
///   U_q U_k^T = the nearest matrix of rank D / h to 0.7 Z + 0.7 I   (of each head)
///   U_v U_msa = 0.4 Z - 0.4 I                                       (of all heads together)
/// Both are split evenly: of a product with the singular values s, each factor has their roots. So
/// tokens attend to those that are like themselves, and what attention adds draws them apart.
void mimetic_attention(const MultiHeadSelfAttention& attention, const Rng& rng);

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
