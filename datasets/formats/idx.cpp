#include "vitruvian/datasets/formats/idx.hpp"

#include "vitruvian/core/base/byte_source.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/datasets/fetch/file.hpp"

#include <utility>

namespace vitruvian {
namespace {

constexpr std::uint32_t image_magic = 0x803;
constexpr std::uint32_t label_magic = 0x801;

std::string meaning(std::uint32_t magic) {
  if (magic == image_magic) return " (images)";
  if (magic == label_magic) return " (labels)";
  return "";
}

void expect_magic(DataFile& file, std::uint32_t expected) {
  const std::uint32_t found = file.take_u32("the magic number");
  if (found != expected) {
    fail(Exit::data, "{}: at offset 0 expected magic number 0x{:08x}{}, found 0x{:08x}{}",
         file.name(), expected, meaning(expected), found, meaning(found));
  }
}

std::uint32_t take_dimension(DataFile& file, const std::string& what, std::uint32_t largest) {
  const std::uint64_t offset = file.offset();
  const std::uint32_t n = file.take_u32(what);
  if (n == 0 || n > largest) {
    fail(Exit::data, "{}: at offset {} expected {} from 1 to {}, found {}", file.name(), offset,
         what, largest, n);
  }
  return n;
}

constexpr std::uint32_t largest_count = 100'000'000;
constexpr std::uint32_t largest_side = 4096;

}  // namespace

IdxImages read_idx_images(const ByteSource& source) {
  DataFile file(source);
  expect_magic(file, image_magic);
  IdxImages images;
  images.count = take_dimension(file, "a number of images", largest_count);
  images.height = take_dimension(file, "a number of rows", largest_side);
  images.width = take_dimension(file, "a number of columns", largest_side);
  // At most 2^27 2^12 2^12: no overflow in 64 bits, and `take` checks against memory's.
  const std::uint64_t bytes = std::uint64_t{images.count} * images.height * images.width;
  images.pixels = file.take(bytes, "pixels");
  file.expect_end();
  return images;
}

std::vector<std::uint8_t> read_idx_labels(const ByteSource& source, std::size_t classes) {
  DataFile file(source);
  expect_magic(file, label_magic);
  const std::uint32_t count = take_dimension(file, "a number of labels", largest_count);
  const std::uint64_t start = file.offset();
  std::vector<std::uint8_t> labels = file.take(count, "labels");
  file.expect_end();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] >= classes) {
      fail(Exit::data, "{}: at offset {} expected a label from 0 to {}, found {}", file.name(),
           start + i, classes - 1, labels[i]);
    }
  }
  return labels;
}

const std::vector<Dataset>& idx_datasets() {
  const auto row = [](std::string name, std::vector<std::string> classes, double mean, double std) {
    Dataset about = empty_digit_dataset(std::move(name), 28, 28);
    about.classes = classes.size();
    about.class_names = std::move(classes);
    about.mean = {mean};
    about.std = {std};
    return about;
  };
  static const std::vector<Dataset> all{
      row("mnist", {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}, 0.1307, 0.3081),
      row("fashion-mnist",
          {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker",
           "Bag", "Ankle boot"},
          0.2860, 0.3530),
      row("kmnist", {"o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"}, 0.1918, 0.3483)};
  return all;
}

void read_idx(Dataset& data, const std::vector<std::filesystem::path>& files) {
  const std::string image_file = files.at(0).string();
  const std::string label_file = files.at(1).string();
  const std::vector<std::uint8_t> labels =
      read_idx_labels(RegularFile(label_file, Exit::data), data.classes);
  IdxImages images = read_idx_images(RegularFile(image_file, Exit::data));
  if (images.count != labels.size()) {
    fail(Exit::data, "{} holds {} images but {} holds {} labels; expected as many of each",
         image_file, images.count, label_file, labels.size());
  }
  data.height = images.height;
  data.width = images.width;
  data.labels.assign(labels.begin(), labels.end());
  data.pixels = std::move(images.pixels);
}

}  // namespace vitruvian
