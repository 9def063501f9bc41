#include "vitruvian/core/base/error.hpp"
#include "vitruvian/datasets/dataset.hpp"
#include "vitruvian/datasets/fetch/file.hpp"
#include "vitruvian/datasets/formats/cifar.hpp"
#include "vitruvian/datasets/formats/digits.hpp"
#include "vitruvian/datasets/formats/idx.hpp"

#include <algorithm>
#include <filesystem>

namespace vitruvian {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t digits_to_train = 40'000;
constexpr std::size_t digits_to_test = 4'000;

using Names = std::vector<std::string>;

// A data set that lies in files: what it is, no images yet; the folder that its files may lie in;
// the files of both parts, each plain or gzip; and what reads those of one.
struct InFiles {
  Dataset about;
  std::string folder;
  Names train, test;
  void (*read)(Dataset& data, const std::vector<fs::path>& files);
};

const std::vector<InFiles>& all_in_files() {
  static const std::vector<InFiles> all = [] {
    std::vector<InFiles> sets;
    for (const Dataset& about : idx_datasets()) {
      sets.push_back({about,
                      about.name,
                      {"train-images-idx3-ubyte", "train-labels-idx1-ubyte"},
                      {"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"},
                      read_idx});
    }
    sets.push_back({empty_cifar10(),
                    "cifar-10-batches-bin",
                    {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
                     "data_batch_5.bin"},
                    {"test_batch.bin"},
                    read_cifar});
    for (const bool coarse : {false, true}) {
      sets.push_back(
          {empty_cifar100(coarse), "cifar-100-binary", {"train.bin"}, {"test.bin"}, read_cifar});
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

// One part of a data set, from the folder where its files are.
Dataset read_part(const InFiles& set, const fs::path& place, const Names& files) {
  std::vector<fs::path> paths;
  for (const std::string& file : files) paths.push_back(plain_or_gzip(place, file));
  Dataset data = set.about;
  set.read(data, paths);
  return data;
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

std::vector<std::string> dataset_names() {
  std::vector<std::string> names{"digits"};
  for (const InFiles& set : all_in_files()) names.push_back(set.about.name);
  names.emplace_back("folder");
  return names;
}

void check_dataset_name(const std::string& name) { index_of(name, dataset_names(), "data set"); }

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
  const InFiles& set = in_files(source.name);
  Names files = set.train;
  files.insert(files.end(), set.test.begin(), set.test.end());
  const fs::path place = data_directory(source.name, source.directory, set.folder, files);
  Split split{read_part(set, place, set.train), read_part(set, place, set.test)};
  if (split.train.height != split.test.height || split.train.width != split.test.width) {
    fail(Exit::data, "{}: the training images are {} x {} but the test images {} x {}",
         place.string(), split.train.height, split.train.width, split.test.height,
         split.test.width);
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
  const InFiles& set = in_files(source.name);
  Dataset test =
      read_part(set, data_directory(source.name, source.directory, set.folder, set.test), set.test);
  keep(test, source.test_size, "test");
  return test;
}

}  // namespace vitruvian
