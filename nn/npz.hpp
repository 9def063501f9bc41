#pragma once

#include "vitruvian/nn/tensor_file.hpp"

#include <memory>
#include <string>

namespace vitruvian {

/// Opens a .npz file (a zip archive of .npy files, as numpy and JAX write it): reads the headers of
/// its arrays only. A name is the entry's, without ".npy". Throws (Exit::checkpoint), naming the
/// file, the entry and what is wrong; where the archive promises more than its packed bytes can
/// hold, before anything of that size is allocated. Says so where the build has no libzip.
/// Arrays of other types than <f2, <f4, <f8 and |V2 are listed, but not read.
TensorFile read_npz(const std::shared_ptr<const ByteSource>& file);
TensorFile read_npz(const std::string& path);

}  // namespace vitruvian
