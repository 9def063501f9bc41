#include "train/options.hpp"

#include "core/error.hpp"
#include "datasets/dataset.hpp"
#include "train/progress.hpp"
#include "vit/pos_resize.hpp"
#include "vit/variants.hpp"

#include <utility>

#if __has_include(<unistd.h>)
#include <unistd.h>
#endif

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

void check_at_least_one(const char* name, std::size_t value) {
  if (value == 0) fail(Exit::usage, "{} must be at least 1", name);
}

}  // namespace

std::size_t bytes_per_real(Precision precision) { return precision == Precision::float32 ? 4 : 8; }

void check_fits_in_memory(const ViTConfig& model, std::uint64_t bytes, const std::string& purpose) {
  const std::uint64_t memory = physical_memory();
  if (memory != 0 && bytes > memory) {
    fail(Exit::usage, "a model of {} parameters needs about {} {}; this machine has {}",
         model.parameters(), human_bytes(bytes), purpose, human_bytes(memory));
  }
}

TrainOptions default_options(const std::string& dataset) {
  TrainOptions options;
  options.dataset = dataset;
  if (dataset == "cifar10" || dataset.starts_with("cifar100")) {
    options.model = variant("cifar").config;
    options.epochs = 20;
  } else if (dataset != "digits") {
    options.epochs = 15;
  }
  if (dataset == "folder") {
    options.model = variant("cifar").config;
    options.image_size = options.model.H = options.model.W = 64;
    options.model.P = 8;
    options.epochs = 20;
    return options;
  }
  check_dataset_name(dataset);
  options.model.K = class_names(dataset).size();
  return options;
}

void check_data_given(const std::string& dataset, const std::string& data) {
  if (dataset != "digits" && data.empty()) {
    fail(Exit::usage, "--dataset {} needs --data DIR, the folder with its files", dataset);
  }
}

void TrainOptions::validate() const {
  if (dataset.empty()) fail(Exit::usage, "--dataset needs a name");
  check_data_given(dataset, data);
  if (dataset == "folder" && image_size == 0) {
    fail(Exit::usage, "--dataset folder needs --image-size N: its pictures have many sizes");
  }
  model.validate();
  check_at_least_one("--epochs", epochs);
  check_at_least_one("--batch-size", batch_size);
  check_at_least_one("--accumulate", accumulate);
  for (const auto& [name, n] :
       {std::pair{"--epochs", epochs}, std::pair{"--accumulate", accumulate},
        std::pair{"--image-size", image_size}}) {
    if (n > 1'000'000) fail(Exit::usage, "{} {} is beyond reason (at most 1000000)", name, n);
  }
  if (!(lr > 0 && lr <= 100)) fail(Exit::usage, "--lr {} is not between 0 and 100", lr);
  if (!(weight_decay >= 0 && weight_decay <= 100)) {
    fail(Exit::usage, "--weight-decay {} is not between 0 and 100", weight_decay);
  }
  if (!(warmup >= 0 && warmup <= 1))
    fail(Exit::usage, "--warmup {} is not a share between 0 and 1", warmup);
  if (!(clip >= 0 && clip <= 1e9))
    fail(Exit::usage, "--clip {} is not a norm (0 means none)", clip);
  for (const auto& [name, share] :
       {std::pair{"--label-smoothing", label_smoothing}, std::pair{"--momentum", momentum},
        std::pair{"--beta1", beta1}, std::pair{"--beta2", beta2}, std::pair{"--ema", ema},
        std::pair{"--val-fraction", val_fraction}}) {
    if (!(share >= 0 && share < 1)) fail(Exit::usage, "{} {} is not in [0, 1)", name, share);
  }
  augment.validate();
  if (patience > 0 && val_fraction == 0) {
    fail(Exit::usage, "--patience needs images to validate on: --val-fraction 0.1, say");
  }
  if (keep_head && init.empty()) fail(Exit::usage, "--keep-head needs --init FILE");
  if (!pos_resize.empty()) {
    if (init.empty()) fail(Exit::usage, "--pos-resize needs --init FILE");
    pos_resize_of(pos_resize);
  }
  if (resume && out.empty()) fail(Exit::usage, "to resume needs the run's directory");
}

}  // namespace vitruvian
