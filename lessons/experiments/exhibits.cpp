#include "lessons/experiments/exhibits.hpp"

#include "lessons/telling/source.hpp"
#include "vitruvian/core/base/parallel.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/datasets/batch.hpp"
#include "vitruvian/datasets/formats/digits.hpp"
#include "vitruvian/nn/optim.hpp"
#include "vitruvian/train/weights.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace vitruvian::lessons {
inline namespace VITRUVIAN_PRECISION {

Tensor digit_image(std::size_t i, std::uint64_t seed) {
  const Dataset data = digits(i + 1, seed, "test");
  Array image = empty({1, 1, data.height, data.width});
  normalised_images(data, std::vector<std::size_t>{i}, image.data());
  return {std::move(image)};
}

VisionTransformer digits_model() {
  return load_weights(project_path("models/digits.safetensors")).model;
}

Picture tiles(std::string caption, const Array& numbers, std::size_t across, std::size_t zoom) {
  const std::size_t n = numbers.shape()[0];
  const std::size_t h = numbers.shape()[1];
  const std::size_t w = numbers.shape()[2];
  const std::size_t columns = std::min(across, n);
  const std::size_t rows = (n + columns - 1) / columns;
  Picture picture{std::move(caption), rows * (h * zoom + 1) - 1, columns * (w * zoom + 1) - 1, {}};
  // NaN is drawn as nothing.
  picture.values.assign(picture.rows * picture.columns, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t top = i / columns * (h * zoom + 1);
    const std::size_t left = i % columns * (w * zoom + 1);
    for (std::size_t y = 0; y < h * zoom; ++y) {
      for (std::size_t x = 0; x < w * zoom; ++x) {
        picture.values[(top + y) * picture.columns + left + x] =
            static_cast<double>(numbers(i, y / zoom, x / zoom));
      }
    }
  }
  return picture;
}

Picture picture_of(std::string caption, const std::vector<Tensor>& digits) {
  return tiles(std::move(caption), reshape(concat(digits, 0), {-1, 28, 28}).value(), digits.size());
}

Tensor patches_of(const Tensor& digit) {
  return unfold(digit, {.height = 7, .width = 7, .stride_y = 7, .stride_x = 7});
}

std::vector<Symbols::Row> symbols_of(std::size_t B, const ViTConfig& c) {
  return {{"B", B},
          {"C", c.C},
          {"H", c.H, "height and width of the image"},
          {"P", c.P},
          {"N", c.N(), "patches, (H / P)²"},
          {"D", c.D},
          {"L", c.L},
          {"h", c.h},
          {"D_h", c.D_h()},
          {"M", c.M},
          {"K", c.K}};
}

Picture likeness_grids(std::string caption, const Tensor& rows) {
  const Tensor unit = rows / sqrt(sum(square(rows), {1}, true));
  return tiles(std::move(caption), reshape(matmul(unit, transpose(unit)), {16, 4, 4}).value(), 4);
}

Likeness likeness(const Tensor& s) {
  constexpr std::size_t N = 16, g = 4;
  Likeness mean;
  for (std::size_t k = 0; k < N * N; ++k) {
    const std::size_t i = k / N, j = k % N;
    const bool same = i / g == j / g || i % g == j % g;
    const double value = double(s.value()(i, j));
    if (i != j) (same ? mean.line : mean.rest) += value / double(N * (same ? 6 : 9));
  }
  return mean;
}

Dataset enlarged(const Dataset& data, const Tensor& R) {
  Dataset large = data;
  large.height = large.width = R.shape()[0];
  large.pixels.resize(data.size() * large.image_size());
  for (std::size_t n = 0; n < data.size(); ++n) {
    Array x = empty({data.height, data.width});
    std::copy(data.image(n).begin(), data.image(n).end(), x.begin());
    const Tensor y = matmul(matmul(R, x), transpose(R));
    for (std::size_t i = 0; i < large.image_size(); ++i) {
      large.pixels[n * large.image_size() + i] =
          static_cast<std::uint8_t>(std::lround(y.value().data()[i]));
    }
  }
  return large;
}

MicroBatch all_of(const Dataset& data) {
  return micro_batch(Loader(data), natural_order(data.size()));
}

double gradients(const Learner& learner, const Loader& data, std::span<const std::size_t> indices) {
  const auto parts = batches(indices, 16);
  const auto part = [&](std::size_t i) { return micro_batch(data, parts[i]); };
  return compute_gradients(learner, {parts.size(), indices.size(), part}, 0).loss;
}

std::vector<double> fit(const Learner& learner, const Dataset& train, const FitOptions& options) {
  AdamW optimizer(learner.parameters,
                  {.weight_decay = options.weight_decay, .undecayed = all_but_weights});
  const Loader data(train);
  const Rng rng = Rng(options.seed).fork("order");
  std::vector<double> losses;
  for (std::size_t epoch = 1; losses.size() < options.steps; ++epoch) {
    const std::vector<std::size_t> order = epoch_order(train.size(), rng, epoch);
    for (const auto indices : batches(order, options.batch_size)) {
      const std::size_t step = losses.size();
      if (step == options.steps) break;
      losses.push_back(gradients(learner, data, indices));
      clip_grad_norm(learner.parameters, 1);
      optimizer.step(options.lr * cosine_schedule(step, options.steps, options.steps / 20));
    }
  }
  return losses;
}

namespace {
struct Listener : Observer {
  Diary diary;
  void stepped(const StepReport& step) override { diary.losses.push_back(step.loss); }
  void finished_epoch(const EpochReport& report) override { diary.epoch = report; }
};
}  // namespace

Diary trained(const TrainOptions& options, std::size_t with_threads) {
  const std::size_t before = threads();
  set_threads(with_threads);
  Listener listener;
  vitruvian::VITRUVIAN_PRECISION::train(options, listener);
  set_threads(before);
  return listener.diary;
}

Diary trained(const TrainOptions& options, const Learner& learner, const Dataset& train,
              const Dataset& test) {
  Listener listener;
  vitruvian::VITRUVIAN_PRECISION::train(
      options, learner,
      {std::make_shared<MemoryImages>(train), std::make_shared<MemoryImages>(test)}, listener);
  return listener.diary;
}

std::string in_fives(double share) { return fmt::format("{:.0f} %", 5 * std::round(20 * share)); }

double rounded(double x, int digits) { return std::stod(fmt::format("{:.{}e}", x, digits - 1)); }

Curves::Series curve_of(std::string name, const std::vector<double>& losses) {
  Curves::Series curve{std::move(name), {}, {}};
  for (const double loss : losses) {
    curve.y.push_back(rounded(loss, 2));
    curve.x.push_back(static_cast<double>(curve.y.size()));
  }
  return curve;
}

std::vector<double> covariance(const Array& rows) {
  const std::size_t D = rows.shape()[0], n = rows.size() / D;
  std::vector<double> mean(n, 0), C(n * n, 0);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    mean[k % n] += double(rows.data()[k]) / double(D);
  }
  for (std::size_t d = 0; d < D; ++d) {
    const real* const row = rows.data() + d * n;
    for (std::size_t i = 0; i < n * n; ++i) {
      C[i] += (double(row[i / n]) - mean[i / n]) * (double(row[i % n]) - mean[i % n]) / double(D);
    }
  }
  return C;
}

