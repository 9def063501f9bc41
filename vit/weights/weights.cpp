#include "vitruvian/vit/weights/weights.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/vit/weights/family.hpp"
#include "vitruvian/vit/weights/written_out.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace vitruvian {
namespace {

// Every published ViT has heads of 64.
constexpr std::size_t published_head_width = 64;
// What LayerScale began as is forgotten once it has learned; this is DeiT III's and DINOv2's.
constexpr double usual_layer_scale = 1e-5;

std::size_t square_root(std::size_t n) {
  const auto root = static_cast<std::size_t>(std::llround(std::sqrt(static_cast<double>(n))));
  return root * root == n ? root : 0;
}

// The config of tensors under our names.
ViTConfig inferred(const StoredSizes& sizes, const WeightsRequest& request, Scheme scheme,
                   const TensorFile& tensors) {
  const std::string& source = tensors.source;
  const bool class_token = tensors.find("cls_token") != nullptr;
  ViTConfig config;
  config.distilled = tensors.find("dist_token") != nullptr;
  config.registers = sizes.registers;
  config.swiglu = sizes.swiglu;
  config.qk_norm = tensors.find("blocks.0.attn.q_norm.weight") != nullptr;
  if (tensors.find("blocks.0.ls1.gamma") != nullptr) config.layer_scale = usual_layer_scale;
  config.C = sizes.C;
  config.P = sizes.P;
  config.P_w = sizes.P_w == sizes.P ? 0 : sizes.P_w;
  config.D = sizes.D;
  config.L = sizes.L;
  config.M = sizes.M;
  config.K = sizes.K != 0 ? sizes.K : request.classes;
  if (config.K == 0) {  // the model's output is y
    config.head = Head::none;
    config.K = config.D;
  }
  // Hugging Face's ViT and DeiT have 1e-12; its DINOv2, the one with LayerScale, 1e-6.
  config.eps = scheme == Scheme::hf && config.layer_scale == 0 ? 1e-12 : 1e-6;
  config.mean_pooling = !class_token;
  const std::size_t read = config.class_tokens();
  const std::size_t side = sizes.tokens > read ? square_root(sizes.tokens - read) : 0;
  if (side == 0) {
    fail(Exit::checkpoint, "{}: {} position embeddings are none of {}a square of patches", source,
         sizes.tokens, class_token ? "a class token and " : "");
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

void give_head(VitWeights& weights, std::size_t classes) {
  ViTConfig& config = weights.config;
  const StoredTensor* const old = weights.tensors.find("head.weight");
  if (classes == 0 || (old != nullptr && classes == config.K)) return;
  weights.notes.push_back(
      old != nullptr
          ? fmt::format("the head for {} classes is replaced by zeros for {}", config.K, classes)
          : fmt::format("there is no head: {} classes get zeros", classes));
  config.K = classes;
  if (config.head == Head::none) config.head = Head::linear;
  const StoredTensor* const pre_logits = weights.tensors.find("pre_logits.bias");
  const std::size_t entering = pre_logits == nullptr ? config.D : pre_logits->size();
  replace(weights.tensors, stored_zeros("head.weight", {classes, entering}));
  replace(weights.tensors, stored_zeros("head.bias", {classes}));
  if (!config.distilled) return;
  replace(weights.tensors, stored_zeros("head_dist.weight", {classes, config.D}));
  replace(weights.tensors, stored_zeros("head_dist.bias", {classes}));
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
  const std::size_t read = config.class_tokens();
  if (rows != patches + read) {
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

// One row of positions for each token that has a place here, whichever the file has.
void take_positions(TensorFile& tensors, StoredSizes& sizes, std::vector<std::string>& notes) {
  const std::size_t read = (tensors.find("cls_token") != nullptr ? 1 : 0) +
                           (tensors.find("dist_token") != nullptr ? 1 : 0);
  std::size_t& rows = sizes.tokens;
  const auto square = [&rows](std::size_t others) {
    return rows > others && square_root(rows - others) != 0;
  };
  const std::size_t all = read + sizes.registers;
  if (read != 0 && square(0) && rows > 1) {  // timm's no_embed_class
    const StoredTensor& patches = *tensors.find("pos_embed");
    const StoredTensor none = stored_zeros("pos_embed", {read, sizes.D}, patches.dtype);
    StoredTensor table = concatenated({none, reshaped(patches, {rows, sizes.D})});
    rows += read;
    replace(tensors, reshaped(table, {1, rows, sizes.D}));
    notes.emplace_back(read == 1 ? "the class token has no position: its row gets zeros"
                                 : "the class tokens have no positions: their rows get zeros");
  } else if (sizes.registers != 0 && !square(read) && square(all)) {
    rows -= sizes.registers;
    add_places_to_registers(tensors, read, rows);
    notes.emplace_back("the registers' positions are added to them: here they have none");
  }
}

// Hugging Face's Dinov2ForImageClassification has a head of the class token and the mean over the
// patches, side by side.
void leave_out_wide_head(TensorFile& file, std::vector<std::string>& notes) {
  const auto find = [&file](std::string_view end) {
    return std::find_if(file.tensors.begin(), file.tensors.end(),
                        [end](const StoredTensor& t) { return t.name.ends_with(end); });
  };
  const auto head = find("classifier.weight");
  const auto token = find("embeddings.cls_token");
  if (head == file.tensors.end() || token == file.tensors.end() || head->shape.size() != 2 ||
      token->shape.size() != 3 || head->shape[1] != 2 * token->shape[2]) {
    return;
  }
  std::erase_if(file.tensors,
                [](const StoredTensor& t) { return t.name.starts_with("classifier."); });
  notes.emplace_back(
      "the head is of the class token and the mean over the patches side by side, which no config "
      "of ours says: it is left out");
}

// What a published file says by its names and shapes alone.
void take_published(VitWeights& weights, TensorFile file, const WeightsRequest& request) {
  const std::string path = file.source;
  ViTConfig& config = weights.config;
  const bool timm = weights.scheme == Scheme::timm;
  if (weights.scheme == Scheme::hf) leave_out_wide_head(file, weights.notes);
  const bool norm_after_pooling = timm && file.find("fc_norm.weight") != nullptr;
  if (norm_after_pooling) {
    if (file.find("cls_token") != nullptr) {
      fail(Exit::checkpoint,
           "{}: by its 'fc_norm.weight' it takes the mean over the patches, but it has a class "
           "token as well (MAE's fine-tuned models are so), which no config of ours says",
           path);
    }
    ViTConfig pooled;
    pooled.mean_pooling = pooled.norm_after_pooling = true;
    file = as_config_says(std::move(file), pooled);
  }
  Named named = to_timm(file, weights.scheme, {.head = true, .class_token = true});
  weights.tensors = std::move(named.file);
  TensorFile& tensors = weights.tensors;
  if (tensors.find("cls_token") == nullptr && named.sizes.registers == 0 &&
      square_root(named.sizes.tokens) == 0) {
    fail(Exit::checkpoint, "{}: its names look like {}, but it lacks the class token", path,
         names_of(weights.scheme));
  }
  take_positions(tensors, named.sizes, weights.notes);
  config = inferred(named.sizes, request, weights.scheme, tensors);
  config.norm_after_pooling = norm_after_pooling;
  if (tensors.find("pre_logits.weight") != nullptr) {
    if (weights.scheme == Scheme::hf || config.head == Head::none) {
      std::erase_if(tensors.tensors,
                    [](const StoredTensor& t) { return t.name.starts_with("pre_logits."); });
      weights.notes.emplace_back(
          "the layer between y and a head that is not there ('pooler' or 'pre_logits') is left "
          "out");
    } else {
      config.head = Head::tanh;
    }
  }
  if (config.head == Head::none) {
    weights.notes.emplace_back(
        "there is no head: the model's output is y, what it sees; --classes K gives it one of "
        "zeros");
  }
  try {
    config.validate();
  } catch (const Error& error) {
    fail(Exit::checkpoint, "{}: {}", path, error.what());
  }
}

}  // namespace

VitWeights open_weights(const std::string& path, const WeightsRequest& request) {
  VitWeights weights;
  TensorFile file = without_wrapping(read_tensor_file(path));
  const auto carried = file.metadata.find("config");
  weights.ours = carried != file.metadata.end();
  if (file.metadata.contains("state_crc32")) {
    fail(Exit::checkpoint,
         "{}: a checkpoint, for its run to go on from; the weights are those of the run's folder",
         path);
  }
  if (!weights.ours) check_family(file);
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
    leave_out_unused(file, weights.notes);
    weights.tensors = as_config_says(std::move(file), weights.config);
  } else {
    std::vector<std::string> others;
    for (const StoredTensor& t : file.tensors) {
      if (t.dtype == Dtype::other) others.push_back(fmt::format("'{}'", t.name));
    }
    if (!others.empty()) {
      weights.notes.push_back(some_of(others) + ": no floating-point numbers, left out");
    }
    if (weights.ours) {  // whether the tensors fit the config, the model says
      const bool headless = request.classes != 0 || weights.config.head == Head::none;
      weights.tensors = as_config_says(
          to_timm(file, weights.scheme, {headless, weights.config.mean_pooling}).file,
          weights.config);
    } else {
      leave_out_unused(file, weights.notes);
      take_published(weights, std::move(file), request);
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
