#include "datasets/open.hpp"

#include "core/error.hpp"
#include "core/rng.hpp"
#include "datasets/folder.hpp"
#include "datasets/split.hpp"

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
    fail(Exit::usage, "folder: {} images were asked for, but there are {}", n, subset.size());
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

ImageSplit open_folder(const Source& source) {
  if (source.directory.empty()) {
    fail(Exit::usage, "folder needs the directory that holds a folder for each class");
  }
  const std::filesystem::path root(source.directory);
  const FolderOptions options{.height = source.height,
                              .width = source.width,
                              .channels = source.channels,
                              .skip_bad = source.skip_bad};
  ImageSplit split;
  const bool parted = has_train_folder(root);
  const auto train = std::make_shared<FolderImages>(parted ? root / "train" : root, options);
  split.train = split.test = train;
  split.note = note_of(*train);
  const std::filesystem::path test_root = parted ? test_folder(root) : std::filesystem::path();
  if (!test_root.empty()) {
    const auto test =
        std::make_shared<FolderImages>(test_root, options, train->about().class_names);
    split.test = test;
    const std::string note = note_of(*test);
    if (!note.empty()) split.note += (split.note.empty() ? "" : "; ") + note;
  } else {
    std::vector<std::size_t> labels;
    for (std::size_t i = 0; i < train->size(); ++i) labels.push_back(train->label(i));
    Parts parts = split_validation(labels, test_share, source.seed);
    split.train_subset = std::move(parts.train);
    split.test_subset = std::move(parts.validation);
  }
  draw_subset(split.train_subset, split.train->size(), source.train_size, source.seed);
  draw_subset(split.test_subset, split.test->size(), source.test_size, source.seed);
  return split;
}

}  // namespace

ImageSplit open_images(const Source& source) {
  if (source.name == "folder") return open_folder(source);
  Split split = load(source);
  return {std::make_shared<MemoryImages>(std::move(split.train)),
          std::make_shared<MemoryImages>(std::move(split.test))};
}

}  // namespace vitruvian
