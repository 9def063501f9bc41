#include "vitruvian/train/settings/options.hpp"

#include "vitruvian/core/console.hpp"
#include "vitruvian/core/error.hpp"
#include "vitruvian/datasets/dataset.hpp"
#include "vitruvian/train/settings/settings.hpp"
#include "vitruvian/vit/variants.hpp"
#include "vitruvian/vit/weights/pos_resize.hpp"

#include <algorithm>
#include <type_traits>
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

}  // namespace

std::size_t bytes_per_real(Precision precision) { return precision == Precision::float32 ? 4 : 8; }

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
  if (dataset == "digits" && !data.empty()) {
    fail(
        Exit::usage,
        "--data {}: the digits are drawn by the program, not read; --dataset folder reads pictures "
        "of yours, other names are read from their files",
        data);
  }
}

void TrainOptions::validate() const {
  if (dataset.empty()) fail(Exit::usage, "--dataset needs a name");
  if (!own_model.empty()) {
    if (!data.empty() || train_size != 0 || test_size != 0 || image_size != 0 || !init.empty()) {
      fail(Exit::usage,
           "data, train_size, test_size, image_size and init are of the built-in data sets and "
           "their ViT; a program's own model and data come as they are");
    }
  } else {
    check_data_given(dataset, data);
  }
  if (dataset == "folder" && image_size == 0 && own_model.empty()) {
    fail(Exit::usage, "--dataset folder needs --image-size N: its pictures have many sizes");
  }
  for_each_setting(*this, [](const char* name, const auto& field, auto...) {
    const std::string expected = out_of_range(name, field);
    if (expected.empty()) return;
    std::string flag = name;
    std::replace(flag.begin(), flag.end(), '_', '-');
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(field)>>) {
      fail(Exit::usage, "--{} {}: expected {}", flag, field, expected);
    } else {
      fail(Exit::usage, "--{}: expected {}", flag, expected);
    }
  });
  model.validate();
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
