#pragma once

#include "vitruvian/train/settings/options.hpp"
#include "vitruvian/vit/fields.hpp"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

// Every setting of a run once: flags, config files, config.json and the comparison of a resumed run
// with its own all follow this list. A flag is the name with '-' for '_'.

namespace vitruvian {

constexpr auto names_of(Task) { return std::array<std::string_view, 2>{"classify", "masked"}; }
constexpr auto names_of(OptimizerKind) {
  return std::array<std::string_view, 4>{"adamw", "adam", "sgd", "muon"};
}
constexpr auto names_of(ScheduleKind) {
  return std::array<std::string_view, 3>{"cosine", "linear", "constant"};
}
constexpr auto names_of(Precision) {
  return std::array<std::string_view, 3>{"float", "double", "bfloat16"};
}

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

/// Empty where a setting's value is in its range, or it is not a number; otherwise what it should
/// be.
template <class T>
std::string out_of_range(const Bounds& bounds, const T& value) {
  if constexpr (std::is_same_v<T, std::optional<double>>) {
    return value ? out_of_range(bounds, *value) : "";
  } else if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
    return bounds.holds(static_cast<double>(value)) ? "" : bounds.text(std::is_integral_v<T>);
  } else {
    return "";
  }
}

/// What config.json holds beside the settings.
constexpr const char* made_by = "made_by";
/// There, of a run that learns the colours of hidden patches: how often the commonest is right.
constexpr const char* commonest_colour_key = "commonest_colour";
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
         name == "keep_head" || name == "freeze" || name == "linear_probe" || name == "teacher" ||
         name == "layer_decay" || name == "head_lr" || name == "pos_resize" ||
         (group == setting_group::data && name != "dataset" && name != "val_fraction");
}

/// What is to be known of a setting.
struct Setting {
  const char* name;
  const char* group;
  const char* help;
  Bounds bounds{};      ///< of a number
  bool matters = true;  ///< whether another value makes another run
};

/// "--label-smoothing" of "label_smoothing".
std::string flag_name(std::string setting);

/// What a user would say for each setting, by its name: "adamw", "0.001". Switches are not among
/// them, nor what says nothing.
std::map<std::string, std::string> flag_values(const TrainOptions& options);

