#include "vitruvian/report/inspect.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/datasets/batch.hpp"
#include "vitruvian/report/draw.hpp"
#include "vitruvian/train/run/run_directory.hpp"
#include "vitruvian/train/training_data.hpp"
#include "vitruvian/train/weights.hpp"
#include "vitruvian/vit/inspect/graph.hpp"

#include <utility>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

// A layer, head or patch that the user chose.
void check_index(const char* flag, std::optional<std::size_t> index, std::size_t count) {
  if (index && *index >= count) {
    fail(Exit::usage, "--{} {}: the model has 0 to {}", flag, *index, count - 1);
  }
}

void read_pictures(Samples& samples, const TrainedModel& trained, const InspectOptions& options,
                   const InspectObserver& observer) {
  const ViTConfig& config = trained.model.config;
  const Fit fit{config.H, config.W, config.C, options.filter, trained.data.crops()};
  bool resized = false, noted = false;  // each is said once
  for (const std::string& path : options.images) {
    const Image image = read_image(path, options.max_pixels);
    const bool other_size = image.height != config.H || image.width != config.W;
    if (other_size && !std::exchange(resized, true)) {
      observer.note(fmt::format("{}: {} x {} pixels become the model's {} x {}{}", path,
                                image.width, image.height, config.W, config.H,
                                fit.crop ? ", cut from its middle" : ""));
    }
    samples.pictures.push_back(fitted(image, fit));
    const std::string unlike = note_on_picture(trained.data, samples.pictures.back(), path);
    if (!unlike.empty() && !std::exchange(noted, true)) observer.note(unlike);
    samples.inputs.push_back(normalised(samples.pictures.back(), samples.data));
  }
  samples.described = counted(samples.inputs.size(), "picture");
}

}  // namespace

std::vector<std::string> inspect_model(const InspectOptions& options,
                                       const InspectObserver& observer) {
  options.validate();
  FigureList list{observer, {}};
  std::string subtitle;
  std::optional<TrainedModel> trained;
  Samples samples;
  std::vector<std::string> strip;
  if (!options.strip.empty()) strip = checkpoints_of(options.strip, options.every);
  if (!options.strip.empty() && strip.empty()) {
    fail(Exit::data, "{}: no weights of epochs are in it; 'train --save-every N' keeps them",
         options.strip);
  }
  if (!options.weights.empty()) {
    trained.emplace(load_weights(weights_file(options.weights), options.request));
    samples = samples_of(*trained, options, observer);
    const ViTConfig& config = trained->model.config;
    check_index("layer", options.layer, config.L);
    check_index("head", options.head, config.h);
    check_index("query", options.query, config.N());
    subtitle = fmt::format("{}: ViT {} x {} x {}, P {}, D {}, L {}, h {}, M {}; {}",
                           options.weights, config.H, config.W, config.C, config.P, config.D,
                           config.L, config.h, config.M, samples.described);
  }
  FigureFolder folder(options.out);
  if (trained) {
    const VisionTransformer& model = trained->model;
    const bool pictures = !samples.inputs.empty();
    if (pictures) draw_patches(model, samples, list);
    draw_weights(model, list);
    if (pictures) {
      draw_attention(model, samples, options, list);
      draw_explanations(model, samples, options, list);
      draw_layers(model, samples, list);
    }
    const std::size_t layer = options.layer.value_or(model.config.L - 1);
    const BlockGraph graph = inspect::block_graph(model, layer);
    list.add({"block_graph",
              fmt::format("The tape of block {}", layer),
              "Every node that one block leaves on the tape for one image, and what backward keeps "
              "alive. block_graph.dot is for graphviz: dot -Tsvg block_graph.dot.",
              {},
              {{"block_graph.dot", graph.to_dot()}, {"block_graph.txt", graph.to_text()}},
              {},
              graph.to_text()});
  }
  if (!strip.empty()) draw_strip(strip, options.request, list);
  return folder.write("Inside a Vision Transformer", subtitle, list.figures);
}

Samples samples_of(const Loader& images, std::size_t count, const ViTConfig& config) {
  const Dataset& about = images.images().about();
  Samples samples;
  const std::vector<std::size_t> order = classes_in_turn(images, count);
  for (const auto& one : batches(order, 1)) {
    Array x = empty({1, config.C, config.H, config.W});
    samples.labels.push_back(images.load_plain(one, x.data()).at(0));
    samples.pictures.push_back(images.picture(one[0]));
    samples.inputs.push_back(std::move(x));
  }
  if (about.class_names.size() == config.K) samples.class_names = about.class_names;
  samples.described =
      fmt::format("{} test images of {}, the classes in turn", order.size(), about.name);
  return samples;
}

Samples samples_of(const TrainedModel& trained, const InspectOptions& options,
                   const InspectObserver& observer) {
  for (const std::string& note : trained.notes) observer.note(note);
  const DataConfig data =
      normalisation(trained, options.mean, options.std, options.weights, observer.note);
  const bool known = trained.data.dataset == "digits" || !run_of(options.weights).empty();
  Samples samples;
  const bool asked = !options.dataset.empty() || known;
  if (options.images.empty() && asked) {
    std::string note;
    TestImageOptions said;
    said.dataset = options.dataset;
    said.data = options.data;
    const Loader images = test_data(said, options.weights, trained.model.config, data, note);
    if (!note.empty()) observer.note(note);
    samples = samples_of(images, options.count, trained.model.config);
  }
  samples.data = data;
  samples.class_names = trained.data.class_names(trained.model.config.K);
  if (!options.images.empty()) {
    read_pictures(samples, trained, options, observer);
  } else if (!asked) {
    observer.note("no pictures and no data set: only what can be read off the weights is drawn");
    samples.described = "no images";
  }
  return samples;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
