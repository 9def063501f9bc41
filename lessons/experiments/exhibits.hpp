#pragma once

#include "lessons/telling/narrate.hpp"
#include "vitruvian/core/tensor.hpp"
#include "vitruvian/datasets/dataset.hpp"
#include "vitruvian/train/step.hpp"
#include "vitruvian/train/train.hpp"
#include "vitruvian/vit/model.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// What lessons look at: built-in digits, models that are trained on them, and what is told of both.

namespace vitruvian::lessons {
inline namespace VITRUVIAN_PRECISION {

/// Digit `i` of the built-in test images, as a model takes it: (1, 1, 28, 28).
Tensor digit_image(std::size_t i);

/// The model of models/digits.safetensors. Throws (Exit::checkpoint) when it
/// is not there or damaged.
VisionTransformer digits_model();

/// Numbers (n, h, w) as n pictures: `across` of them side by side, an empty
/// column or row between two, each number `zoom` columns wide and rows high.
Figure tiles(std::string caption, const Array& numbers, std::size_t across, std::size_t zoom = 1);

/// A digit of 28 x 28, or several of (1, 1, 28, 28) beside each other.
Figure picture_of(std::string caption, const std::vector<Tensor>& digits);
/// Its 16 patches of 7 x 7 pixels: (1, 16, 49).
Tensor patches_of(const Tensor& digit);

/// The symbols of a model and their values here, for `Narrator::symbols`.
std::vector<Symbol> symbols_of(std::size_t B, const ViTConfig& c);

/// Each row of (16, n) as a grid of 4 x 4 places: how alike (cosine) it is to all 16 rows.
Figure likeness_grids(std::string caption, const Tensor& rows);

/// The same digits, their sides `factor` times as long: R (factor H, H) says
/// how much a new place takes of each old one.
Dataset enlarged(const Dataset& data, const Tensor& R);

/// All images of a data set, normalised, and their classes.
MicroBatch all_of(const Dataset& data);

/// Leaves d(mean loss)/d(parameter) of the images `indices` on every parameter, sixteen images at a
/// time; returns the mean loss. What a learner draws for a step comes from `step`.
double gradients(const Learner& learner, const Loader& data, std::span<const std::size_t> indices,
                 const Rng& step = Rng(0));

struct FitOptions {
  std::size_t steps = 100;
  std::size_t batch_size = 64;
  double lr = 2e-3;  ///< the peak, after a warm-up of one twentieth; then down a cosine
  double weight_decay = 0.05;
  std::uint64_t seed = 1;  ///< of the order of the images
};
/// So many steps of AdamW, which need not be whole epochs; returns the loss of each.
std::vector<double> fit(const Learner& learner, const Dataset& train, const FitOptions& options);

/// What the trainer tells of a run.
struct Diary {
  std::vector<double> losses;  ///< of each step
  EpochReport epoch;           ///< the last
};
/// `vitruvian train`, with so many threads.
Diary trained(const TrainOptions& options, std::size_t with_threads);
/// The same of any learner, on two sets of digits.
Diary trained(const TrainOptions& options, const Learner& learner, const Dataset& train,
              const Dataset& test);

/// A share in percent, to the next five: "85 %".
std::string in_fives(double share);
/// x to so many significant digits: what a page may print of a float32 result, which another
/// matrix product or processor changes behind them.
double rounded(double x, int digits);
/// Losses against steps, the first of which is 1, rounded as above.
Series curve_of(std::string name, const std::vector<double>& losses);

/// Of scores between 512 queries and 64 keys: how far they spread; and, of the median query, the
/// largest share of its attention, and how long its own gradient is.
struct Sharpness {
  double spread = 0, share = 0, gradient = 0;
  /// "2, 0.27, 0.15"
  [[nodiscard]] std::string text() const;
};
/// For q (512, width) and k (64, width) from N(0, 1) and q k^T / divisor.
Sharpness sharpness(std::size_t width, double divisor, std::uint64_t seed);

/// How much of the class token's attention each of 16 patches gets: from the
/// probabilities of one layer (1, h, 17, 17), (h, 4, 4), the most of each head
/// as 1.
Array class_token_looks(const Array& probs);

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian::lessons