// [region components]
// The directions in which the D filters differ most: eigenvectors of their
// covariance (P^2, P^2), the largest first. Multiply by it until only the
// largest is left, take that away, begin again.
std::vector<Component> components(std::vector<double> C, std::size_t n, std::size_t count) {
  std::vector<Component> all;
  for (std::size_t k = 0; k < count; ++k) {
    Component c{std::vector<double>(n, 1)};
    c.v[k] += 1;
    for (int step = 0; step < 3000; ++step) {
      std::vector<double> next(n, 0);
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) next[i] += C[i * n + j] * c.v[j];
      }
      double length = 0;
      for (const double x : next) length += x * x;
      c.variance = std::sqrt(length);
      for (std::size_t i = 0; i < n; ++i) c.v[i] = next[i] / c.variance;
    }
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) C[i * n + j] -= c.variance * c.v[i] * c.v[j];
    }
    all.push_back(std::move(c));
  }
  return all;
}
// [end]

double total_variance(const Array& rows) {
  const std::size_t n = rows.size() / rows.shape()[0];
  const std::vector<double> C = covariance(rows);
  double trace = 0;
  for (std::size_t i = 0; i < n; ++i) trace += C[i * n + i];
  return trace;
}

double share_of_variance(const Array& rows, std::size_t count) {
  const std::size_t n = rows.size() / rows.shape()[0];
  double first = 0;
  for (const Component& one : components(covariance(rows), n, count)) first += one.variance;
  return first / total_variance(rows);
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian::lessons