/// visit(field, Setting) for each.
template <class Options, class Visit>
void for_each_setting(Options& o, const Visit& visit) {
  namespace in = setting_group;
  constexpr double most = 1'000'000;  // beyond every published run
  constexpr double most_images = 100'000'000;
  constexpr double most_steps = 1'000'000'000;
  constexpr auto up_to = [](double high) { return Bounds{0, high}; };
  constexpr auto above_0 = [](double high) { return Bounds{0, high, true}; };
  constexpr Bounds share{0, 1};
  constexpr Bounds rate{0, 1, false, true};  // 1 would leave nothing
  constexpr Bounds size{1, most};
  constexpr bool aside = false;  // another value makes no other run
  const char* group = nullptr;
  const auto row = [&](auto& field, const char* name, const char* help, Bounds bounds = {},
                       bool matters = true) {
    visit(field, Setting{name, group, help, bounds, matters});
  };

  group = in::data;
  row(o.dataset, "dataset",
      "folder: pictures in a folder for each class, or in train/ and test/ of such folders");
  row(o.data, "data", "The folder with the data set's files", Bounds{}, aside);
  row(o.train_size, "train_size", "Use the first so many training images; 0 means all",
      up_to(most_images));
  row(o.test_size, "test_size", "Use the first so many test images; 0 means all",
      up_to(most_images));
  row(o.val_fraction, "val_fraction",
      "The share of the training images, of every class, that is kept for validation; the test\n"
      "set is then read once, at the end",
      rate);
  row(o.image_size, "image_size",
      "Resize images to this height and width; 0 leaves them as they are (a folder's: 64)",
      up_to(most));
  row(o.model.C, "channels",
      "C, of the images: 1 reads the pictures of a folder in grey, 3 in colour", Bounds{1, 4});
  row(o.skip_bad, "skip_bad",
      "Leave out files of a folder that cannot be used, and count them; a class without any stays\n"
      "one",
      Bounds{}, aside);

  group = in::augment;
  row(o.augment.crop_padding, "crop_padding",
      "Pad by so many pixels, then crop at random to the old size", up_to(1000));
  row(o.augment.random_resized_crop, "random_resized_crop", "Resize a random part of the image");
  row(o.augment.crop_scale, "crop_scale", "The smallest share of its area", above_0(1));
  row(o.augment.flip, "flip", "The chance to be mirrored left to right", share);
  row(o.augment.randaugment_ops, "randaugment_ops", "Random operations of each image", up_to(100));
  row(o.augment.randaugment_magnitude, "randaugment_magnitude", "How strong they are, 0 to 30",
      up_to(30));
  row(o.augment.erasing, "erasing", "The chance that a random rectangle is erased", share);
  row(o.augment.erasing_noise, "erasing_noise", "By noise, not by the mean");
  row(o.augment.mixup, "mixup", "Alpha of mixup's Beta distribution; 0 means none", up_to(100));
  row(o.augment.cutmix, "cutmix", "The same of cutmix", up_to(100));
  row(o.augment.mix_probability, "mix_probability", "The chance that an image is mixed at all",
      share);

  group = in::run;
  row(o.task, "task",
      "What is learned: the classes, or, without labels, the mean colours of hidden patches: ");
  row(o.teacher, "teacher",
      "Learn from these weights too (a file, or a run of yours): from the class that they give "
      "each\n"
      "image, as much as from its label (DeiT's hard distillation). The model gets a distillation\n"
      "token for it (--no-distilled: it does not)",
      Bounds{}, aside);
  row(o.epochs, "epochs", "Passes over the training images", size);
  row(o.batch_size, "batch_size", "Images of a batch", size);
  row(o.accumulate, "accumulate", "Batches whose gradients a step sums", size);
  row(o.micro_batch, "micro_batch",
      "Images that a thread carries through the net at once; the gradients are summed. 0\n"
      "means as many as suit the model",
      up_to(most));
  row(o.lanes, "lanes",
      "Partial sums of a step's gradients, added in their order: at most so many processes\n"
      "(mpirun) share a step, and however many do, the bytes are the same",
      Bounds{1, 4096});
  row(o.optimizer, "optimizer", "");
  row(o.momentum, "momentum", "Of SGD, and of Muon", rate);
  row(o.beta1, "beta1", "Of Adam: how slowly the mean of the gradients changes", rate);
  row(o.beta2, "beta2", "Of Adam: the same for their squares", rate);
  row(o.schedule, "schedule", "How the learning rate falls after the warm-up: ");
  row(o.lr, "lr", "The highest learning rate", above_0(100));
  row(o.warmup, "warmup", "The share of the steps in which the rate rises to lr", share);
  row(o.warmup_steps, "warmup_steps",
      "The steps in which it rises; with a share as well, the fewer of the two. 0 means the share",
      up_to(most_steps));
  row(o.weight_decay, "weight_decay",
      "On weight matrices only: not on biases, norms, positions and the class token", up_to(100));
  row(o.clip, "clip", "The largest norm of a gradient; 0 means none", up_to(1e9));
  row(o.label_smoothing, "label_smoothing", "The share spread over all classes", rate);
  row(o.ema, "ema",
      "Evaluate and keep a moving average of the weights that decays by this a step; 0 means none",
      rate);
  row(o.patience, "patience",
      "Stop when so many epochs have not raised the validation accuracy, and keep the best; 0\n"
      "means never",
      up_to(most));
  row(o.seed, "seed", "Of the weights, the order of the images, and dropout",
      up_to(18446744073709551615.0));
  row(o.init, "init",
      "Begin with these weights (of any project that `predict` reads) and a head of zeros;\n"
      "positions are resized to --image-size, but few images want the size that it learned at");
  row(o.keep_head, "keep_head", "With --init: keep the head too");
  row(o.freeze, "freeze",
      "Keep the embeddings and the first so many blocks as they begin; 0 means that all learn",
      up_to(most));
  row(o.linear_probe, "linear_probe", "Learn the head alone: what the rest sees already");
  row(o.layer_decay, "layer_decay",
      "The rate of a block is so many times that of the one above it, and so on down to the\n"
      "embeddings: what was learned first changes least. 1 means one rate for all",
      above_0(1));
  row(o.head_lr, "head_lr", "The rate of the head is so many times --lr", above_0(1000));
  row(o.pos_resize, "pos_resize",
      "With --init: resize positions as jax, torchvision, timm or hf do; "
      "without, as that of them\n"
      "does whose names the file has");
  row(o.composed, "composed",
      "Compute with the readable twins of the fused ops: slower, equal to rounding");
  row(o.precision, "precision", "");

  group = in::files;
  row(o.log_every, "log_every",
      "Steps between lines of metrics.jsonl; 0 means some 300 lines in all", up_to(most_steps));
  row(o.checkpoint_every, "checkpoint_every",
      "Steps between checkpoints within an epoch; 0 means about a minute", up_to(most_steps),
      aside);
  row(o.save_every, "save_every",
      "Keep the weights of every so many epochs; 0 means only the last and the best", up_to(most),
      aside);

  group = in::model;
  row(o.model.P, "patch_size", "P, the side of a patch", size);
  row(o.model.D, "width", "D, the length of a token", size);
  row(o.model.L, "depth", "L, encoder blocks", size);
  row(o.model.h, "heads", "h, attention heads", size);
  row(o.model.M, "mlp_width", "M, hidden width of the MLP; 4 D unless given", size);
  row(o.model.dropout, "dropout", "At the paper's places", rate);
  row(o.model.attention_dropout, "attention_dropout", "Of the attention probabilities", rate);
  row(o.model.stochastic_depth, "stochastic_depth",
      "The rate at which the last block's branches are skipped; earlier blocks' rates rise to it",
      rate);
  row(o.model.layer_scale, "layer_scale",
      "LayerScale: what each branch's learned factors begin as, such as 1e-5; 0 means none",
      Bounds{0, 1});
  row(o.model.registers, "registers", "Learned tokens beside the patches, of which nothing is read",
      up_to(most));

  group = in::switches;
  row(o.model.positions, "positions", "");
  row(o.model.head, "head", "");
  row(o.model.init, "initialisation", "Whose: ");
  row(o.model.eps, "eps", "Of every layer norm", Bounds{0, 1, true, true});
  row(o.model.P_w, "patch_width", "Where a patch is not square; 0 where it is", up_to(most));
  row(o.model.stem, "stem",
      "The paper's hybrid: so many 3 x 3 convolutions of stride 2 before the patches; 2^stem\n"
      "divides P and D",
      up_to(ViTConfig::deepest_stem));
  row(o.model.embedding_dropout, "embedding_dropout", "Where not --dropout", rate);
  row(o.model.projection_dropout, "projection_dropout", "Where not --dropout", rate);
  row(o.model.mlp_dropout, "mlp_dropout", "Where not --dropout", rate);
  for_each_switch(
      o.model, [&row](const char* name, auto& field, const char* help) { row(field, name, help); });
}

}  // namespace vitruvian
