#pragma once

#include "lessons/telling/events.hpp"
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
Tensor digit_image(std::size_t i, std::uint64_t seed = 1);

/// The model of models/digits.safetensors. Throws (Exit::checkpoint) when it
/// is not there or damaged.
VisionTransformer digits_model();

/// Numbers (n, h, w) as n pictures: `across` of them side by side, an empty
/// column or row between two, each number `zoom` columns wide and rows high.
Picture tiles(std::string caption, const Array& numbers, std::size_t across, std::size_t zoom = 1);

/// A digit of 28 x 28, or several of (1, 1, 28, 28) beside each other.
Picture picture_of(std::string caption, const std::vector<Tensor>& digits);
/// Its 16 patches of 7 x 7 pixels: (1, 16, 49).
Tensor patches_of(const Tensor& digit);

/// The symbols of a model and their values here, for `Narrator::symbols`.
std::vector<Symbols::Row> symbols_of(std::size_t B, const ViTConfig& c);

/// Each row of (16, n) as a grid of 4 x 4 places: how alike (cosine) it is to all 16 rows.
Picture likeness_grids(std::string caption, const Tensor& rows);

/// The mean of s (16, 16) over pairs of places in one row or column of the 4 x 4 grid, and over all
/// other pairs.
struct Likeness {
  double line = 0, rest = 0;
};
Likeness likeness(const Tensor& s);

/// The same digits, their sides `factor` times as long: R (factor H, H) says
/// how much a new place takes of each old one.
Dataset enlarged(const Dataset& data, const Tensor& R);

/// All images of a data set, normalised, and their classes.
MicroBatch all_of(const Dataset& data);

/// Leaves d(mean loss)/d(parameter) of the images `indices` on every parameter, sixteen images at a
/// time; returns the mean loss.
double gradients(const Learner& learner, const Loader& data, std::span<const std::size_t> indices);

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
Curves::Series curve_of(std::string name, const std::vector<double>& losses);

/// A principal component: its direction, of length 1, and the variance along it.
struct Component {
  std::vector<double> v;
  double variance = 0;
};
/// The covariance (n, n) of rows (D, n).
std::vector<double> covariance(const Array& rows);
/// The `count` eigenvectors of C (n, n) with the largest eigenvalues.
std::vector<Component> components(std::vector<double> C, std::size_t n, std::size_t count);
/// The variance of rows (D, n) in all directions together.
double total_variance(const Array& rows);
/// The share of it that the first `count` components hold.
double share_of_variance(const Array& rows, std::size_t count);

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian::lessons
