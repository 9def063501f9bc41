#include "vitruvian/core/anomaly.hpp"

#include <fmt/format.h>

namespace vitruvian {

std::string Finding::to_text() const {
  return fmt::format("{} in {} of {} numbers of {} of '{}'{}", kind, count, size, where, op,
                     path.empty() ? "" : " in " + path);
}

}  // namespace vitruvian
