#include "vitruvian/core/base/json.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/report/confusion.hpp"
#include "vitruvian/report/draw.hpp"
#include "vitruvian/report/figures.hpp"
#include "vitruvian/vit/inspect/gradients.hpp"
#include "vitruvian/vit/inspect/inspect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

// Maps that explain the images, a row for each image, a column for each kind.
struct Explained {
  std::string name;  // of its files: "rollout"
  std::string title;
  Numbers maps{};  // (B, gh, gw) or (B, H, W)
};

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

// "6: 71 %"; "true 5, found 6: 71 %" where the label is known; "feature 6" without a head.
std::string verdict_of(const Samples& samples, std::size_t image, const Array& logits,
                       std::size_t target, bool classifies) {
  if (!classifies) return fmt::format("feature {}", target);
  const Array p = softmax(Tensor(logits)).value();
  std::string text;
  if (image < samples.labels.size()) {
    text = "true " + class_name(samples.class_names, samples.labels[image]) + ", found ";
  }
  return text + fmt::format("{}: {:.0f} %", class_name(samples.class_names, target),
                            100 * p.data()[target]);
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

void draw_explanations(const VisionTransformer& model, const Samples& samples,
                       const InspectOptions& options, FigureList& list) {
  const ViTConfig& config = model.config;
  const bool classifies = config.head != Head::none;
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
  std::vector<Explained> columns{
      {"rollout", "rollout"}, {"gradient_rollout", "gradient rollout"}, {"saliency", "saliency"}};
  if (options.smooth_grad > 0) columns.push_back({"smooth_grad", "SmoothGrad"});
  if (options.integrated_gradients > 0) columns.push_back({"integrated_gradients", "integrated"});
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
    verdicts.push_back(verdict_of(samples, b, seen.logits, target[0], classifies));
    append(columns[0].maps, shares);
    append(columns[1].maps,
           inspect::shares_of_patches(inspect::gradient_rollout(model, x, target), config));
    append(columns[2].maps, inspect::saliency(inspect::input_gradient(model, x, target)));
    if (options.smooth_grad > 0) {
      const inspect::SmoothGrad how{.samples = options.smooth_grad};
      append(columns[3].maps, inspect::saliency(inspect::smooth_grad(model, x, how, target)));
    }
    if (options.integrated_gradients > 0) {
      const auto found = inspect::integrated_gradients(model, x, black_of(config, samples.data),
                                                       options.integrated_gradients, target);
      append(columns.back().maps, inspect::saliency(found.attributions));
      const double missed = found.incompleteness();
      if (!(missed <= incompleteness) && !std::isnan(incompleteness)) incompleteness = missed;
    }
  }
  std::string text = fmt::format(
      "Attention rollout (Appendix D.8): how much of each patch is in what the output reads, with "
      "half of every token its own by the residual connection. Gradient rollout counts attention "
      "for how much it moves {}. Saliency is the largest magnitude over "
      "the channels of its derivative. Each map has its own scale.",
      classifies ? "the probable class's logit" : "the largest feature");
  if (options.smooth_grad > 0) {
    text += fmt::format(" SmoothGrad: the mean over {} noisy copies.", options.smooth_grad);
  }
  if (options.integrated_gradients > 0) {
    text += fmt::format(
        " Integrated gradients in {} steps from black: their sum misses the difference of the "
        "logits by {:.2g} of it at most.",
        options.integrated_gradients, incompleteness);
  }
  std::string words;
  if (with_ink > 0) {
    words = fmt::format(
        "patches with ink (a pixel above 127) have {:.2f} times their share of the rollout, "
        "averaged over {}",
        gain / static_cast<double>(with_ink), counted(with_ink, "image"));
    text += " Here " + words + ".";
  }
  ImageGrid grid{"What the output comes from"};
  Image small;
  grid.x_names = {"image"};
  for (const Explained& column : columns) grid.x_names.push_back(column.title);
  grid.y_names = verdicts;
  for (std::size_t b = 0; b < count; ++b) {
    grid.images.push_back(samples.pictures[b]);
    for (const Explained& column : columns) {
      grid.images.push_back(figures::picture_at(column.maps, b));
      if (small.pixels.empty()) small = grid.images.back();
    }
  }
  grid.columns = columns.size() + 1;
  grid.width = 110;
  grid.bar = {ColourMap::viridis, {0, 1}, "share of each map's largest"};
  std::vector<Figure::File> files;
  for (const Explained& column : columns) files.push_back(npy_file(column.name, column.maps));
  files.push_back(json_file("explanations", dump_json(Json{{"images", verdicts}})));
  list.add({"explanations",
            "What the output comes from",
            text,
            {{{std::move(grid)}}},
            std::move(files),
            small,
            words});
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
