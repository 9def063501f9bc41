#include "vitruvian/train/settings/options.hpp"

#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/json.hpp"
#include "vitruvian/datasets/dataset.hpp"
#include "vitruvian/train/run/run_directory.hpp"
#include "vitruvian/train/settings/settings.hpp"
#include "vitruvian/vit/variants.hpp"
#include "vitruvian/vit/weights/weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include <unistd.h>

namespace vitruvian {

namespace {

// 0 where the system does not say.
std::uint64_t physical_memory() {
#ifdef _SC_PHYS_PAGES
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long bytes = sysconf(_SC_PAGE_SIZE);
  if (pages > 0 && bytes > 0)
    return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(bytes);
#endif
  return 0;
}

}  // namespace

void check_fits_in_memory(const ViTConfig& model, std::uint64_t bytes, const std::string& purpose) {
  const std::uint64_t memory = physical_memory();
  if (memory != 0 && bytes > memory) {
    fail(Exit::usage, "a model of {} parameters needs about {} {}; this machine has {}",
         model.parameters(), console::human_bytes(bytes), purpose, console::human_bytes(memory));
  }
}

TrainOptions default_options(const std::string& dataset) {
  TrainOptions options;
  options.dataset = dataset;
  const bool folder = dataset == "folder";
  if (folder || dataset == "cifar10" || dataset.starts_with("cifar100")) {
    options.model = variant("cifar").config;
    options.epochs = 20;
  } else if (dataset != "digits") {
    options.epochs = 15;
  }
  if (folder) {
    options.image_size = options.model.H = options.model.W = 64;
    options.model.P = 8;
  } else {
    check_dataset_name(dataset);
    options.model.K = class_names(dataset).size();
  }
  return options;
}

void check_data_given(const std::string& dataset, const std::string& data) {
  if (dataset != "digits" && data.empty()) {
    fail(
        Exit::usage, "--dataset {} needs --data DIR, the folder with its files{}", dataset,
        dataset == "folder" ? "" : fmt::format("; 'vitruvian data fetch {}' brings them", dataset));
  }
  if (dataset == "digits" && !data.empty()) {
    fail(
        Exit::usage,
        "--data {}: the digits are drawn by the program, not read; --dataset folder reads pictures "
        "of yours, other names are read from their files",
        data);
  }
}

namespace {

// What masked patch prediction cannot do.
void check_masked(const TrainOptions& o) {
  if (!o.own_model.empty()) {
    fail(Exit::usage,
         "--task masked is for the library's ViT, whose patches are known: a program's own model "
         "asks by `Learner::questions`");
  }
  if (o.model.head != Head::none) {
    fail(Exit::usage,
         "--task masked asks for the colours of patches, not for classes: its model has no head "
         "(--head none), and whoever begins with it (--init) gets a new one");
  }
  if (o.linear_probe) {
    fail(Exit::usage, "--linear-probe trains a head for classes, and --task masked has none");
  }
  if (o.model.N() < 2) {
    fail(Exit::usage, "--task masked: {} patch of an image leaves nothing to tell it by",
         o.model.N());
  }
  if (o.model.C > 3) {
    fail(Exit::usage, "--task masked: 3 bits for each of {} channels are too many colours",
         o.model.C);
  }
}

// What cannot learn from a teacher.
void check_taught(const TrainOptions& o) {
  if (!o.own_model.empty()) {
    fail(Exit::usage,
         "--teacher is for the library's ViT: a program's own model asks by `Learner::questions`");
  }
  if (o.task == Task::masked) {
    fail(Exit::usage, "--teacher names classes, and --task masked learns none");
  }
}

// config.json is UTF-8: of another name it would keep something else, and the run could not go on.
void check_can_be_kept(const char* flag, const std::string& path) {
  const Json text = path;
  if (parse_json(dump_json(text)) == text) return;
  fail(Exit::usage, "{} {}: the name is not UTF-8, and a run's config.json could not hold it", flag,
       path);
}

}  // namespace

void TrainOptions::validate() const {
  if (dataset.empty()) fail(Exit::usage, "--dataset needs a name");
  if (!own_model.empty()) {
    if (!data.empty() || train_size != 0 || test_size != 0 || image_size != 0 || !init.empty() ||
        layer_decay != 1 || head_lr != 1 || freeze != 0 || linear_probe) {
      fail(Exit::usage,
           "data, train_size, test_size, image_size, init, layer_decay, head_lr, freeze and "
           "linear_probe are of the built-in data sets and their ViT; a program's own model and "
           "data come as they are, its frozen parameters by set_requires_grad(false)");
    }
  } else {
    check_data_given(dataset, data);
  }
  if (dataset == "folder" && own_model.empty() && model.C != 1 && model.C != 3) {
    fail(Exit::usage, "--channels {}: the pictures of a folder have 1 or 3", model.C);
  }
  if (dataset == "folder" && image_size == 0 && own_model.empty()) {
    fail(Exit::usage, "--dataset folder needs --image-size N: its pictures have many sizes");
  }
  for_each_setting(*this, [](const auto& field, const Setting& s) {
    const std::string expected = out_of_range(s.bounds, field);
    if (expected.empty()) return;
    const std::string flag = flag_name(s.name);
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(field)>>) {
      fail(Exit::usage, "{} {}: expected {}", flag, field, expected);
    } else {
      fail(Exit::usage, "{}: expected {}", flag, expected);
    }
  });
  check_can_be_kept("--data", data);
  check_can_be_kept("--init", init);
  check_can_be_kept("--teacher", teacher);
  model.validate();
  augment.validate();
  if (task == Task::masked) check_masked(*this);
  if (task == Task::classify && own_model.empty() && model.head == Head::none) {
    fail(Exit::usage, "--head none learns no classes; --task masked learns without them");
  }
  if (!teacher.empty()) check_taught(*this);
  if (patience > 0 && val_fraction == 0) {
    fail(Exit::usage, "--patience needs images to validate on: --val-fraction 0.1, say");
  }
  if (own_model.empty() && freeze > model.L) {
    fail(Exit::usage, "--freeze {}: the model has {} blocks", freeze, model.L);
  }
  if (keep_head && init.empty()) fail(Exit::usage, "--keep-head needs --init FILE");
  if (!pos_resize.empty()) {
    if (init.empty()) fail(Exit::usage, "--pos-resize needs --init FILE");
    pos_resize_of(pos_resize);
  }
  if (resume && out.empty()) fail(Exit::usage, "to resume needs the run's directory");
}

