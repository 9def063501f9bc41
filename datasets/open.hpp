#pragma once

#include "vitruvian/datasets/images.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace vitruvian {

/// What there is to train on and to test with. A folder may stand for both: then they are `subset`s
/// of the same pictures (numbers, in order), to be handed to a Loader; empty means all.
struct ImageSplit {
  std::shared_ptr<const Images> train, test;
  std::vector<std::size_t> train_subset{}, test_subset{};
  std::string note{};  ///< what the user should know of it ("3 files were left out: ..."), or ""
};

/// Opens any data set. A folder with a folder train/ has its test pictures in test/ or val/;
/// where there is none, a fifth of each class, chosen by the seed, is set aside. Throws as `load`
/// and FolderImages do.
ImageSplit open_images(const Source& source);
/// The same for the test pictures alone. `classes` fixes those of a folder: a trained model's.
struct TestImages {
  std::shared_ptr<const Images> images;
  std::vector<std::size_t> subset{};
  std::string note{};
};
TestImages open_test_images(const Source& source, const std::vector<std::string>& classes = {});

}  // namespace vitruvian
