#include "vitruvian/datasets/images.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/rng.hpp"
#include "vitruvian/datasets/batch.hpp"
#include "vitruvian/datasets/fetch/file.hpp"
#include "vitruvian/datasets/formats/folder.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

namespace vitruvian {
namespace {

Dataset without_pixels(const Dataset& data) {
  return {data.name, data.channels,    data.height, data.width, data.classes, {},
          {},        data.class_names, data.mean,   data.std};
}

constexpr double test_share = 0.2;

// A folder is sorted by class: the first so many would be of one class, so they are drawn.
void draw_subset(std::vector<std::size_t>& subset, std::size_t all, std::size_t n,
                 std::uint64_t seed) {
  if (subset.empty()) subset = natural_order(all);
  if (n == 0) return;
  if (n > subset.size()) {
    fail(Exit::usage, "folder: {} images were asked for, but it has {}", n, subset.size());
  }
  const auto order = Rng(seed).fork("folder subset").permutation(subset.size());
  std::vector<std::size_t> chosen;
  for (std::size_t k = 0; k < n; ++k) chosen.push_back(subset[order[k]]);
  std::sort(chosen.begin(), chosen.end());
  subset = std::move(chosen);
}

std::shared_ptr<const FolderImages> open_part(const Source& source,
                                              const std::filesystem::path& directory,
                                              const std::vector<std::string>& classes) {
  const FolderOptions options{.height = source.height,
                              .width = source.width,
                              .channels = source.channels,
                              .skip_bad = source.skip_bad};
  return std::make_shared<FolderImages>(directory, options, classes);
}

FolderParts parts_of(const Source& source) {
  if (source.directory.empty()) {
    fail(Exit::usage, "folder needs the directory that holds a folder for each class");
  }
  return folder_parts(source.directory);
}

// Where the test pictures do not lie apart, of `train`.
Parts drawn_parts(const Images& train, const Source& source) {
  if (train.size() < 3) {
    fail(Exit::data,
         "{}: {} are too few to draw a fifth of them to test; folders train and test keep them "
         "apart",
         source.directory, counted(train.size(), "picture"));
  }
  std::vector<std::size_t> labels;
  for (std::size_t i = 0; i < train.size(); ++i) labels.push_back(train.label(i));
  return split_validation(labels, test_share, source.seed);
}

TestImages open_test_folder(const Source& source, const std::vector<std::string>& classes,
                            std::shared_ptr<const FolderImages> train) {
  const FolderParts parts = parts_of(source);
  TestImages test;
  if (!parts.test.empty()) {
    const auto images = open_part(source, parts.test, classes);
    test = {images, {}, images->note()};
  } else {
    if (!train) train = open_part(source, parts.train, classes);
    test = {train, drawn_parts(*train, source).validation, train->note()};
  }
  draw_subset(test.subset, test.images->size(), source.test_size, source.seed);
  return test;
}

ImageSplit open_folder(const Source& source) {
  const auto train = open_part(source, parts_of(source).train, {});
  TestImages test = open_test_folder(source, train->about().class_names, train);
  ImageSplit split{train, test.images, {}, std::move(test.subset), train->note()};
  if (split.test == split.train) {
    split.train_subset = drawn_parts(*train, source).train;
  } else if (!test.note.empty()) {
    split.note += (split.note.empty() ? "" : "; ") + test.note;
  }
  draw_subset(split.train_subset, split.train->size(), source.train_size, source.seed);
  return split;
}

}  // namespace

void Images::read_numbers(std::size_t /*i*/, double* /*out*/) const {
  fail("{}: its pictures are pixels, not numbers", about_.name);
}

MemoryImages::MemoryImages(Dataset data) : Images(without_pixels(data)), data_(std::move(data)) {
  if (data_.pixels.size() != data_.size() * data_.image_size()) {
    fail(Exit::data, "{}: {} bytes of pixels are not {} images of {} x {} x {}", data_.name,
         data_.pixels.size(), data_.size(), data_.channels, data_.height, data_.width);
  }
  for (std::size_t i = 0; i < size(); ++i) {
    if (data_.labels[i] < data_.classes) continue;
    fail(Exit::data, "{}: image {} is of class {} among {}", data_.name, i, data_.labels[i],
         data_.classes);
  }
}

std::size_t MemoryImages::label(std::size_t i) const {
  if (i >= size()) fail("{}: there is no image {} among {}", data_.name, i, size());
  return data_.labels[i];
}

void MemoryImages::read(std::size_t i, const ChooseBox& choose, std::uint8_t* out) const {
  const auto image = data_.image(i);
  if (!choose) {
    std::copy(image.begin(), image.end(), out);
    return;
  }
  const Planes to{data_.channels, data_.height, data_.width, out};
  resized_crop(image.data(), to.height, to.width, choose(to.height, to.width), to);
}

std::string MemoryImages::checksum() const {
  if (!can_sum()) return "";
  const std::string about = fmt::format("{} {} {} {} {}\n", size(), data_.channels, data_.height,
                                        data_.width, data_.classes);
  const auto bytes = [](const auto& numbers) {
    return std::span(reinterpret_cast<const char*>(numbers.data()),
                     numbers.size() * sizeof numbers[0]);
  };
  const std::array<std::span<const char>, 4> pieces{about, bytes(data_.labels),
                                                    bytes(data_.pixels)};
  std::size_t i = 0;
  return checksum_of([&] { return pieces.at(i++); });
}

Parts split_validation(std::span<const std::size_t> labels, double fraction, std::uint64_t seed) {
  if (!(fraction > 0 && fraction < 1)) {
    fail(Exit::usage, "a validation share of {} is not between 0 and 1", fraction);
  }
  std::map<std::size_t, std::vector<std::size_t>> members;
  for (std::size_t i = 0; i < labels.size(); ++i) members[labels[i]].push_back(i);

  // Each class gives the whole part of its share; those that lose most by that give one more.
  const auto wanted =
      static_cast<std::size_t>(std::llround(fraction * static_cast<double>(labels.size())));
  std::map<std::size_t, std::size_t> taken;
  std::vector<std::pair<double, std::size_t>> losses;
  std::size_t total = 0;
  for (const auto& [label, numbers] : members) {
    const double share = fraction * static_cast<double>(numbers.size());
    taken[label] = static_cast<std::size_t>(share);
    total += taken[label];
    losses.emplace_back(std::floor(share) - share, label);
  }
  std::sort(losses.begin(), losses.end());
  for (std::size_t k = 0; total < wanted && k < losses.size(); ++k, ++total) {
    ++taken[losses[k].second];
  }

  std::vector<bool> chosen(labels.size());
  for (const auto& [label, numbers] : members) {
    const auto order = Rng(seed).fork("validation", {label}).permutation(numbers.size());
    for (std::size_t k = 0; k < taken[label]; ++k) chosen[numbers[order[k]]] = true;
  }
  Parts parts;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    (chosen[i] ? parts.validation : parts.train).push_back(i);
  }
  if (parts.train.empty() || parts.validation.empty()) {
    fail(Exit::usage,
         "a validation share of {} leaves {} of {} images to train on and {} to validate", fraction,
         parts.train.size(), labels.size(), parts.validation.size());
  }
  return parts;
}

ImageSplit open_images(const Source& source) {
  if (source.name == "folder") return open_folder(source);
  Split split = load(source);
  return {std::make_shared<MemoryImages>(std::move(split.train)),
          std::make_shared<MemoryImages>(std::move(split.test))};
}

TestImages open_test_images(const Source& source, const std::vector<std::string>& classes) {
  if (source.name == "folder") return open_test_folder(source, classes, nullptr);
  return {std::make_shared<MemoryImages>(load_test(source))};
}

}  // namespace vitruvian
