#include "lessons/experiments/exhibits.hpp"
#include "lessons/telling/source.hpp"

#include "vitruvian/core/base/parallel.hpp"
#include "vitruvian/core/check/gradcheck.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/datasets/batch.hpp"
#include "vitruvian/datasets/formats/digits.hpp"
#include "vitruvian/nn/optim.hpp"
#include "vitruvian/train/weights.hpp"
#include "vitruvian/vit/inspect/inspect.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace vitruvian::lessons {
inline namespace VITRUVIAN_PRECISION {

Tensor digit_image(std::size_t i) {
  const Dataset data = digits(i + 1, 1, "test");
  Array image = empty({1, 1, data.height, data.width});
  normalised_images(data, std::vector<std::size_t>{i}, image.data());
  return {std::move(image)};
}

VisionTransformer digits_model() {
  return load_weights(project_path("models/digits.safetensors")).model;
}

Figure tiles(std::string caption, const Array& numbers, std::size_t across, std::size_t zoom) {
  const std::size_t n = numbers.shape(0), h = numbers.shape(1) * zoom, w = numbers.shape(2) * zoom;
  const std::size_t columns = std::min(across, n), rows = (n + columns - 1) / columns;
  Matrix picture{rows * (h + 1) - 1, columns * (w + 1) - 1, {}, columns, rows};
  // NaN is drawn as nothing.
  picture.values.assign(picture.rows * picture.columns, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t corner = i / columns * (h + 1) * picture.columns + i % columns * (w + 1);
    for (std::size_t y = 0; y < h; ++y) {
      for (std::size_t x = 0; x < w; ++x) {
        picture.values[corner + y * picture.columns + x] = numbers(i, y / zoom, x / zoom);
      }
    }
  }
  return {std::move(caption), std::move(picture)};
}

Figure picture_of(std::string caption, const std::vector<Tensor>& digits) {
  return tiles(std::move(caption), reshape(concat(digits, 0), {-1, 28, 28}).value(), digits.size());
}

Tensor patches_of(const Tensor& digit) {
  return unfold(digit, {.height = 7, .width = 7, .stride_y = 7, .stride_x = 7});
}

std::vector<Symbol> symbols_of(std::size_t B, const ViTConfig& c) {
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

Figure likeness_grids(std::string caption, const Tensor& rows) {
  const Array alike = inspect::position_similarity(rows.value(), 4);
  return tiles(std::move(caption), reshape(alike, {16, 4, 4}).value(), 4);
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

double gradients(const Learner& learner, const Loader& data, std::span<const std::size_t> indices,
                 const Rng& step) {
  const auto parts = batches(indices, 16);
  const auto part = [&](std::size_t i) {
    MicroBatch result = micro_batch(data, parts[i]);
    result.step = step;
    result.first = 16 * i;
    return result;
  };
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
      losses.push_back(gradients(learner, data, indices, rng.fork("step", {step})));
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

Series curve_of(std::string name, const std::vector<double>& losses) {
  Series curve{std::move(name), {}, {}};
  for (const double loss : losses) {
    curve.y.push_back(rounded(loss, 2));
    curve.x.push_back(static_cast<double>(curve.y.size()));
  }
  return curve;
}

namespace {
double median(const Tensor& x) {
  std::vector<double> values(x.value().begin(), x.value().end());
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}
}  // namespace

std::string Sharpness::text() const {
  return fmt::format("{:.2g}, {:.2g}, {:.2g}", spread, share, gradient);
}

// [region sharpness]
Sharpness sharpness(std::size_t width, double divisor, std::uint64_t seed) {
  const Tensor q(random_normal({512, width}, seed), true), k(random_normal({64, width}, seed + 1));
  const Tensor S = matmul(q, transpose(k)) * real(1 / divisor);
  const Tensor A = softmax(S);
  const Tensor dq(grad(A, {q}, random_normal({512, 64}, seed + 2))[0]);
  const Tensor size = sqrt(sum(square(dq), {1}));  // of each query's gradient
  return {std::sqrt(double(mean(square(S)).item())), median(amax(A, {1})), median(size)};
}
// [end]

Array class_token_looks(const Array& probs) {
  const Tensor row = slice(select(select(probs, 0, 0), 1, 0), 1, 1, 17);
  return reshape(row / amax(row, {1}, true), {-1, 4, 4}).value();
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian::lessons
