#include "vitruvian/datasets/dataset.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/datasets/formats/cifar.hpp"
#include "vitruvian/datasets/formats/digits.hpp"
#include "vitruvian/datasets/formats/idx.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace vitruvian {
namespace {

constexpr std::size_t digits_to_train = 40'000;
constexpr std::size_t digits_to_test = 4'000;

// A data set that lies in files: what it is, no images yet, and what reads it from a directory.
struct InFiles {
  Dataset about;
  std::function<Split(const std::string& directory)> read;
  std::function<Dataset(const std::string& directory)> read_test;
};

const std::vector<InFiles>& all_in_files() {
  static const std::vector<InFiles> all = [] {
    using Path = const std::string&;
    std::vector<InFiles> sets;
    for (const Dataset& about : idx_datasets()) {
      sets.push_back({about, [&about](Path in) { return read_mnist(in, about.name); },
                      [&about](Path in) { return read_mnist_test(in, about.name); }});
    }
    sets.push_back({empty_cifar10(), read_cifar10, read_cifar10_test});
    for (const bool coarse : {false, true}) {
      sets.push_back({empty_cifar100(coarse),
                      [coarse](Path in) { return read_cifar100(in, coarse); },
                      [coarse](Path in) { return read_cifar100_test(in, coarse); }});
    }
    return sets;
  }();
  return all;
}

const InFiles& in_files(const std::string& name) {
  if (name == "folder") fail(Exit::usage, "the pictures of a folder are opened, not loaded whole");
  return *std::find_if(all_in_files().begin(), all_in_files().end(),
                       [&name](const InFiles& set) { return set.about.name == name; });
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
  std::vector<std::string> names{"digits"};
  for (const InFiles& set : all_in_files()) names.push_back(set.about.name);
  names.emplace_back("folder");
  return names;
}

void check_dataset_name(const std::string& name) {
  const std::vector<std::string> names = dataset_names();
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  fail(Exit::usage, "there is no data set '{}'; {}", name, did_you_mean(name, names));
}

std::vector<std::string> class_names(const std::string& dataset) {
  if (dataset == "digits") return empty_digit_dataset("", 0, 0).class_names;
  for (const InFiles& set : all_in_files()) {
    if (set.about.name == dataset) return set.about.class_names;
  }
  return {};
}

Split load(const Source& source) {
  check_dataset_name(source.name);
  if (source.name == "digits") {
    const std::size_t train = source.train_size != 0 ? source.train_size : digits_to_train;
    return {digits(train, source.seed, "train"), load_test(source)};
  }
  Split split = in_files(source.name).read(source.directory);
  keep(split.train, source.train_size, "training");
  keep(split.test, source.test_size, "test");
  return split;
}

Dataset load_test(const Source& source) {
  check_dataset_name(source.name);
  if (source.name == "digits") {
    return digits(source.test_size != 0 ? source.test_size : digits_to_test, source.seed, "test");
  }
  Dataset test = in_files(source.name).read_test(source.directory);
  keep(test, source.test_size, "test");
  return test;
}

}  // namespace vitruvian
