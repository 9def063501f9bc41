#include "vitruvian/datasets/formats/cifar.hpp"

#include "vitruvian/core/base/byte_source.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/datasets/fetch/file.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace vitruvian {
namespace {

constexpr std::size_t pixels_of_record = 3 * 32 * 32;
const char* const cifar10_folder = "cifar-10-batches-bin";
const char* const cifar100_folder = "cifar-100-binary";

Dataset read_files(const std::filesystem::path& directory, const std::vector<std::string>& files) {
  Dataset data = empty_cifar10();
  for (const std::string& file : files) append_cifar10(data, plain_or_gzip(directory, file));
  return data;
}

const std::vector<std::string> training_files = {"data_batch_1.bin", "data_batch_2.bin",
                                                 "data_batch_3.bin", "data_batch_4.bin",
                                                 "data_batch_5.bin"};
const std::vector<std::string> test_files = {"test_batch.bin"};

Dataset empty_cifar(std::string name, std::vector<std::string> class_names) {
  Dataset data;
  data.name = std::move(name);
  data.channels = 3;
  data.height = data.width = 32;
  data.class_names = std::move(class_names);
  data.classes = data.class_names.size();
  return data;
}

// The records of a file whose labels, before each picture, are below `classes`; the label at `kept`
// is kept.
void append_records(Dataset& data, const ByteSource& source, std::size_t records,
                    const std::vector<std::size_t>& classes, std::size_t kept) {
  DataFile file(source);
  const std::uint64_t record = classes.size() + pixels_of_record;
  const std::vector<std::uint8_t> bytes =
      file.take(records * record, fmt::format("{} records", records));
  file.expect_end();
  for (std::size_t i = 0; i < records; ++i) {
    const std::uint8_t* const start = bytes.data() + i * record;
    for (std::size_t k = 0; k < classes.size(); ++k) {
      if (start[k] < classes[k]) continue;
      fail(Exit::data, "{}: at offset {} (record {}) expected a label from 0 to {}, found {}",
           file.name(), i * record + k, i, classes[k] - 1, start[k]);
    }
    data.labels.push_back(start[kept]);
    data.pixels.insert(data.pixels.end(), start + classes.size(), start + record);
  }
}

Dataset read_cifar100_file(const std::filesystem::path& directory, const std::string& file,
                           std::size_t records, bool coarse) {
  Dataset data = empty_cifar100(coarse);
  append_cifar100(data, plain_or_gzip(directory, file), records);
  return data;
}

}  // namespace

Dataset empty_cifar10() {
  Dataset data = empty_cifar("cifar10", {"airplane", "automobile", "bird", "cat", "deer", "dog",
                                         "frog", "horse", "ship", "truck"});
  data.mean = {0.49139968, 0.48215841, 0.44653091};
  data.std = {0.24703223, 0.24348513, 0.26158784};
  return data;
}

Dataset empty_cifar100(bool coarse) {
  Dataset data = coarse ? empty_cifar("cifar100-coarse", cifar100_coarse_names())
                        : empty_cifar("cifar100", cifar100_fine_names());
  data.mean = {0.50707516, 0.48654887, 0.44091784};
  data.std = {0.26733429, 0.25643846, 0.27615047};
  return data;
}

void append_cifar10(Dataset& data, const ByteSource& source, std::size_t records) {
  append_records(data, source, records, {10}, 0);
}
void append_cifar10(Dataset& data, const std::filesystem::path& path, std::size_t records) {
  append_cifar10(data, RegularFile(path.string(), Exit::data), records);
}

void append_cifar100(Dataset& data, const ByteSource& source, std::size_t records) {
  append_records(data, source, records, {20, 100}, data.classes == 20 ? 0 : 1);
}
void append_cifar100(Dataset& data, const std::filesystem::path& path, std::size_t records) {
  append_cifar100(data, RegularFile(path.string(), Exit::data), records);
}

Split read_cifar10(const std::string& directory) {
  std::vector<std::string> files = training_files;
  files.insert(files.end(), test_files.begin(), test_files.end());
  const std::filesystem::path place = data_directory("cifar10", directory, cifar10_folder, files);
  return {read_files(place, training_files), read_files(place, test_files)};
}

Dataset read_cifar10_test(const std::string& directory) {
  return read_files(data_directory("cifar10", directory, cifar10_folder, test_files), test_files);
}

Split read_cifar100(const std::string& directory, bool coarse) {
  const std::filesystem::path place =
      data_directory("cifar100", directory, cifar100_folder, {"train.bin", "test.bin"});
  return {read_cifar100_file(place, "train.bin", 50'000, coarse),
          read_cifar100_file(place, "test.bin", 10'000, coarse)};
}

Dataset read_cifar100_test(const std::string& directory, bool coarse) {
  return read_cifar100_file(data_directory("cifar100", directory, cifar100_folder, {"test.bin"}),
                            "test.bin", 10'000, coarse);
}

// The classes of CIFAR-100, in the order of its labels: of fine_label_names and coarse_label_names
// in its batches.meta.
const std::vector<std::string>& cifar100_fine_names() {
  static const std::vector<std::string> names = {
      "apple",       "aquarium_fish", "baby",      "bear",       "beaver",       "bed",
      "bee",         "beetle",        "bicycle",   "bottle",     "bowl",         "boy",
      "bridge",      "bus",           "butterfly", "camel",      "can",          "castle",
      "caterpillar", "cattle",        "chair",     "chimpanzee", "clock",        "cloud",
      "cockroach",   "couch",         "crab",      "crocodile",  "cup",          "dinosaur",
      "dolphin",     "elephant",      "flatfish",  "forest",     "fox",          "girl",
      "hamster",     "house",         "kangaroo",  "keyboard",   "lamp",         "lawn_mower",
      "leopard",     "lion",          "lizard",    "lobster",    "man",          "maple_tree",
      "motorcycle",  "mountain",      "mouse",     "mushroom",   "oak_tree",     "orange",
      "orchid",      "otter",         "palm_tree", "pear",       "pickup_truck", "pine_tree",
      "plain",       "plate",         "poppy",     "porcupine",  "possum",       "rabbit",
      "raccoon",     "ray",           "road",      "rocket",     "rose",         "sea",
      "seal",        "shark",         "shrew",     "skunk",      "skyscraper",   "snail",
      "snake",       "spider",        "squirrel",  "streetcar",  "sunflower",    "sweet_pepper",
      "table",       "tank",          "telephone", "television", "tiger",        "tractor",
      "train",       "trout",         "tulip",     "turtle",     "wardrobe",     "whale",
      "willow_tree", "wolf",          "woman",     "worm"};
  return names;
}

const std::vector<std::string>& cifar100_coarse_names() {
  static const std::vector<std::string> names = {"aquatic_mammals",
                                                 "fish",
                                                 "flowers",
                                                 "food_containers",
                                                 "fruit_and_vegetables",
                                                 "household_electrical_devices",
                                                 "household_furniture",
                                                 "insects",
                                                 "large_carnivores",
                                                 "large_man-made_outdoor_things",
                                                 "large_natural_outdoor_scenes",
                                                 "large_omnivores_and_herbivores",
                                                 "medium_mammals",
                                                 "non-insect_invertebrates",
                                                 "people",
                                                 "reptiles",
                                                 "small_mammals",
                                                 "trees",
                                                 "vehicles_1",
                                                 "vehicles_2"};
  return names;
}

}  // namespace vitruvian
