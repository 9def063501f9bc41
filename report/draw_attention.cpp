#include "vitruvian/report/confusion.hpp"
#include "vitruvian/report/draw.hpp"
#include "vitruvian/vit/inspect/gradients.hpp"
#include "vitruvian/vit/inspect/inspect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

void add_to(Numbers& sum, const Array& array) {
  if (sum.values.empty()) {
    sum = numbers(array);
    return;
  }
  for (std::size_t i = 0; i < array.size(); ++i) sum.values[i] += array.data()[i];
}

void divide(Numbers& sum, std::size_t n) {
  for (double& value : sum.values) value /= static_cast<double>(n);
}

// More rows than these make no figure.
constexpr std::size_t explained_images = 8;

// One row more of (B, ...).
void append(Numbers& all, const Array& one) {
  const Numbers more = numbers(one);
  if (all.shape.empty()) {
    all.shape = more.shape;
    all.shape[0] = 0;
  }
  ++all.shape[0];
  all.values.insert(all.values.end(), more.values.begin(), more.values.end());
}

// "6: 71 %"; "true 5, found 6: 71 %" where the label is known.
std::string verdict_of(const Samples& samples, std::size_t image, const Array& logits,
                       std::size_t target) {
  const real* const z = logits.data();
  double largest = z[0];
  for (std::size_t k = 0; k < logits.size(); ++k) largest = std::max(largest, double{z[k]});
  double sum = 0;
  for (std::size_t k = 0; k < logits.size(); ++k) sum += std::exp(z[k] - largest);
  std::string text;
  if (image < samples.labels.size()) {
    text = "true " + class_name(samples.class_names, samples.labels[image]) + ", found ";
  }
  return text + fmt::format("{}: {:.0f} %", class_name(samples.class_names, target),
                            100 * std::exp(z[target] - largest) / sum);
}

// Black, in the model's units: (C, H, W).
Array black_of(const ViTConfig& config, const DataConfig& data) {
  Array x = empty({config.C, config.H, config.W});
  const std::size_t plane = config.H * config.W;
  for (std::size_t i = 0; i < x.size(); ++i) {
    x.data()[i] = static_cast<real>(-data.mean[i / plane] / data.std[i / plane]);
  }
  return x;
}

}  // namespace

void draw_attention(const VisionTransformer& model, const Samples& samples,
                    const InspectOptions& options, FigureList& list) {
  const ViTConfig& config = model.config;
  const std::size_t layer = options.layer.value_or(config.L - 1);
  inspect::Query query{options.query};
  if (!query.patch && config.mean_pooling) {
    query.patch = config.grid_height() / 2 * config.grid_width() + config.grid_width() / 2;
  }
  const std::string asker =
      query.patch ? fmt::format("patch {}", *query.patch) : std::string("the class token");
  const std::string whose =
      fmt::format("layer {}, {}", layer,
                  options.head ? fmt::format("head {}", *options.head) : "mean of its heads");

  figures::HeadNumbers heads;
  for (std::size_t b = 0; b < samples.inputs.size(); ++b) {
    const inspect::Attention seen = inspect::attention(model, samples.inputs[b]);
    const inspect::Heads of_image = inspect::heads(seen);
    add_to(heads.distance, of_image.distance);
    if (!config.mean_pooling) add_to(heads.on_class_token, of_image.on_class_token);
    add_to(heads.entropy, of_image.entropy);
    add_to(heads.saturated, of_image.saturated);
    if (b > 0) continue;

    Numbers maps{{config.L, config.h, config.grid_height(), config.grid_width()}, {}};
    for (std::size_t l = 0; l < config.L; ++l) {
      for (std::size_t i = 0; i < config.h; ++i) {
        const Array map = inspect::attention_map(seen, l, i, query);
        maps.values.insert(maps.values.end(), map.data(), map.data() + map.size());
      }
    }
    const figures::Asker who{asker, query.patch, !config.mean_pooling};
    list.add(figures::attention_maps(maps, who));
    list.add(figures::attention_map(
        samples.pictures[0], numbers(inspect::attention_map(seen, layer, options.head, query)), who,
        whose));
    const Array& probs = seen.probs[layer];  // (1, h, T, T)
    const std::size_t T = config.T();
    Numbers matrix{{T, T}, std::vector<double>(T * T, 0.0)};
    const std::size_t first = options.head.value_or(0);
    const std::size_t last = options.head ? first + 1 : config.h;
    for (std::size_t i = first; i < last; ++i) {
      for (std::size_t j = 0; j < T * T; ++j) {
        matrix.values[j] += probs.data()[i * T * T + j] / static_cast<double>(last - first);
      }
    }
    list.add(figures::attention_matrix(matrix, whose, !config.mean_pooling));
  }
  for (Numbers* sum : {&heads.distance, &heads.on_class_token, &heads.entropy, &heads.saturated}) {
    divide(*sum, samples.inputs.size());
  }
  list.add(figures::attention_distance(heads, samples.inputs.size()));
  list.add(figures::attention_entropy(heads, config.T()));
}

