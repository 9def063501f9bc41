#pragma once

#include "vitruvian/core/base/context.hpp"
#include "vitruvian/core/base/error.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace vitruvian {

/// While it lives, this thread looks for NaN and infinity in everything that its ops compute,
/// forward and backward, and throws a `NotFinite` at the first; so do the workers of its loops.
class Anomaly : Scoped<&Context::anomaly> {
 public:
  Anomaly() : Scoped(true) {}

  /// Whether this thread is watched: all that a program without it pays for.
  static bool active() { return Context::here().anomaly; }
};

/// Where the first number was that is none.
struct Finding {
  std::string op, path;   ///< the op, and the module in which it was recorded
  std::string kind;       ///< "NaN" or "infinity"
  std::string where;      ///< "the value", "input 1" (a leaf) or "the gradient of input 0"
  std::size_t count = 0;  ///< how many of the array's numbers
  std::size_t size = 0;
  std::size_t axis0 = 0;          ///< the length of the first axis
  std::vector<std::size_t> rows;  ///< the places on the first axis, the first few

  [[nodiscard]] std::string to_text() const {
    return kind + " in " + std::to_string(count) + " of " + std::to_string(size) + " numbers of " +
           where + " of '" + op + (path.empty() ? "'" : "' in " + path);
  }
};

/// Thrown through the op that was caught.
struct NotFinite : Error {
  explicit NotFinite(Finding found)
      : Error(Exit::failure, found.to_text()), finding(std::move(found)) {}
  Finding finding;
};

}  // namespace vitruvian
