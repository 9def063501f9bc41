#include "vitruvian/train/weights.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/nn/safetensors.hpp"
#include "vitruvian/train/run/checkpoint_file.hpp"
#include "vitruvian/train/run/run_directory.hpp"

#include <algorithm>
#include <cmath>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

void save_weights(const VisionTransformer& model, const DataConfig& data, const std::string& path) {
  save(model, path, to_metadata(model.config, data));
}

std::uint32_t checksum_of(const std::vector<NamedParameter>& parameters) {
  std::uint32_t sum = 0;
  for (const NamedParameter& p : parameters) {
    const Array& w = p.tensor.value();
    sum = crc32_of(w.data(), w.size() * sizeof(real), sum);
  }
  return sum;
}

namespace {

// The layers of a ViT as BEiT, MAE and timm number them, by the name of a parameter: 0 are patches,
// tokens and positions, l is block l of L, counted from 1, and L + 1 the last norm and the head.
bool of_head(const std::string& name) {
  return name.starts_with("head") || name.starts_with("pre_logits.");
}
std::size_t layer_of(const std::string& name, std::size_t L) {
  if (name.starts_with("blocks.")) return std::stoul(name.substr(7)) + 1;
  return of_head(name) || name.starts_with("norm.") ? L + 1 : 0;
}

// A head says nothing where its classes are others, or in another order.
void check_kept_head(const TrainOptions& options, const VitWeights& weights,
                     const std::vector<std::string>& classes) {
  const ViTConfig& c = weights.config;
  if (c.head == Head::none) fail(Exit::usage, "{}: it has no head to keep", options.init);
  if (c.K != options.model.K) {
    fail(Exit::usage, "{}: its head is for {} classes, not for {}: it cannot be kept", options.init,
         c.K, options.model.K);
  }
  const std::vector<std::string> theirs =
      data_config_of(weights.tensors.metadata, c.C, options.init).class_names(c.K);
  for (std::size_t k = 0; k < std::min(theirs.size(), classes.size()); ++k) {
    if (theirs[k] == classes[k]) continue;
    fail(Exit::usage,
         "{}: class {} of its head is '{}', and '{}' here: it can be kept where all are the same",
         options.init, k, theirs[k], classes[k]);
  }
}

void check_numbers(const std::vector<NamedParameter>& parameters, const std::string& path) {
  for (const NamedParameter& p : parameters) {
    const Array& x = p.tensor.value();
    if (std::all_of(x.begin(), x.end(), [](real v) { return std::isfinite(v); })) continue;
    fail(Exit::checkpoint, "{}: '{}' holds NaN or infinite numbers", path, p.name);
  }
}

VitWeights opened(const TrainOptions& options, const WeightsRequest& request) {
  try {
    return open_weights(weights_file(options.init), request);
  } catch (const Error& error) {
    if (!options.resume) throw;
    fail(error.exit(), "{}; {} has no checkpoint yet, and begins with it again", error.what(),
         options.out);
  }
}

VisionTransformer begun_model(const TrainOptions& options, Observer& observer,
                              const std::vector<std::string>& classes) {
  if (options.init.empty()) return {options.model, Rng(options.seed).fork("weights")};
  const ViTConfig& c = options.model;
  WeightsRequest request{
      .heads = c.h, .height = c.H, .width = c.W, .classes = options.keep_head ? 0 : c.K};
  if (!options.pos_resize.empty()) request.pos_resize = pos_resize_of(options.pos_resize);
  VitWeights weights = opened(options, request);
  for (const std::string& note : weights.notes) observer.noted(note);
  if (options.keep_head) check_kept_head(options, weights, classes);
  VisionTransformer model = undrawn(c);
  std::vector<NamedParameter> parameters = named_parameters(model);
  if (!options.keep_head) {
    const auto is_new = [](const auto& x) { return of_head(x.name); };
    std::erase_if(parameters, is_new);
    std::erase_if(weights.tensors.tensors, is_new);
  }
  load(parameters, weights.tensors);
  check_numbers(parameters, options.init);
  return model;
}

// The gradients of what is frozen are not computed, and the optimizers pass it over.
void freeze(const VisionTransformer& model, const TrainOptions& options) {
  for (const NamedParameter& p : named_parameters(model)) {
    const bool below = options.freeze > 0 && layer_of(p.name, model.config.L) <= options.freeze;
    if (options.linear_probe ? !of_head(p.name) : below) p.tensor.set_requires_grad(false);
  }
}

}  // namespace

