#pragma once

#include "vitruvian/core/base/context.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace vitruvian {

/// While it lives, the thread's module path is one name longer: `Scope("blocks", 3)` makes
/// `blocks.3`. Every node that is recorded keeps the path, so that errors and profiles can name
/// the module they come from.
class Scope : Scoped<&Context::path> {
 public:
  explicit Scope(std::string_view name);
  Scope(std::string_view name, std::size_t index);

  /// The current path of this thread, "" at the top. The reference stays valid for ever.
  static const std::string& path() {
    const std::string* const path = Context::here().path;
    return path == nullptr ? top() : *path;
  }

 private:
  static const std::string& top();
};

}  // namespace vitruvian
