#include "vitruvian/vit/weights/weights.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/vit/weights/held.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace vitruvian {
namespace {

// Every published ViT has heads of 64.
constexpr std::size_t published_head_width = 64;

std::size_t square_root(std::size_t n) {
  const auto root = static_cast<std::size_t>(std::llround(std::sqrt(static_cast<double>(n))));
  return root * root == n ? root : 0;
}

ViTConfig inferred(const StoredSizes& sizes, const WeightsRequest& request, Scheme scheme,
                   const std::string& source) {
  ViTConfig config;
  config.C = sizes.C;
  config.P = sizes.P;
  config.P_w = sizes.P_w == sizes.P ? 0 : sizes.P_w;
  config.D = sizes.D;
  config.L = sizes.L;
  config.M = sizes.M;
  config.K = sizes.K != 0 ? sizes.K : request.classes;
  config.eps = scheme == Scheme::hf ? 1e-12 : 1e-6;
  const std::size_t side = sizes.tokens < 2 ? 0 : square_root(sizes.tokens - 1);
  if (side == 0) {
    fail(Exit::checkpoint,
         "{}: {} position embeddings are none of a class token and a square of patches", source,
         sizes.tokens);
  }
  config.H = side * config.patch_height();
  config.W = side * config.patch_width();
  config.h = sizes.h != 0 ? sizes.h : request.heads;
  if (config.h == 0) {
    if (config.D % published_head_width != 0) {
      fail(Exit::usage,
           "{}: a width of {} is no multiple of 64, so the heads are a guess: --heads?", source,
           config.D);
    }
    config.h = config.D / published_head_width;
  }
  return config;
}

void replace(TensorFile& file, StoredTensor tensor) {
  const auto place = std::lower_bound(
      file.tensors.begin(), file.tensors.end(), tensor,
      [](const StoredTensor& a, const StoredTensor& b) { return a.name < b.name; });
  if (place != file.tensors.end() && place->name == tensor.name) {
    *place = std::move(tensor);
  } else {
    file.tensors.insert(place, std::move(tensor));
  }
}

void give_head(VitWeights& weights, std::size_t classes) {
  ViTConfig& config = weights.config;
  const StoredTensor* const old = weights.tensors.find("head.weight");
  if (classes == 0 || (old != nullptr && classes == config.K)) return;
  weights.notes.push_back(
      old != nullptr
          ? fmt::format("the head for {} classes is replaced by zeros for {}", config.K, classes)
          : fmt::format("there is no head: {} classes get zeros", classes));
  config.K = classes;
  const StoredTensor* const pre_logits = weights.tensors.find("pre_logits.bias");
  const std::size_t entering = pre_logits == nullptr ? config.D : pre_logits->size();
  replace(weights.tensors, stored_zeros("head.weight", {classes, entering}));
  replace(weights.tensors, stored_zeros("head.bias", {classes}));
}

void resize(VitWeights& weights, const WeightsRequest& request) {
  ViTConfig& config = weights.config;
  if (request.height == 0 || (request.height == config.H && request.width == config.W)) return;
  const Grid from{config.grid_height(), config.grid_width()};
  config.H = request.height;
  config.W = request.width;
  config.validate();
  const Grid to{config.grid_height(), config.grid_width()};
  const StoredTensor* const positions = weights.tensors.find("pos_embed");
  if (from == to) return;
  if (config.positions == Positions::learned_2d || config.positions == Positions::relative) {
    fail(Exit::usage, "{}: its positions are of {} x {} patches and cannot be resized: {}",
         weights.tensors.source, from.height, from.width,
         config.positions == Positions::relative ? "relative" : "learned_2d");
  }
  if (positions == nullptr) return;
  const std::size_t rows = positions->shape.size() == 3 ? positions->shape[1] : 0;
  const std::size_t patches = from.height * from.width;
  if (rows != patches && rows != patches + 1) {
    fail(Exit::checkpoint, "{}: 'pos_embed' of shape {} does not fit {} x {} patches",
         weights.tensors.source, shape_text(positions->shape), from.height, from.width);
  }
  const PosResize how = request.pos_resize.value_or(pos_resize_of(name_of(weights.scheme)));
  weights.notes.push_back(fmt::format(
      "the position embeddings are resized from {} x {} to {} x {} patches, as {} does it",
      from.height, from.width, to.height, to.width,
      pos_resize_names().at(static_cast<std::size_t>(how))));
  replace(weights.tensors, resize_positions(*positions, from, to, how));
}

}  // namespace

VitWeights open_weights(const std::string& path, const WeightsRequest& request) {
  VitWeights weights;
  TensorFile file = read_tensor_file(path);
  const auto carried = file.metadata.find("config");
  weights.ours = carried != file.metadata.end();
  weights.scheme = request.scheme ? *request.scheme : detect_scheme(file);
  if (weights.scheme == Scheme::vitruvian) {
    if (!weights.ours) fail(Exit::checkpoint, "{}: it carries no config of ours", path);
    weights.scheme = Scheme::timm;
  }
  try {
    if (weights.ours) weights.config = ViTConfig::from_json(carried->second);
  } catch (const Error& error) {
    // Others may call something of theirs "config": whoever names the scheme need not have ours.
    if (!request.scheme || *request.scheme == Scheme::vitruvian) {
      fail(Exit::checkpoint, "{}: {} (--from-scheme, if another project wrote it)", path,
           error.what());
    }
    weights.ours = false;
  }
  if (weights.ours && weights.scheme == Scheme::timm) {
    weights.tensors = as_config_says(std::move(file), weights.config);
  } else {
    std::vector<std::string> others;
    for (const StoredTensor& t : file.tensors) {
      if (t.dtype == Dtype::other) others.push_back(fmt::format("'{}'", t.name));
    }
    if (!others.empty()) {
      weights.notes.push_back(some_of(others) + ": no floating-point numbers, left out");
    }
    const bool headless = request.classes != 0 ||  //
                          (weights.ours && weights.config.head == Head::none);
    const bool no_class_token = weights.ours && weights.config.mean_pooling;
    Named named = to_timm(file, weights.scheme, {headless, no_class_token});
    weights.tensors = std::move(named.file);
    if (weights.ours) {  // whether the tensors fit the config, the model says
      weights.tensors = as_config_says(std::move(weights.tensors), weights.config);
    } else {
      weights.config = inferred(named.sizes, request, weights.scheme, path);
      const bool tanh = weights.tensors.find("pre_logits.weight") != nullptr;
      if (tanh && weights.scheme != Scheme::hf) weights.config.head = Head::tanh;
      try {
        weights.config.validate();
      } catch (const Error& error) {
        fail(Exit::checkpoint, "{}: {}", path, error.what());
      }
    }
  }
  if (request.heads != 0 && request.heads != weights.config.h) {
    fail(Exit::usage, "{}: {} heads were asked for, but the file says {}", path, request.heads,
         weights.config.h);
  }
  give_head(weights, request.classes);
  resize(weights, request);
  return weights;
}

}  // namespace vitruvian
