#include "train/inspect.hpp"

#include "core/error.hpp"
#include "core/tensor.hpp"
#include "datasets/batch.hpp"
#include "datasets/dataset.hpp"
#include "train/figures.hpp"
#include "train/input.hpp"
#include "train/run_directory.hpp"
#include "train/weights.hpp"
#include "vit/inspect.hpp"
#include "vit/inspect_gradients.hpp"
#include "vit/inspect_graph.hpp"
#include "vit/inspect_layers.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace vitruvian::inline VITRUVIAN_PRECISION {
namespace {

Numbers numbers(const Array& array) {
  return {{array.shape().begin(), array.shape().end()},
          {array.data(), array.data() + array.size()}};
}

// What there is to look at. Images go through the model one by one: their number costs time alone.
struct Subject {
  TrainedModel trained;
  TrainedOn data;  // how its images are normalised
  std::vector<Image> pictures;
  std::vector<Array> inputs;        // (1, C, H, W)
  std::vector<std::size_t> labels;  // of a data set's images
  std::vector<std::string> class_names;
  std::string described;  // "16 test images of digits"
};

// More rows than these make no figure.
constexpr std::size_t explained_images = 8;

void read_pictures(Subject& subject, const InspectOptions& options,
                   const InspectObserver& observer) {
  const ViTConfig& config = subject.trained.model.config;
  const Fit fit{config.H, config.W, config.C, options.filter, subject.trained.data.crops()};
  for (const std::string& path : options.images) {
    const Image image = read_image(path, options.max_pixels);
    if (image.height != config.H || image.width != config.W) {
      observer.note(fmt::format("{}: {} x {} pixels become the model's {} x {}{}", path,
                                image.height, image.width, config.H, config.W,
                                fit.crop ? ", cut from its middle" : ""));
    }
    subject.pictures.push_back(fitted(image, fit));
    subject.inputs.push_back(normalised(subject.pictures.back(), subject.data));
  }
  subject.described =
      fmt::format("{} picture{}", subject.inputs.size(), subject.inputs.size() == 1 ? "" : "s");
}

void read_data_set(Subject& subject, const std::string& name, const InspectOptions& options) {
  const ViTConfig& config = subject.trained.model.config;
  check_data_given(name, options.data);
  Dataset data = load_test({.name = name, .directory = options.data, .test_size = options.count});
  if (data.channels != config.C || data.height != config.H || data.width != config.W) {
    fail(Exit::checkpoint, "{}: its images are {} x {} x {}, those of {} {} x {} x {}",
         options.weights, config.H, config.W, config.C, name, data.height, data.width,
         data.channels);
  }
  data.mean = subject.data.mean;
  data.std = subject.data.std;
  const std::vector<std::size_t> order = natural_order(data.size());
  for (const auto& one : batches(order, 1)) {
    Array x = empty({1, config.C, config.H, config.W});
    normalised_images(data, one, x.data());
    const std::vector<double> pixels(x.data(), x.data() + x.size());
    subject.pictures.push_back(
        figures::picture_of(pixels.data(), config.C, config.H, config.W, data.mean, data.std));
    subject.inputs.push_back(std::move(x));
  }
  subject.labels = batch_labels(data, order);
  for (const std::size_t label : subject.labels) {
    if (label >= config.K) subject.labels.clear();  // of other classes than the model's
    if (subject.labels.empty()) break;
  }
  subject.described = fmt::format("the first {} test images of {}", data.size(), name);
}

Subject subject_of(const InspectOptions& options, const InspectObserver& observer) {
  Subject subject{
      load_weights(weights_file(options.weights), options.request), {}, {}, {}, {}, {}, {}};
  for (const std::string& note : subject.trained.notes) observer.note(note);
  subject.data =
      normalisation(subject.trained, options.mean, options.std, options.weights, observer.note);
  subject.class_names = subject.trained.data.class_names(subject.trained.model.config.K);
  const std::string known = subject.trained.data.dataset == "digits" ? "digits" : "";
  const std::string name = options.dataset.empty() ? known : options.dataset;
  if (!options.images.empty()) {
    read_pictures(subject, options, observer);
  } else if (!name.empty()) {
    read_data_set(subject, name, options);
  } else {
    observer.note("no pictures and no data set: only what can be read off the weights is drawn");
    subject.described = "no images";
  }
  return subject;
}

// A layer, head or patch that the user chose.
void check_index(const char* flag, std::optional<std::size_t> index, std::size_t count) {
  if (index && *index >= count) {
    fail(Exit::usage, "--{} {}: the model has 0 to {}", flag, *index, count - 1);
  }
}

// Collects the figures, and tells of each.
struct Gallery {
  const InspectObserver& observer;
  std::vector<Figure> figures;
  void add(Figure figure) {
    observer.drawn(figure);
    figures.push_back(std::move(figure));
  }
};

bool has_position_table(const ViTConfig& config) {
  return config.positions != Positions::none && config.positions != Positions::relative;
}

void draw_weights(const VisionTransformer& model, Gallery& gallery) {
  const Array& filters = inspect::filters(model);
  gallery.add(figures::filters(numbers(filters)));
  const auto parts = inspect::principal_components(filters);
  gallery.add(figures::filter_components(numbers(parts.components), parts.variances, parts.total));
  if (!has_position_table(model.config)) return;
  const Array similarity = inspect::position_similarity(model);
  const auto lines = inspect::lines(similarity);
  gallery.add(figures::position_similarity(numbers(similarity), lines.line, lines.rest));
}

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

std::string verdict_of(const Subject& subject, const Array& logits, std::size_t target) {
  const real* const z = logits.data();
  double largest = z[0];
  for (std::size_t k = 0; k < logits.size(); ++k) largest = std::max(largest, double{z[k]});
  double sum = 0;
  for (std::size_t k = 0; k < logits.size(); ++k) sum += std::exp(z[k] - largest);
  const std::string name =
      subject.class_names.empty() ? fmt::format("class {}", target) : subject.class_names[target];
  return fmt::format("{} {:.0f} %", name, 100 * std::exp(z[target] - largest) / sum);
}

// Everything that attention tells.
void draw_attention(const Subject& subject, const InspectOptions& options, Gallery& gallery) {
  const VisionTransformer& model = subject.trained.model;
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
  for (std::size_t b = 0; b < subject.inputs.size(); ++b) {
    const inspect::Attention seen = inspect::attention(model, subject.inputs[b]);
    const inspect::Heads of_image = inspect::heads(seen);
    add_to(heads.distance, of_image.distance);
    add_to(heads.on_class_token, of_image.on_class_token);
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
    gallery.add(figures::attention_maps(maps, asker));
    gallery.add(figures::attention_map(
        subject.pictures[0], numbers(inspect::attention_map(seen, layer, options.head, query)),
        fmt::format("{}, {}", asker, whose)));
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
    gallery.add(figures::attention_matrix(matrix, whose, !config.mean_pooling));
  }
  for (Numbers* sum : {&heads.distance, &heads.on_class_token, &heads.entropy, &heads.saturated}) {
    divide(*sum, subject.inputs.size());
  }
  gallery.add(figures::attention_distance(heads, subject.inputs.size()));
  gallery.add(figures::attention_entropy(heads, config.T()));
}

// Black, in the model's units: (C, H, W).
Array black_of(const ViTConfig& config, const TrainedOn& data) {
  Array x = empty({config.C, config.H, config.W});
  const std::size_t plane = config.H * config.W;
  for (std::size_t i = 0; i < x.size(); ++i) {
    x.data()[i] = static_cast<real>(-data.mean[i / plane] / data.std[i / plane]);
  }
  return x;
}

// What of each image the output comes from, by attention and by derivatives.
void draw_explanations(const Subject& subject, const InspectOptions& options, Gallery& gallery) {
  const VisionTransformer& model = subject.trained.model;
  const ViTConfig& config = model.config;
  const std::size_t count = std::min(subject.inputs.size(), explained_images);
  const std::size_t gradients = options.smooth_grad + options.integrated_gradients;
  if (gradients > 0) {
    const double seconds = inspect::seconds_a_gradient(model, subject.inputs[0]);
    gallery.observer.note(fmt::format("{} gradients of each of {} images: about {:.0f} s",
                                      gradients, count,
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
  for (std::size_t b = 0; b < subject.inputs.size(); ++b) {
    const Array& x = subject.inputs[b];
    const inspect::Attention seen = inspect::attention(model, x);
    const Array shares = inspect::shares_of_patches(inspect::rollout(seen), config);
    if (config.C == 1) {
      const std::vector<std::uint8_t>& bytes = subject.pictures[b].pixels;
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
    verdicts.push_back(verdict_of(subject, seen.logits, target[0]));
    append(rollout.maps, shares);
    append(weighted.maps,
           inspect::shares_of_patches(inspect::gradient_rollout(model, x, target), config));
    append(saliency.maps, inspect::saliency(inspect::input_gradient(model, x, target)));
    if (options.smooth_grad > 0) {
      const inspect::SmoothGrad how{.samples = options.smooth_grad};
      append(smooth.maps, inspect::saliency(inspect::smooth_grad(model, x, how, target)));
    }
    if (options.integrated_gradients > 0) {
      const auto found = inspect::integrated_gradients(model, x, black_of(config, subject.data),
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
  const std::vector<Image> pictures(subject.pictures.begin(),
                                    subject.pictures.begin() + static_cast<std::ptrdiff_t>(count));
  Figure figure = figures::explanations(pictures, verdicts, columns, text);
  figure.words = words;
  gallery.add(std::move(figure));
}

// How many images may be on the tape at once.
std::size_t batch_for(const ViTConfig& config, std::size_t images) {
  constexpr std::uint64_t enough = 1'500'000'000;
  while (images > 1 && config.training_bytes(images, sizeof(real)) > enough) --images;
  return images;
}

void draw_layers(const Subject& subject, Gallery& gallery) {
  const VisionTransformer& model = subject.trained.model;
  const ViTConfig& config = model.config;
  const std::size_t B = batch_for(config, subject.inputs.size());
  Array x = empty({B, config.C, config.H, config.W});
  for (std::size_t b = 0; b < B; ++b) {
    std::copy_n(subject.inputs[b].data(), subject.inputs[b].size(),
                x.data() + b * subject.inputs[b].size());
  }
  std::vector<std::size_t> labels = subject.labels;
  if (labels.empty()) {
    const NoGrad no_grad;
    labels = inspect::most_probable(model(x).value());
  }
  labels.resize(B);
  const Layers layers = inspect::layers(model, x, labels);
  figures::Flow flow;
  for (const LayerNorms& layer : layers.norms) {
    flow.names.push_back(layer.name);
    flow.activations.push_back(layer.activation);
    flow.gradients.push_back(layer.gradient);
  }
  gallery.add(figures::norms(flow, layers.loss));
  figures::Units units;
  for (const HiddenUnits& mlp : layers.units) {
    const auto share = [&mlp](std::size_t n) {
      return static_cast<double>(n) / static_cast<double>(mlp.units);
    };
    units.dead.push_back(share(mlp.dead));
    units.never_on.push_back(share(mlp.never_on));
    units.always_on.push_back(share(mlp.always_on));
    units.on.push_back(mlp.on);
  }
  gallery.add(figures::hidden_units(units));
}

void draw_strip(const InspectOptions& options, Gallery& gallery) {
  std::vector<figures::Moment> moments;
  for (const std::string& path : checkpoints_of(options.strip, options.every)) {
    const TrainedModel trained = load_weights(path, options.request);
    if (!has_position_table(trained.model.config)) {
      fail(Exit::checkpoint, "{}: the model has no table of positions to compare", path);
    }
    const Array similarity = inspect::position_similarity(trained.model);
    const auto lines = inspect::lines(similarity);
    moments.push_back(
        {std::filesystem::path(path).stem().string(), numbers(similarity), lines.line, lines.rest});
    if (moments.back().similarity.shape != moments[0].similarity.shape) {
      fail(Exit::checkpoint, "{}: its grid of patches is another than that of the first checkpoint",
           path);
    }
  }
  gallery.add(figures::strip(moments));
}

}  // namespace

std::vector<std::string> inspect_model(const InspectOptions& options,
                                       const InspectObserver& observer) {
  options.validate();
  Gallery gallery{observer, {}};
  std::string subtitle;
  std::optional<Subject> subject;
  if (!options.weights.empty()) {
    subject.emplace(subject_of(options, observer));
    const ViTConfig& config = subject->trained.model.config;
    check_index("layer", options.layer, config.L);
    check_index("head", options.head, config.h);
    check_index("query", options.query, config.N());
    subtitle = fmt::format("{}: ViT {} x {} x {}, P {}, D {}, L {}, h {}, M {}; {}",
                           options.weights, config.H, config.W, config.C, config.P, config.D,
                           config.L, config.h, config.M, subject->described);
  }
  Album album(options.out);
  if (subject) {
    const VisionTransformer& model = subject->trained.model;
    const ViTConfig& config = model.config;
    if (!subject->inputs.empty()) {
      const Array patches = inspect::patches(model, subject->inputs[0]);  // (1, N, C, P, P)
      Numbers of_first = numbers(patches);
      of_first.shape.erase(of_first.shape.begin());
      gallery.add(figures::patches(subject->pictures[0], of_first, config.grid_width(),
                                   subject->data.mean, subject->data.std));
    }
    draw_weights(model, gallery);
    if (!subject->inputs.empty()) {
      draw_attention(*subject, options, gallery);
      draw_explanations(*subject, options, gallery);
      draw_layers(*subject, gallery);
    }
    const std::size_t layer = options.layer.value_or(config.L - 1);
    const BlockGraph graph = inspect::block_graph(model, layer);
    gallery.add(figures::block_graph(layer, graph.to_dot(), graph.to_text()));
  }
  if (!options.strip.empty()) draw_strip(options, gallery);
  return album.write("Inside a Vision Transformer", subtitle, gallery.figures);
}

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
