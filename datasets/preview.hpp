#pragma once

#include "vitruvian/datasets/images.hpp"
#include "vitruvian/media/image.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace vitruvian {

/// A row for each augmentation, a column for each picture.
struct ContactSheet {
  Image picture;
  std::vector<std::string> rows;  ///< what each row shows, from the top
};

/// What every augmentation makes of `columns` pictures that the seed chooses: the pictures
/// themselves, then each way on its own at the references' strength, RandAugment's operations one
/// by one. A function of the pictures and the seed alone. Small pictures are enlarged by a whole
/// number.
ContactSheet contact_sheet(const std::shared_ptr<const Images>& images, std::size_t columns,
                           std::uint64_t seed);

}  // namespace vitruvian
