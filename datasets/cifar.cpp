#include "datasets/cifar.hpp"

#include "core/error.hpp"
#include "datasets/file.hpp"

#include <cstdint>
#include <vector>

namespace vitruvian {
namespace {

constexpr std::size_t pixels_of_record = 3 * 32 * 32;
const char* const folder = "cifar-10-batches-bin";

Dataset read_files(const std::filesystem::path& directory, const std::vector<std::string>& files) {
  Dataset data = empty_cifar10();
  for (const std::string& file : files) append_cifar10(data, plain_or_gzip(directory, file));
  return data;
}

const std::vector<std::string> training_files = {"data_batch_1.bin", "data_batch_2.bin",
                                                 "data_batch_3.bin", "data_batch_4.bin",
                                                 "data_batch_5.bin"};
const std::vector<std::string> test_files = {"test_batch.bin"};

}  // namespace

Dataset empty_cifar10() {
  Dataset data;
  data.name = "cifar10";
  data.channels = 3;
  data.height = data.width = 32;
  data.class_names = {"airplane", "automobile", "bird",  "cat",  "deer",
                      "dog",      "frog",       "horse", "ship", "truck"};
  data.classes = data.class_names.size();
  data.mean = {0.49139968, 0.48215841, 0.44653091};
  data.std = {0.24703223, 0.24348513, 0.26158784};
  return data;
}

void append_cifar10(Dataset& data, const std::filesystem::path& path, std::size_t records) {
  DataFile file(path);
  const std::uint64_t record = 1 + pixels_of_record;
  const std::vector<std::uint8_t> bytes =
      file.take(records * record, fmt::format("{} records", records));
  file.expect_end();
  for (std::size_t i = 0; i < records; ++i) {
    const std::uint8_t* const start = bytes.data() + i * record;
    if (*start > 9) {
      fail(Exit::data, "{}: at offset {} (record {}) expected a label from 0 to 9, found {}",
           file.name(), i * record, i, *start);
    }
    data.labels.push_back(*start);
    data.pixels.insert(data.pixels.end(), start + 1, start + record);
  }
}

Split read_cifar10(const std::string& directory) {
  std::vector<std::string> files = training_files;
  files.insert(files.end(), test_files.begin(), test_files.end());
  const std::filesystem::path place = data_directory("cifar10", directory, folder, files);
  return {read_files(place, training_files), read_files(place, test_files)};
}

Dataset read_cifar10_test(const std::string& directory) {
  return read_files(data_directory("cifar10", directory, folder, test_files), test_files);
}

}  // namespace vitruvian
