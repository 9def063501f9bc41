#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace vitruvian {

/// The names of K classes from a text file, one a line. Throws (Exit::data), naming the file, when
/// it cannot be read, is larger than any such file (16 MB), or has not K lines (empty ones at the
/// end aside).
std::vector<std::string> read_labels(const std::string& path, std::size_t K);

}  // namespace vitruvian