void draw_explanations(const VisionTransformer& model, const Samples& samples,
                       const InspectOptions& options, FigureList& list) {
  const ViTConfig& config = model.config;
  const std::size_t count = std::min(samples.inputs.size(), explained_images);
  const std::size_t gradients = options.smooth_grad + options.integrated_gradients;
  if (gradients > 0) {
    double seconds = inspect::seconds_a_gradient(model, samples.inputs[0]);
    for (int again = 0; again < 2; ++again) {  // the first makes buffers, any may be interrupted
      seconds = std::min(seconds, inspect::seconds_a_gradient(model, samples.inputs[0]));
    }
    list.observer.note(fmt::format("{} gradients of each of {} images: about {:.0f} s", gradients,
                                   count,
                                   std::ceil(seconds * static_cast<double>(gradients * count))));
  }
  figures::Explained rollout{"rollout", "rollout", {}};
  figures::Explained weighted{"gradient_rollout", "gradient rollout", {}};
  figures::Explained saliency{"saliency", "saliency", {}};
  figures::Explained smooth{"smooth_grad", "SmoothGrad", {}};
  figures::Explained integrated{"integrated_gradients", "integrated", {}};
  std::vector<std::string> verdicts;
  double gain = 0;
  std::size_t with_ink = 0;
  double incompleteness = 0;
  for (std::size_t b = 0; b < samples.inputs.size(); ++b) {
    const Array& x = samples.inputs[b];
    const inspect::Attention seen = inspect::attention(model, x);
    const Array shares = inspect::shares_of_patches(inspect::rollout(seen), config);
    if (config.C == 1) {
      const std::vector<std::uint8_t>& bytes = samples.pictures[b].pixels;
      const Array ink =
          array({1, 1, config.H, config.W}, std::vector<double>(bytes.begin(), bytes.end()));
      const double here = inspect::gain_on_ink(shares, ink, 127).at(0);
      if (std::isfinite(here)) {
        gain += here;
        ++with_ink;
      }
    }
    if (b >= count) continue;
    const inspect::Targets target = inspect::most_probable(seen.logits);
    verdicts.push_back(verdict_of(samples, b, seen.logits, target[0]));
    append(rollout.maps, shares);
    append(weighted.maps,
           inspect::shares_of_patches(inspect::gradient_rollout(model, x, target), config));
    append(saliency.maps, inspect::saliency(inspect::input_gradient(model, x, target)));
    if (options.smooth_grad > 0) {
      const inspect::SmoothGrad how{.samples = options.smooth_grad};
      append(smooth.maps, inspect::saliency(inspect::smooth_grad(model, x, how, target)));
    }
    if (options.integrated_gradients > 0) {
      const auto found = inspect::integrated_gradients(model, x, black_of(config, samples.data),
                                                       options.integrated_gradients, target);
      append(integrated.maps, inspect::saliency(found.attributions));
      incompleteness = std::max(incompleteness, found.incompleteness());
    }
  }
  std::vector<figures::Explained> columns{rollout, weighted, saliency};
  std::string text =
      "Attention rollout (Appendix D.8): how much of each patch is in what the output reads, with "
      "half of every token its own by the residual connection. Gradient rollout counts attention "
      "for "
      "how much it moves the probable class's logit. Saliency is the largest magnitude over the "
      "channels of that logit's derivative. Each map has its own scale.";
  if (options.smooth_grad > 0) {
    columns.push_back(smooth);
    text += fmt::format(" SmoothGrad: the mean over {} noisy copies.", options.smooth_grad);
  }
  if (options.integrated_gradients > 0) {
    columns.push_back(integrated);
    text += fmt::format(
        " Integrated gradients in {} steps from black: their sum misses the difference of the "
        "logits "
        "by {:.2g} of it at most.",
        options.integrated_gradients, incompleteness);
  }
  std::string words;
  if (with_ink > 0) {
    words = fmt::format(
        "patches with ink (a pixel above 127) have {:.2f} times their share of the rollout, "
        "averaged "
        "over {} images",
        gain / static_cast<double>(with_ink), with_ink);
    text += " Here " + words + ".";
  }
  const std::vector<Image> pictures(samples.pictures.begin(),
                                    samples.pictures.begin() + static_cast<std::ptrdiff_t>(count));
  Figure figure = figures::explanations(pictures, verdicts, columns, text);
  figure.words = words;
  list.add(std::move(figure));
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
