#include "vitruvian/datasets/open.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/rng.hpp"
#include "vitruvian/datasets/formats/folder.hpp"
#include "vitruvian/datasets/split.hpp"

#include <algorithm>
#include <numeric>

namespace vitruvian {
namespace {

constexpr double test_share = 0.2;

// A folder is sorted by class: the first so many would be of one class, so they are drawn.
void draw_subset(std::vector<std::size_t>& subset, std::size_t all, std::size_t n,
                 std::uint64_t seed) {
  if (subset.empty()) {
    subset.resize(all);
    std::iota(subset.begin(), subset.end(), std::size_t{0});
  }
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

std::string note_of(const FolderImages& images) {
  if (images.skipped() == 0) return "";
  return fmt::format("{} left out: {}", images.skipped(), images.first_skipped());
}

FolderOptions options_of(const Source& source) {
  if (source.directory.empty()) {
    fail(Exit::usage, "folder needs the directory that holds a folder for each class");
  }
  return {.height = source.height,
          .width = source.width,
          .channels = source.channels,
          .skip_bad = source.skip_bad};
}

// Where a folder's test pictures lie apart; empty where they do not.
std::filesystem::path test_root(const Source& source) {
  return has_train_folder(source.directory) ? test_folder(source.directory)
                                            : std::filesystem::path();
}

Parts parts_of(const Images& images, std::uint64_t seed) {
  std::vector<std::size_t> labels;
  for (std::size_t i = 0; i < images.size(); ++i) labels.push_back(images.label(i));
  return split_validation(labels, test_share, seed);
}

std::shared_ptr<const FolderImages> open_train_folder(const Source& source,
                                                      const std::vector<std::string>& classes) {
  const std::filesystem::path root(source.directory);
  return std::make_shared<FolderImages>(has_train_folder(root) ? root / "train" : root,
                                        options_of(source), classes);
}

TestImages open_test_folder(const Source& source, const std::vector<std::string>& classes,
                            std::shared_ptr<const FolderImages> train) {
  TestImages test;
  const std::filesystem::path root = test_root(source);
  if (!root.empty()) {
    const auto images = std::make_shared<FolderImages>(root, options_of(source), classes);
    test = {images, {}, note_of(*images)};
  } else {
    if (!train) train = open_train_folder(source, classes);
    test = {train, parts_of(*train, source.seed).validation, note_of(*train)};
  }
  draw_subset(test.subset, test.images->size(), source.test_size, source.seed);
  return test;
}

ImageSplit open_folder(const Source& source) {
  options_of(source);  // says what is missing before anything is looked for
  const std::shared_ptr<const FolderImages> train = open_train_folder(source, {});
  TestImages test = open_test_folder(source, train->about().class_names, train);
  ImageSplit split{train, test.images, {}, std::move(test.subset), note_of(*train)};
  if (split.test == split.train) {
    split.train_subset = parts_of(*train, source.seed).train;
  } else if (!test.note.empty()) {
    split.note += (split.note.empty() ? "" : "; ") + test.note;
  }
  draw_subset(split.train_subset, split.train->size(), source.train_size, source.seed);
  return split;
}

}  // namespace

ImageSplit open_images(const Source& source) {
  if (source.name == "folder") return open_folder(source);
  Split split = load(source);
  return {std::make_shared<MemoryImages>(std::move(split.train)),
          std::make_shared<MemoryImages>(std::move(split.test))};
}

TestImages open_test_images(const Source& source, const std::vector<std::string>& classes) {
  if (source.name == "folder") {
    options_of(source);  // says what is missing
    return open_test_folder(source, classes, nullptr);
  }
  return {std::make_shared<MemoryImages>(load_test(source))};
}

}  // namespace vitruvian
