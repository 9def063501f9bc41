#pragma once

#include "vitruvian/core/tensor.hpp"
#include "vitruvian/vit/model.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

// How sharply attention looks, and where: what lessons 16, 17, 29 and 30 measure of it.

namespace vitruvian::lessons {
inline namespace VITRUVIAN_PRECISION {

/// Of scores between 64 queries and 64 keys: how far they spread; and, of the median query, the
/// largest share of its attention and the gradient that softmax lets through.
struct Sharpness {
  double spread = 0, share = 0, gradient = 0;
  /// "2, 0.27, 0.15"
  [[nodiscard]] std::string text() const;
};
/// For q and k (64, width) from N(0, 1) and q k^T / divisor.
Sharpness sharpness(std::size_t width, double divisor, std::uint64_t seed);

/// The probabilities A (B, h, T, T) of every layer, for images (B, C, H, W).
std::vector<Tensor> attention_maps(const VisionTransformer& model, const Tensor& images);

/// How much of the class token's attention each of 16 patches gets: from the
/// probabilities of one layer (1, h, 17, 17), (h, 4, 4), the most of each head
/// as 1.
Array class_token_looks(const Tensor& probs);

/// What the class token's row of M (1, 17, 17) puts on patches of 7 x 7 pixels with ink, against
/// the share of such patches among the 16 of a digit: 1 where it is spread evenly.
double on_ink(const Tensor& M, std::span<const std::uint8_t> pixels);

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian::lessons