std::vector<std::string> warnings_of(const TrainOptions& o) {
  std::vector<std::string> result;
  if (o.model.D_h() < 16) {
    result.push_back(
        fmt::format("heads of width D / h = {}: scores of so few numbers tell little apart; 16 or "
                    "more is usual",
                    o.model.D_h()));
  }
  if (o.model.N() < 16) {
    result.push_back(fmt::format(
        "patches of {} make {} of an image: attention has little to choose from; a smaller "
        "--patch-size helps",
        o.model.P, counted(o.model.N(), "token")));
  }
  const bool adaptive = o.optimizer != OptimizerKind::sgd;
  if (o.warmup == 0 && o.lr >= (adaptive ? 5e-4 : 0.05)) {
    result.push_back(fmt::format(
        "a learning rate of {} without warm-up: the first steps may spoil the weights for good",
        o.lr));
  }
  if ((o.freeze > 0 || o.linear_probe) && o.init.empty()) {
    result.emplace_back(
        "what is frozen stays as it was drawn: --init FILE brings weights that have learned");
  }
  if (o.layer_decay < 1 && o.init.empty()) {
    result.emplace_back(
        "the lower blocks, which begin as they were drawn, learn slowest (--layer-decay): --init "
        "FILE brings weights that have learned");
  }
  const bool asks_nobody = o.model.distilled && o.teacher.empty() && o.init.empty();
  if (asks_nobody && o.task == Task::classify) {
    result.emplace_back(
        "a distillation token without a teacher learns from the labels, as the class token does: "
        "--teacher FILE names weights to learn from");
  }
  if (o.optimizer == OptimizerKind::adam && o.weight_decay >= 0.01) {
    result.push_back(fmt::format(
        "Adam with a weight decay of {}: Adam divides the decay by the gradient's size too, and "
        "hardly learns; --optimizer adamw decouples them",
        o.weight_decay));
  }
  return result;
}

std::string warning_of_resolution(const TrainOptions& o, std::size_t images) {
  constexpr std::size_t few = 10'000;
  if (o.init.empty() || images >= few) return "";
  const ViTConfig before = open_weights(weights_file(o.init), {.classes = o.model.K}).config;
  if (before.H == o.model.H && before.W == o.model.W) return "";
  return fmt::format(
      "images of {} x {}, where these weights learned at {} x {}: a patch shows another part of a "
      "thing than any did before, and {} images may not make up for that; pictures of {} x {}, or "
      "both tried with --val-fraction, tell (docs/results/transfer.md)",
      o.model.H, o.model.W, before.H, before.W, images, before.H, before.W);
}

std::size_t steps_an_epoch(const TrainOptions& options, std::size_t images) {
  const std::size_t a_step = options.batch_size * options.accumulate;
  return (images + a_step - 1) / a_step;
}

std::size_t warmup_steps(const TrainOptions& options, std::size_t steps) {
  const auto share =
      static_cast<std::size_t>(std::lround(options.warmup * static_cast<double>(steps)));
  return options.warmup_steps == 0 ? share : std::min(share, options.warmup_steps);
}

TrainOptions prolonged(TrainOptions run, std::size_t epochs, std::size_t steps_an_epoch) {
  run.warmup_steps = warmup_steps(run, run.epochs * steps_an_epoch);
  run.warmup = run.warmup_steps == 0 ? 0 : 1;  // the steps alone say it
  run.epochs = epochs;
  return run;
}

}  // namespace vitruvian
