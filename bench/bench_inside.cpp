// bench_inside: what the figures of a trained ViT say, averaged over a test set.

#include "apps/command_line.hpp"
#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/parallel.hpp"
#include "vitruvian/datasets/batch.hpp"
#include "vitruvian/train/weights.hpp"
#include "vitruvian/vit/inspect/gradients.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace {

using namespace vitruvian;

struct Options {
  std::string weights, dataset, data;
  std::size_t images = 0;
  std::size_t threads = 0;
};

// A sum of arrays, weighted.
struct Mean {
  std::vector<double> sum;
  double weight = 0;
  void add(const Array& a, double w) {
    sum.resize(a.size(), 0);
    for (std::size_t i = 0; i < a.size(); ++i) sum[i] += w * static_cast<double>(a.data()[i]);
    weight += w;
  }
  [[nodiscard]] double at(std::size_t i) const { return sum[i] / weight; }
};

// Over the images that have ink.
struct Gain {
  double sum = 0, images = 0, above = 0;
  void add(const std::vector<double>& gains) {
    for (const double g : gains) {
      if (std::isnan(g)) continue;
      sum += g;
      images += 1;
      above += g > 1 ? 1 : 0;
    }
  }
  void print(const char* name) const {
    fmt::print(
        "{}: {:.3f} times as much mass on patches with ink as if spread evenly; above 1 for "
        "{:.1f} % of {:.0f} images\n",
        name, sum / images, 100 * above / images, images);
  }
};

void run(const Options& options) {
  if (options.threads > 0) set_threads(options.threads);
  const TrainedModel trained = load_weights(options.weights);
  const VisionTransformer& model = trained.model;
  const ViTConfig& c = model.config;
  Dataset data =
      load_test({.name = options.dataset, .directory = options.data, .test_size = options.images});
  if (!trained.data.mean.empty()) data.mean = trained.data.mean, data.std = trained.data.std;
  const inspect::Lines lines = inspect::lines(inspect::position_similarity(model));
  fmt::print(
      "positions: mean cosine {:.4f} in the same row or column, {:.4f} elsewhere, ratio {:.2f}\n",
      lines.line, lines.rest, lines.ratio());
  Mean distance, on_class, entropy;
  Gain rollout, gradient, even;
  double right = 0;
  const std::vector<std::size_t> order = natural_order(data.size());
  for (const auto& indices : batches(order, 50)) {
    const std::size_t B = indices.size();
    Array x = empty({B, c.C, c.H, c.W});
    normalised_images(data, indices, x.data());
    const inspect::Attention seen = inspect::attention(model, x);
    const inspect::Heads heads = inspect::heads(seen);
    const auto w = static_cast<double>(B);
    distance.add(heads.distance, w);
    on_class.add(heads.on_class_token, w);
    entropy.add(heads.entropy, w);
    const auto classes = inspect::most_probable(seen.logits);
    const auto labels = batch_labels(data, indices);
    for (std::size_t b = 0; b < B; ++b) right += classes[b] == labels[b] ? 1 : 0;
    if (c.C != 1) continue;
    Array ink = empty(x.shape());
    for (std::size_t b = 0; b < B; ++b) {
      const auto pixels = data.image(indices[b]);
      std::copy(pixels.begin(), pixels.end(), ink.data() + b * pixels.size());
    }
    const auto gain = [&](const Array& map) { return inspect::gain_on_ink(map, ink, 127); };
    rollout.add(gain(inspect::shares_of_patches(inspect::rollout(seen), c)));
    gradient.add(gain(inspect::shares_of_patches(inspect::gradient_rollout(model, x), c)));
    even.add(gain(full({B, c.grid_height(), c.grid_width()}, 1)));
  }
  fmt::print("{} test images of {}, {:.2f} % right\n", data.size(), data.name,
             100 * right / static_cast<double>(data.size()));
  if (c.C == 1) {
    rollout.print("rollout");
    gradient.print("gradient rollout");
    even.print("spread evenly");
  }
  const Array apart = inspect::patch_distances(c);
  double all = 0;
  for (std::size_t i = 0; i < apart.size(); ++i) all += static_cast<double>(apart.data()[i]);
  fmt::print("\nmean attention distance in pixels (even attention: {:.2f})\n",
             all / static_cast<double>(apart.size()));
  fmt::print(
      "layer  each head, from near to far            to class token  entropy (most: {:.2f})\n",
      std::log(static_cast<double>(c.T())));
  for (std::size_t l = 0; l < c.L; ++l) {
    std::vector<double> row;
    double to_class = 0, nats = 0;
    for (std::size_t h = 0; h < c.h; ++h) {
      row.push_back(distance.at(l * c.h + h));
      to_class += on_class.at(l * c.h + h) / static_cast<double>(c.h);
      nats += entropy.at(l * c.h + h) / static_cast<double>(c.h);
    }
    std::sort(row.begin(), row.end());
    std::string text;
    for (const double d : row) text += fmt::format("{:6.2f} ", d);
    fmt::print("{:5}  {:40} {:8.2f} %  {:8.2f}\n", l, text, 100 * to_class, nats);
  }
}

int run(int argc, char** argv) {
  Options options;
  const Parser app("Says what the figures of a trained ViT say, over a test set.", "bench_inside");
  app.add_value("--weights", "FILE", options.weights, "safetensors or .npz").required();
  app.add_value("--dataset", "NAME", options.dataset, "digits, mnist or cifar10").required();
  app.add_value("--data", "DIR", options.data, "The folder with the data set's files");
  app.add_count("--images", options.images, "The first so many test images; 0 means all");
  app.add_count("--threads", options.threads, "0 means one for each processor");
  run_command_line(app, argc, argv, [&] { run(options); });
  return static_cast<int>(Exit::ok);
}

}  // namespace

int main(int argc, char** argv) {
  return console::run("bench_inside", [&] { return run(argc, argv); });
}
