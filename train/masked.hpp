#pragma once

#include "vitruvian/core/base/rng.hpp"
#include "vitruvian/datasets/loader.hpp"
#include "vitruvian/nn/layers.hpp"
#include "vitruvian/train/learner.hpp"
#include "vitruvian/vit/model.hpp"

#include <cstddef>
#include <span>
#include <vector>

// Masked patch prediction: what the paper tries in section 4.6 and describes in its appendix B.1.2.
// Half of the patches are corrupted, and of each of them the model is to say the mean colour. No
// label is needed: the pictures are their own.

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

/// Mean colours have 3 bits a channel, 8 levels: a grey image has 8 of them, RGB 512.
std::size_t colours_of(std::size_t channels);

/// The mean colour of every patch of normalised images (B, C, H, W), in raster order: with the mean
/// m_c in [0, 1] of its pixels in each channel, and floor(8 m_c), at most 7, the digits of a number
/// to the base 8, the first channel's first. B N numbers below colours_of(C).
std::vector<std::size_t> mean_colours(const Array& images, const ViTConfig& config,
                                      std::span<const double> mean, std::span<const double> std);

/// What becomes of an image's N patches before they are placed.
struct Corruption {
  std::vector<std::size_t> patches;  ///< N / 2 of them, by number: those that are asked for
  std::vector<bool> masked;          ///< (N): whether the [mask] embedding stands in its place
  std::vector<std::size_t> source;   ///< (N): whose embedding it has: its own, or another patch's
};

/// Chooses half of N patches (at least 1; N is at least 2) by chance, and for each by chance again:
/// 80 % become [mask], 10 % become another patch of the image, 10 % are kept. A function of the
/// stream alone.
Corruption corrupt(std::size_t N, const Rng& rng);

/// A ViT, the embedding that stands for what is hidden, and a head for colours.
struct MaskedViT {
  const VisionTransformer& vit;
  Parameter mask_token;           // (1, 1, D)
  Linear mask_head;               // (8^C, D)
  std::vector<double> mean, std;  // (C): how the images were normalised

  /// The token is drawn from N(0, 0.02^2), the head is zero. The ViT must outlive it.
  MaskedViT(const VisionTransformer& model, std::vector<double> means,
            std::vector<double> deviations, const Rng& rng);

  /// What it says of the S corrupted patches of images (B, C, H, W), a corruption each: logits (B
  /// S, 8^C).
  Tensor operator()(const Tensor& images, std::span<const Corruption> corruptions,
                    const Pass& pass = {}) const;
  /// Of the images of a micro-batch. An image's is a function of the batch's `step` and the image's
  /// place in that alone: not of micro-batches, threads or ranks.
  [[nodiscard]] std::vector<Corruption> corruptions(const MicroBatch& part) const;
  /// The colours of their corrupted patches (B S).
  [[nodiscard]] std::vector<std::size_t> right(const MicroBatch& part,
                                               std::span<const Corruption> corruptions) const;

  void visit(Visitor& visitor) const;
};

/// What a run takes; both models must outlive it.
Learner learner_of(const MaskedViT& model);

/// How often the commonest colour is right, of the patches that an evaluation asks for: what a
/// model is worth that always says it.
double commonest_colour(const MaskedViT& model, const Loader& data);

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
