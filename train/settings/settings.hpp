#pragma once

#include "vitruvian/train/settings/options.hpp"
#include "vitruvian/vit/fields.hpp"

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

/// What is to be known of a setting.
struct Setting {
  const char* name;
  const char* group;
  const char* help;
  Bounds bounds{};      ///< of a number
  bool matters = true;  ///< whether another value makes another run
};

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
  visit(
      o.dataset,
      {"dataset", in::data,
       "digits (built in), mnist, fashion-mnist, kmnist, cifar10, cifar100, cifar100-coarse, or\n"
       "folder: PNG and JPEG in a folder for each class, or in train/ and test/ of such folders"});
  visit(o.data, {"data", in::data, "The folder with the data set's files", Bounds{}, aside});
  visit(o.train_size, {"train_size", in::data, "Use the first so many training images; 0 means all",
                       up_to(most_images)});
  visit(o.test_size, {"test_size", in::data, "Use the first so many test images; 0 means all",
                      up_to(most_images)});
  visit(o.val_fraction,
        {"val_fraction", in::data,
         "The share of the training images, of every class, that is kept for validation; the test\n"
         "set is then read once, at the end",
         rate});
  visit(o.image_size,
        {"image_size", in::data,
         "Resize images to this height and width; 0 leaves them as they are (a folder's: 64)",
         up_to(most)});
  visit(o.skip_bad,
        {"skip_bad", in::data,
         "Leave out files of a folder that cannot be used, and classes without any, and count them",
         Bounds{}, aside});

  visit(o.augment.crop_padding,
        {"crop_padding", in::augment, "Pad by so many pixels, then crop at random to the old size",
         up_to(1000)});
  visit(o.augment.random_resized_crop,
        {"random_resized_crop", in::augment, "Resize a random part of the image"});
  visit(o.augment.crop_scale,
        {"crop_scale", in::augment, "The smallest share of its area", above_0(1)});
  visit(o.augment.flip, {"flip", in::augment, "The chance to be mirrored left to right", share});
  visit(o.augment.randaugment_ops,
        {"randaugment_ops", in::augment, "Random operations of each image", up_to(100)});
  visit(o.augment.randaugment_magnitude,
        {"randaugment_magnitude", in::augment, "How strong they are, 0 to 30", up_to(30)});
  visit(o.augment.erasing,
        {"erasing", in::augment, "The chance that a random rectangle is erased", share});
  visit(o.augment.erasing_noise, {"erasing_noise", in::augment, "By noise, not by the mean"});
  visit(o.augment.mixup,
        {"mixup", in::augment, "Alpha of mixup's Beta distribution; 0 means none", up_to(100)});
  visit(o.augment.cutmix, {"cutmix", in::augment, "The same of cutmix", up_to(100)});
  visit(o.augment.mix_probability,
        {"mix_probability", in::augment, "The chance that an image is mixed at all", share});

  visit(o.epochs, {"epochs", in::run, "Passes over the training images", size});
  visit(o.batch_size, {"batch_size", in::run, "Images of a batch", size});
  visit(o.accumulate, {"accumulate", in::run, "Batches whose gradients a step sums", size});
  visit(o.micro_batch,
        {"micro_batch", in::run,
         "Images that a thread carries through the net at once; the gradients are summed. 0\n"
         "means as many as suit the model",
         up_to(most)});
  visit(o.optimizer, {"optimizer", in::run, ""});
  visit(o.momentum, {"momentum", in::run, "Of SGD", rate});
  visit(o.beta1, {"beta1", in::run, "Of Adam: how slowly the mean of the gradients changes", rate});
  visit(o.beta2, {"beta2", in::run, "Of Adam: the same for their squares", rate});
  visit(o.schedule, {"schedule", in::run, "How the learning rate falls after the warm-up: "});
  visit(o.lr, {"lr", in::run, "The highest learning rate", above_0(100)});
  visit(o.warmup, {"warmup", in::run, "The share of the steps in which it rises from 0", share});
  visit(
      o.warmup_steps,
      {"warmup_steps", in::run,
       "The steps in which it rises; with a share as well, the fewer of the two. 0 means the share",
       up_to(most_steps)});
  visit(
      o.weight_decay,
      {"weight_decay", in::run,
       "On weight matrices only: not on biases, norms, positions and the class token", up_to(100)});
  visit(o.clip, {"clip", in::run, "The largest norm of a gradient; 0 means none", up_to(1e9)});
  visit(o.label_smoothing, {"label_smoothing", in::run, "The share spread over all classes", rate});
  visit(
      o.ema,
      {"ema", in::run,
       "Evaluate and keep a moving average of the weights that decays by this a step; 0 means none",
       rate});
  visit(o.patience,
        {"patience", in::run,
         "Stop when so many epochs have not raised the validation accuracy, and keep the best; 0\n"
         "means never",
         up_to(most)});
  visit(o.seed, {"seed", in::run, "Of the weights, the order of the images, and dropout",
                 up_to(18446744073709551615.0)});
  visit(o.init,
        {"init", in::run,
         "Begin with these weights (of any project that `predict` reads) and a head of zeros;\n"
         "positions are resized to --image-size"});
  visit(o.keep_head, {"keep_head", in::run, "With --init: keep the head too"});
  visit(o.pos_resize, {"pos_resize", in::run,
                       "With --init: resize positions as jax, torchvision, timm or hf do; "
                       "without, as that of them\n"
                       "does whose names the file has"});
  visit(o.composed,
        {"composed", in::run,
         "Compute with the readable twins of the fused ops: slower, equal to rounding"});
  visit(o.precision, {"precision", in::run, ""});

  visit(o.log_every,
        {"log_every", in::files,
         "Steps between lines of metrics.jsonl; 0 means some 300 lines in all", up_to(most_steps)});
  visit(o.checkpoint_every, {"checkpoint_every", in::files,
                             "Steps between checkpoints within an epoch; 0 means about a minute",
                             up_to(most_steps), aside});
  visit(o.save_every,
        {"save_every", in::files,
         "Keep the weights of every so many epochs; 0 means only the last and the best",
         up_to(most), aside});

  visit(o.model.P, {"patch_size", in::model, "P, the side of a patch", size});
  visit(o.model.D, {"width", in::model, "D, the length of a token", size});
  visit(o.model.L, {"depth", in::model, "L, encoder blocks", size});
  visit(o.model.h, {"heads", in::model, "h, attention heads", size});
  visit(o.model.M, {"mlp_width", in::model, "M, hidden width of the MLP; 4 D unless given", size});
  visit(o.model.dropout, {"dropout", in::model, "At the paper's places", rate});
  visit(o.model.attention_dropout,
        {"attention_dropout", in::model, "Of the attention probabilities", rate});
  visit(
      o.model.stochastic_depth,
      {"stochastic_depth", in::model,
       "The rate at which the last block's branches are skipped; earlier blocks' rates rise to it",
       rate});

  visit(o.model.positions, {"positions", in::switches, ""});
  visit(o.model.head, {"head", in::switches, ""});
  visit(o.model.init, {"initialisation", in::switches, "Whose: "});
  visit(o.model.eps, {"eps", in::switches, "Of every layer norm", Bounds{0, 1, true, true}});
  visit(o.model.P_w,
        {"patch_width", in::switches, "Where a patch is not square; 0 where it is", up_to(most)});
  visit(o.model.embedding_dropout,
        {"embedding_dropout", in::switches, "Where not --dropout", rate});
  visit(o.model.projection_dropout,
        {"projection_dropout", in::switches, "Where not --dropout", rate});
  visit(o.model.mlp_dropout, {"mlp_dropout", in::switches, "Where not --dropout", rate});
  for_each_switch(o.model, [&visit](const char* name, auto& field, const char* help) {
    visit(field, {name, in::switches, help});
  });
}

}  // namespace vitruvian
