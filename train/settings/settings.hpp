#pragma once

#include "vitruvian/train/settings/options.hpp"

#include <array>
#include <optional>
#include <string_view>
#include <type_traits>

// Every setting of a run once: flags, config files, config.json and the comparison of a resumed run
// with its own all follow this list. A flag is the name with '-' for '_'.

namespace vitruvian {

constexpr auto names_of(OptimizerKind) {
  return std::array<std::string_view, 3>{"adamw", "adam", "sgd"};
}
constexpr auto names_of(ScheduleKind) {
  return std::array<std::string_view, 3>{"cosine", "linear", "constant"};
}
constexpr auto names_of(Precision) { return std::array<std::string_view, 2>{"float", "double"}; }

/// Whether a setting is a number that need not be whole.
template <class T>
constexpr bool is_rate = std::is_same_v<T, double> || std::is_same_v<T, std::optional<double>>;

/// Where the numbers of a setting may lie; `above` and `below` leave out the ends.
struct Bounds {
  double low = 0, high = 0;
  bool above = false, below = false;

  [[nodiscard]] bool holds(double x) const;  ///< not NaN
  /// "a whole number from 1 to 100", "a number above 0 and at most 100".
  [[nodiscard]] std::string text(bool whole) const;
};
/// Of a setting that is a number.
const Bounds& bounds_of(std::string_view name);

/// Empty where a setting's value is in its range, or it is not a number; otherwise what it should
/// be.
template <class T>
std::string out_of_range(std::string_view name, const T& value) {
  if constexpr (std::is_same_v<T, std::optional<double>>) {
    return value ? out_of_range(name, *value) : "";
  } else if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
    const Bounds& bounds = bounds_of(name);
    return bounds.holds(static_cast<double>(value)) ? "" : bounds.text(std::is_integral_v<T>);
  } else {
    return "";
  }
}

/// What config.json holds beside the settings.
constexpr const char* made_by = "made_by";
/// And in a run of a program's own model its name, in place of the settings of the ViT.
constexpr const char* own_model = "own_model";

namespace setting_group {
constexpr const char* data = "The data";
constexpr const char* augment = "What happens to training images";
constexpr const char* run = "The run";
constexpr const char* files = "The run directory";
constexpr const char* model = "The model";
constexpr const char* switches = "The model's switches";
}  // namespace setting_group

/// Whether a setting says something of the built-in data sets and their ViT only.
inline bool of_built_in(std::string_view name, std::string_view group) {
  return group == setting_group::model || group == setting_group::switches || name == "init" ||
         name == "keep_head" || name == "pos_resize" ||
         (group == setting_group::data && name != "dataset" && name != "val_fraction");
}

