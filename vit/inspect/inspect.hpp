#pragma once

#include "vitruvian/vit/model.hpp"

#include <cstddef>
#include <optional>
#include <vector>

// Looking inside a trained ViT: the numbers of the figures, without the figures. Patches and
// distances follow the image, (y, x) in raster order; gh = H / P and gw = W / P are the sides of
// the grid of patches. Images are what the model takes: (B, C, H, W), already normalised.

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace inspect {

// --- what can be read off the weights (weights.cpp) ----------------------------------------------

/// The patches as the model sees them: (B, N, C, P, P).
Array patches(const VisionTransformer& model, const Array& images);

/// The embedding filters, the rows of E as pictures: (D, C, P, P). Filter d is what token entry d
/// is large for. Of a model with a stem, those of its first convolution, which see the pixels:
/// (D / 2^(stem - 1), C, 3, 3).
const Array& filters(const VisionTransformer& model);

/// The directions in which the filters differ most (Figure 7 left shows the first 28).
struct PrincipalComponents {
  Array components;               ///< (k, C, P, P): orthonormal; the largest entry is positive
  std::vector<double> variances;  ///< k: of the filters along each, the largest first
  double total = 0;               ///< the sum of all variances
};
/// Of filters (D, C, P, P) about their mean, with the variance divided by D; k is `count` or C P^2,
/// the smaller.
PrincipalComponents principal_components(const Array& filters, std::size_t count = 28);

/// E_pos of the patches, (N, D): what the model adds, whatever kind of table or wave it comes from.
/// The rows of tokens that are no patches are left out. Throws (Exit::usage) where nothing is added
/// (positions none and relative).
Array patch_positions(const VisionTransformer& model);

/// The cosine of each patch's position embedding with every other's, as the grid of grids of Figure
/// 7 (centre): (gh, gw, gh, gw), for positions (N, D) of a grid gw wide. 0 where one is zero.
Array position_similarity(const Array& positions, std::size_t grid_width);
Array position_similarity(const VisionTransformer& model);

/// Whether the similarities know of rows and columns: their mean over pairs of different patches of
/// one row or one column, and over all other pairs (NaN where there is none).
struct Lines {
  double line = 0;
  double rest = 0;
  /// |line / rest|.
  [[nodiscard]] double ratio() const;
};
Lines lines(const Array& similarity);

// --- attention (attention.cpp) -------------------------------------------------------------------

/// What every head of every block attended to, from the composed form (the fused one has no maps).
struct Attention {
  ViTConfig config;
  std::vector<Array> probs;  ///< of each block (B, h, T, T): rows are queries, and sum to 1
  Array logits;              ///< (B, K)
};
Attention attention(const VisionTransformer& model, const Array& images);

/// Whose row is read: the class token's, or a patch's.
struct Query {
  std::optional<std::size_t> patch;  ///< in raster order; none means the class token
};
/// Over the patches of image `image`: the attention of one query in one layer and head, (gh, gw).
/// Without a head, the mean over all. What goes to the class token and to others that are no
/// patches is missing from its sum. Throws (Exit::usage), naming the range, on a layer, head, patch
/// or image that is not there, and on the class token of a model that has none.
Array attention_map(const Attention& attention, std::size_t layer, std::optional<std::size_t> head,
                    Query query = {}, std::size_t image = 0);

/// One row for each layer, one column for each head: (L, h). Means over images and queries.
struct Heads {
  /// The attention-weighted Euclidean distance between patch centres, in pixels (Figures 7 right
  /// and 11). The class token and its like, which are nowhere, are left out as query and as key,
  /// and rows are brought back to a sum of 1, so that even attention gives the mean distance of all
  /// pairs whatever the class token takes. (Keras' ViT probing leaves it out without bringing them
  /// back: multiply each row by 1 - on_class_token. The paper does not say.)
  Array distance;
  /// The share that patches give to the class token, and to registers and a distillation token
  /// where there are some; 0 where every token is a patch.
  Array on_class_token;
  /// -sum p log p of a query's row over all T tokens, in nats: 0 is one token, log T all alike.
  Array entropy;
  /// The share of queries that give one token more than 0.99: a softmax that passes no gradient.
  Array saturated;
};
Heads heads(const Attention& attention);

/// The centres' distances in pixels, (N, N).
Array patch_distances(const ViTConfig& config);

// --- the logit lens (attention.cpp) --------------------------------------------------------------

/// What the model would answer if it had only its first l blocks, for l = 0 ... L: Equation 4, the
/// head and a softmax on each z_l of a trace of one forward pass, as probabilities (L + 1, B, K)
/// (nostalgebraist 2020, "interpreting GPT: the logit lens"). The last is the model's own answer.
Array logit_lens(const VisionTransformer& model, const Trace& trace);

// --- rollout (attention.cpp) ---------------------------------------------------------------------

/// Attention rollout (Abnar and Zuidema 2020, arXiv 2005.00928; appendix D.8 of the paper):
///   M_l = rows(mean over heads of A_l + I)    R = M_L ... M_1
/// where rows(M) divides each row by its sum: half of a token is its own, by the residual
/// connection. (B, T, T): row i says how much of each input token is in output token i.
Array rollout(const Attention& attention);

/// What the model's output reads of a rollout (B, T, T), as shares of the patches: (B, gh, gw),
/// each image's sum 1. The class token's row without its own entry (of a distilled model, both
/// tokens' rows); without class token, the patches' mean row.
Array shares_of_patches(const Array& rollout, const ViTConfig& config);

/// The share of `map` (B, gh, gw) on patches with ink, over the share of such patches, of each
/// image: above 1, it lies where something is. `ink` is (B, 1 or C, H, W): a patch has ink where
/// any pixel is above `threshold`. NaN for an image without ink.
std::vector<double> gain_on_ink(const Array& map, const Array& ink, double threshold);

}  // namespace inspect
}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
