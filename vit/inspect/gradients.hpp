#pragma once

#include "vitruvian/vit/inspect/inspect.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

// Looking inside with derivatives: of one class's logit, by the pixels or by the attention, and of
// the loss by every intermediate. The parameters' gradients are neither computed nor touched; the
// model must not be used by another thread meanwhile.

namespace vitruvian {

/// An intermediate of the model and the size of what flows through it.
struct TraceNorms {
  std::string name;       ///< as Trace has it: "blocks.3.z"
  double activation = 0;  ///< the root mean square of its entries
  double gradient = 0;    ///< the same of the loss's derivative by it
};

/// How the hidden units of one MLP are used, over all images and tokens.
struct HiddenUnits {
  std::string name;           ///< "blocks.3.mlp.hidden"
  std::size_t units = 0;      ///< M
  std::size_t dead = 0;       ///< |GELU| at most 0.001 throughout, which is so below -3.44
  std::size_t never_on = 0;   ///< GELU never above 0: only its tail is used; the dead among them
  std::size_t always_on = 0;  ///< GELU above 3 throughout: a linear unit
  double on = 0;              ///< the share of all (token, unit) pairs above 0
};

/// A model at work on some images.
struct Layers {
  double loss = 0;  ///< mean cross-entropy
  std::vector<TraceNorms> norms;
  std::vector<HiddenUnits> units;  ///< of GELU: none with swiglu
};

inline namespace VITRUVIAN_PRECISION {
namespace inspect {

/// The class of each image whose logit is derived: an empty list means the most probable ones.
using Targets = std::vector<std::size_t>;

/// The most probable class of each image, logits (B, K).
Targets most_probable(const Array& logits);

/// A rollout that counts attention for how much it matters to the target's logit y_c (Chefer et al.
/// 2021, arXiv 2103.15679, equations 5 and 6):
///   A'_l = mean over heads of max(A_l * d y_c / d A_l, 0)    R_l = R_{l-1} + A'_l R_{l-1}
/// from R_0 = I. Returns R_L - I, what attention moved, (B, T, T): a patch's own entry of 1 would
/// hide it in a mean over rows. Read it with shares_of_patches.
Array gradient_rollout(const VisionTransformer& model, const Array& images,
                       const Targets& targets = {});

/// d y_c / d x, (B, C, H, W) (Simonyan et al. 2013, arXiv 1312.6034).
Array input_gradient(const VisionTransformer& model, const Array& images,
                     const Targets& targets = {});

/// Attributions (B, C, H, W) as a picture (B, H, W): the largest magnitude over the channels.
Array saliency(const Array& attributions);

/// Called after each of the many gradients, with how many are done.
using Progress = std::function<void(std::size_t done)>;

/// The mean input gradient over noisy copies (Smilkov et al. 2017, arXiv 1706.03825): each image
/// gets N(0, (noise (max - min))^2), its own range.
struct SmoothGrad {
  std::size_t samples = 50;
  double noise = 0.15;
  std::uint64_t seed = 1;
};
Array smooth_grad(const VisionTransformer& model, const Array& images, const SmoothGrad& options,
                  const Targets& targets = {}, const Progress& progress = {});

/// Integrated gradients (Sundararajan et al. 2017, arXiv 1703.01365) along the straight line from
/// x' to x, by the midpoint rule:
///   IG = (x - x') * mean over k of d y_c / d x at x' + (k + 1/2) / steps (x - x')
struct IntegratedGradients {
  Array attributions;              ///< (B, C, H, W)
  Targets targets;                 ///< the classes, as found or as given
  std::vector<double> sum;         ///< of each image's attributions
  std::vector<double> difference;  ///< y_c(x) - y_c(x'), which the sum must be
  /// |sum - difference| over |difference|, the largest of all images: what more steps make smaller.
  /// NaN where one's is.
  [[nodiscard]] double incompleteness() const;
};
/// `baseline` is x', (C, H, W), the same for all images: black, in the model's units.
IntegratedGradients integrated_gradients(const VisionTransformer& model, const Array& images,
                                         const Array& baseline, std::size_t steps,
                                         const Targets& targets = {},
                                         const Progress& progress = {});

/// Of every intermediate that Trace shows, in the order of computation; the loss is the mean cross
/// entropy with `labels`. Parameters' gradients stay as they are.
Layers layers(const VisionTransformer& model, const Array& images,
              const std::vector<std::size_t>& labels);

/// Seconds of one gradient of these images, measured: SmoothGrad takes `samples` of them,
/// integrated gradients `steps`.
double seconds_a_gradient(const VisionTransformer& model, const Array& images);

}  // namespace inspect
}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
