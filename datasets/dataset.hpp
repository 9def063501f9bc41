#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace vitruvian {

/// Labelled images, as the files hold them: unsigned bytes. Normalising happens when a batch is
/// made (datasets/batch.hpp), with `mean` and `std` per channel of pixels scaled to [0, 1].
struct Dataset {
  std::string name;
  std::size_t channels = 0, height = 0, width = 0, classes = 0;
  std::vector<std::uint8_t> pixels;   ///< (n, C, H, W)
  std::vector<std::uint32_t> labels;  ///< (n), each below `classes`
  std::vector<std::string> class_names;
  std::vector<double> mean, std;  ///< (C)

  /// The number of images, n.
  [[nodiscard]] std::size_t size() const { return labels.size(); }
  /// Bytes of one image, C H W.
  [[nodiscard]] std::size_t image_size() const { return channels * height * width; }
  /// Image i, (C, H, W). Throws when there is none.
  [[nodiscard]] std::span<const std::uint8_t> image(std::size_t i) const;
  /// The first n images. Throws (Exit::usage) when n is 0 or there are fewer.
  [[nodiscard]] Dataset head(std::size_t n) const;
};

struct Split {
  Dataset train, test;
};

/// A grey data set of the ten digits, no images yet, with MNIST's mean and std.
Dataset empty_digit_dataset(std::string name, std::size_t height, std::size_t width);

/// What to load. The sizes mean the first so many images; 0 means all of them.
struct Source {
  std::string name = "digits";  ///< one of `dataset_names()`
  std::string directory{};      ///< of the files; the digits have none
  std::uint64_t seed = 1;       ///< of the digits, which are drawn, and of the parts of a folder
  std::size_t train_size = 0;
  std::size_t test_size = 0;

  // What the pictures of a folder become, and what is done about those that cannot be read.
  std::size_t height = 64, width = 64, channels = 3;
  bool skip_bad = false;
};

/// The names of the data sets: digits, mnist, fashion-mnist, kmnist, cifar10, cifar100 (in its 100
/// fine classes), cifar100-coarse (in its 20) and folder.
std::vector<std::string> dataset_names();

/// Throws (Exit::usage) for a name that does not exist, with the nearest that does.
void check_dataset_name(const std::string& name);

/// The names of a data set's classes; none for a folder, or a name that does not exist.
std::vector<std::string> class_names(const std::string& dataset);

/// Reads or draws a data set, all but a folder (datasets/images.hpp). Throws an `Error` of one
/// line: Exit::usage for a name that does not exist, a directory that is not given or a size beyond
/// what there is; Exit::data for files that are missing, damaged or disagree.
Split load(const Source& source);
/// The same for the test images alone.
Dataset load_test(const Source& source);

}  // namespace vitruvian
