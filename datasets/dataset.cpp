#include "vitruvian/datasets/dataset.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/datasets/formats/cifar.hpp"
#include "vitruvian/datasets/formats/digits.hpp"
#include "vitruvian/datasets/formats/idx.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace vitruvian {
namespace {

constexpr std::size_t digits_to_train = 40'000;
constexpr std::size_t digits_to_test = 4'000;

bool is_mnist(const std::string& name) {
  return name == "mnist" || name == "fashion-mnist" || name == "kmnist";
}

void check_in_memory(const std::string& name) {
  if (name == "folder") fail(Exit::usage, "the pictures of a folder are opened, not loaded whole");
}

void keep(Dataset& data, std::size_t n, const char* part) {
  if (n == 0 || n == data.size()) return;
  if (n > data.size()) {
    fail(Exit::usage, "{}: {} {} images were asked for, but it has {}", data.name, n, part,
         data.size());
  }
  data = data.head(n);
}

}  // namespace

std::span<const std::uint8_t> Dataset::image(std::size_t i) const {
  if (i >= size()) fail("{}: there is no image {} among {}", name, i, size());
  return std::span(pixels).subspan(i * image_size(), image_size());
}

Dataset Dataset::head(std::size_t n) const {
  if (n == 0 || n > size()) {
    fail(Exit::usage, "{}: expected from 1 to {} images, was asked for {}", name, size(), n);
  }
  Dataset first{name, channels, height, width, classes, {}, {}, class_names, mean, std};
  first.pixels.assign(pixels.begin(),
                      pixels.begin() + static_cast<std::ptrdiff_t>(n * image_size()));
  first.labels.assign(labels.begin(), labels.begin() + static_cast<std::ptrdiff_t>(n));
  return first;
}

Dataset empty_digit_dataset(std::string name, std::size_t height, std::size_t width) {
  Dataset data;
  data.name = std::move(name);
  data.channels = 1;
  data.height = height;
  data.width = width;
  data.class_names = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
  data.classes = data.class_names.size();
  data.mean = {0.1307};
  data.std = {0.3081};
  return data;
}

std::vector<std::string> dataset_names() {
  return {"digits",  "mnist",    "fashion-mnist",   "kmnist",
          "cifar10", "cifar100", "cifar100-coarse", "folder"};
}

void check_dataset_name(const std::string& name) {
  const std::vector<std::string> names = dataset_names();
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  fail(Exit::usage, "there is no data set '{}'; {}", name, did_you_mean(name, names));
}

std::vector<std::string> class_names(const std::string& dataset) {
  if (dataset == "digits") return empty_digit_dataset("", 0, 0).class_names;
  if (is_mnist(dataset)) return empty_mnist(dataset).class_names;
  if (dataset == "cifar10") return empty_cifar10().class_names;
  if (dataset == "cifar100") return cifar100_fine_names();
  if (dataset == "cifar100-coarse") return cifar100_coarse_names();
  return {};
}

Split load(const Source& source) {
  check_dataset_name(source.name);
  if (source.name == "digits") {
    const std::size_t train = source.train_size != 0 ? source.train_size : digits_to_train;
    return {digits(train, source.seed, "train"), load_test(source)};
  }
  check_in_memory(source.name);
  Split split;
  if (is_mnist(source.name)) {
    split = read_mnist(source.directory, source.name);
  } else if (source.name == "cifar10") {
    split = read_cifar10(source.directory);
  } else {
    split = read_cifar100(source.directory, source.name == "cifar100-coarse");
  }
  keep(split.train, source.train_size, "training");
  keep(split.test, source.test_size, "test");
  return split;
}

Dataset load_test(const Source& source) {
  check_dataset_name(source.name);
  if (source.name == "digits") {
    return digits(source.test_size != 0 ? source.test_size : digits_to_test, source.seed, "test");
  }
  check_in_memory(source.name);
  Dataset test = is_mnist(source.name) ? read_mnist_test(source.directory, source.name)
                 : source.name == "cifar10"
                     ? read_cifar10_test(source.directory)
                     : read_cifar100_test(source.directory, source.name == "cifar100-coarse");
  keep(test, source.test_size, "test");
  return test;
}

}  // namespace vitruvian