VisionTransformer initial_model(const TrainOptions& options, Observer& observer,
                                const std::vector<std::string>& classes) {
  VisionTransformer model = begun_model(options, observer, classes);
  freeze(model, options);
  return model;
}

std::map<std::string, double> rate_factors(const VisionTransformer& model, double layer_decay,
                                           double head_lr) {
  const std::size_t L = model.config.L;
  std::map<std::string, double> factors;
  for (const NamedParameter& p : named_parameters(model)) {
    double factor = of_head(p.name) ? head_lr : 1;
    for (std::size_t l = layer_of(p.name, L); l <= L; ++l) factor *= layer_decay;
    factors[p.name] = factor;
  }
  return factors;
}

TrainedModel load_weights(const std::string& path, const WeightsRequest& request) {
  VitWeights weights = open_weights(path, request);
  const ViTConfig& config = weights.config;
  DataConfig data = data_config_of(weights.tensors.metadata, config.C, path);
  // A config that promises much more than the file holds must not make us allocate it. What differs
  // otherwise, `load` names.
  constexpr std::uint64_t little = 4096;
  const std::uint64_t stored = weights.tensors.size();
  if (config.parameters() / 2 > stored + little) {
    fail(Exit::checkpoint, "{}: holds {} numbers, but a model of its config has {}", path, stored,
         config.parameters());
  }
  check_fits_in_memory(config, config.forward_bytes(1, sizeof(real)), "to run");
  VisionTransformer model = undrawn(config);
  load(model, weights.tensors);
  check_numbers(named_parameters(model), path);
  return {std::move(model), std::move(data), name_of(weights.scheme), std::move(weights.notes)};
}

namespace {

// One number for each channel from what the user said: none, one for all, or all.
void set_for_channels(std::vector<double>& values, const std::vector<double>& said, std::size_t C,
                      const char* what) {
  if (said.empty()) return;
  if (said.size() != 1 && said.size() != C) {
    fail(Exit::usage, "--{} has {} numbers, but the model's images have {} channels", what,
         said.size(), C);
  }
  values = said.size() == C ? said : std::vector<double>(C, said.front());
}

}  // namespace

DataConfig normalisation(const TrainedModel& trained, const std::vector<double>& mean,
                         const std::vector<double>& std, const std::string& weights,
                         const std::function<void(const std::string&)>& note) {
  const std::size_t C = trained.model.config.C;
  if (C != 1 && C != 3) {
    fail(Exit::usage, "{}: its images have {} channels; pictures have 1 or 3", weights, C);
  }
  DataConfig data = trained.data;
  set_for_channels(data.mean, mean, C, "mean");
  set_for_channels(data.std, std, C, "std");
  if (data.mean.empty() || data.std.empty()) {
    const DataConfig usual = published_normalisation(trained.scheme, C);
    if (usual.mean.empty()) {
      fail(Exit::usage, "{}: it does not say how its images were normalised: --mean and --std?",
           weights);
    }
    if (data.mean.empty()) data.mean = usual.mean;
    if (data.std.empty()) data.std = usual.std;
    note(fmt::format("normalised by mean {} and std {}, as published weights under {} names",
                     joined(data.mean, " "), joined(data.std, " "),
                     names_of(scheme_of(trained.scheme))));
  }
  return data;
}

Array normalised(const Image& image, const DataConfig& data) {
  check_whole(image);
  if (data.mean.size() != image.channels || data.std.size() != image.channels) {
    fail(Exit::usage,
         "a picture of {} x {} x {} cannot be normalised by {} means and {} deviations: there must "
         "be one of each for each channel",
         image.height, image.width, image.channels, data.mean.size(), data.std.size());
  }
  const std::size_t plane = image.height * image.width;
  Array x = empty({1, image.channels, image.height, image.width});
  for (std::size_t c = 0; c < image.channels; ++c) {
    for (std::size_t i = 0; i < plane; ++i) {
      const double value = static_cast<double>(image.pixels[i * image.channels + c]) / 255;
      x.data()[c * plane + i] = static_cast<real>((value - data.mean[c]) / data.std[c]);
    }
  }
  return x;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