/// visit(name, field, group, help, matters) for each; `matters` where another value makes another
/// run.
template <class Options, class Visit>
void for_each_setting(Options& o, const Visit& visit) {
  namespace in = setting_group;
  visit("dataset", o.dataset, in::data,
        "digits (built in), mnist, fashion-mnist, kmnist, cifar10, cifar100, cifar100-coarse, or\n"
        "folder: PNG and JPEG in a folder for each class, or in train/ and test/ of such folders",
        true);
  visit("data", o.data, in::data, "The folder with the data set's files", false);
  visit("train_size", o.train_size, in::data, "Use the first so many training images; 0 means all",
        true);
  visit("test_size", o.test_size, in::data, "Use the first so many test images; 0 means all", true);
  visit("val_fraction", o.val_fraction, in::data,
        "The share of the training images, of every class, that is kept for validation; the test\n"
        "set is then read once, at the end",
        true);
  visit("image_size", o.image_size, in::data,
        "Resize images to this height and width; 0 leaves them as they are (a folder's: 64)", true);
  visit("skip_bad", o.skip_bad, in::data,
        "Leave out files of a folder that cannot be used, and classes without any, and count them",
        false);

  visit("crop_padding", o.augment.crop_padding, in::augment,
        "Pad by so many pixels, then crop at random to the old size", true);
  visit("random_resized_crop", o.augment.random_resized_crop, in::augment,
        "Resize a random part of the image", true);
  visit("crop_scale", o.augment.crop_scale, in::augment, "The smallest share of its area", true);
  visit("flip", o.augment.flip, in::augment, "The chance to be mirrored left to right", true);
  visit("randaugment_ops", o.augment.randaugment_ops, in::augment,
        "Random operations of each image", true);
  visit("randaugment_magnitude", o.augment.randaugment_magnitude, in::augment,
        "How strong they are, 0 to 30", true);
  visit("erasing", o.augment.erasing, in::augment, "The chance that a random rectangle is erased",
        true);
  visit("erasing_noise", o.augment.erasing_noise, in::augment, "By noise, not by the mean", true);
  visit("mixup", o.augment.mixup, in::augment, "Alpha of mixup's Beta distribution; 0 means none",
        true);
  visit("cutmix", o.augment.cutmix, in::augment, "The same of cutmix", true);
  visit("mix_probability", o.augment.mix_probability, in::augment,
        "The chance that an image is mixed at all", true);

  visit("epochs", o.epochs, in::run, "Passes over the training images", true);
  visit("batch_size", o.batch_size, in::run, "Images of a batch", true);
  visit("accumulate", o.accumulate, in::run, "Batches whose gradients a step sums", true);
  visit("micro_batch", o.micro_batch, in::run,
        "Images that a thread carries through the net at once; the gradients are summed. 0\n"
        "means as many as suit the model",
        true);
  visit("optimizer", o.optimizer, in::run, "", true);
  visit("momentum", o.momentum, in::run, "Of SGD", true);
  visit("beta1", o.beta1, in::run, "Of Adam: how slowly the mean of the gradients changes", true);
  visit("beta2", o.beta2, in::run, "Of Adam: the same for their squares", true);
  visit("schedule", o.schedule, in::run, "How the learning rate falls after the warm-up: ", true);
  visit("lr", o.lr, in::run, "The highest learning rate", true);
  visit("warmup", o.warmup, in::run, "The share of the steps in which it rises from 0", true);
  visit(
      "warmup_steps", o.warmup_steps, in::run,
      "The steps in which it rises; with a share as well, the fewer of the two. 0 means the share",
      true);
  visit("weight_decay", o.weight_decay, in::run,
        "On weight matrices only: not on biases, norms, positions and the class token", true);
  visit("clip", o.clip, in::run, "The largest norm of a gradient; 0 means none", true);
  visit("label_smoothing", o.label_smoothing, in::run, "The share spread over all classes", true);
  visit(
      "ema", o.ema, in::run,
      "Evaluate and keep a moving average of the weights that decays by this a step; 0 means none",
      true);
  visit("patience", o.patience, in::run,
        "Stop when so many epochs have not raised the validation accuracy, and keep the best; 0\n"
        "means never",
        true);
  visit("seed", o.seed, in::run, "Of the weights, the order of the images, and dropout", true);
  visit("init", o.init, in::run,
        "Begin with these weights (of any project that `predict` reads) and a head of zeros;\n"
        "positions are resized to --image-size",
        true);
  visit("keep_head", o.keep_head, in::run, "With --init: keep the head too", true);
  visit(
      "pos_resize", o.pos_resize, in::run,
      "With --init: resize positions as jax, torchvision, timm or hf do; without, as that of them\n"
      "does whose names the file has",
      true);
  visit("composed", o.composed, in::run,
        "Compute with the readable twins of the fused ops: slower, equal to rounding", true);
  visit("precision", o.precision, in::run, "", true);

  visit("log_every", o.log_every, in::files,
        "Steps between lines of metrics.jsonl; 0 means some 300 lines in all", true);
  visit("checkpoint_every", o.checkpoint_every, in::files,
        "Steps between checkpoints within an epoch; 0 means about a minute", false);
  visit("save_every", o.save_every, in::files,
        "Keep the weights of every so many epochs; 0 means only the last and the best", false);

  visit("patch_size", o.model.P, in::model, "P, the side of a patch", true);
  visit("width", o.model.D, in::model, "D, the length of a token", true);
  visit("depth", o.model.L, in::model, "L, encoder blocks", true);
  visit("heads", o.model.h, in::model, "h, attention heads", true);
  visit("mlp_width", o.model.M, in::model, "M, hidden width of the MLP; 4 D unless given", true);
  visit("dropout", o.model.dropout, in::model, "At the paper's places", true);
  visit("attention_dropout", o.model.attention_dropout, in::model, "Of the attention probabilities",
        true);
  visit("stochastic_depth", o.model.stochastic_depth, in::model,
        "The rate at which the last block's branches are skipped; earlier blocks' rates rise to it",
        true);

  visit("positions", o.model.positions, in::switches, "", true);
  visit("head", o.model.head, in::switches, "", true);
  visit("initialisation", o.model.init, in::switches, "Whose: ", true);
  visit("eps", o.model.eps, in::switches, "Of every layer norm", true);
  visit("patch_width", o.model.P_w, in::switches, "Where a patch is not square; 0 where it is",
        true);
  visit("embedding_dropout", o.model.embedding_dropout, in::switches, "Where not --dropout", true);
  visit("projection_dropout", o.model.projection_dropout, in::switches, "Where not --dropout",
        true);
  visit("mlp_dropout", o.model.mlp_dropout, in::switches, "Where not --dropout", true);
  visit("patch_bias", o.model.patch_bias, in::switches, "Of the patch embedding", true);
  visit("qkv_bias", o.model.qkv_bias, in::switches, "Of U_qkv", true);
  visit("proj_bias", o.model.proj_bias, in::switches, "Of U_msa and the MLP", true);
  visit("conv_patches", o.model.conv_patches, in::switches, "Embed patches by a convolution", true);
  visit("per_head_qkv", o.model.per_head_qkv, in::switches, "One U_qkv for each head", true);
  visit("post_norm", o.model.post_norm, in::switches, "Layer norm after the residual, as in 2017",
        true);
  visit("mean_pooling", o.model.mean_pooling, in::switches,
        "The mean over the patches instead of a class token", true);
  visit("norm_after_pooling", o.model.norm_after_pooling, in::switches, "The norm of that mean",
        true);
  visit("gelu_tanh", o.model.gelu_tanh, in::switches, "GELU by its tanh approximation", true);
}

}  // namespace vitruvian
