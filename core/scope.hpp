#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace vitruvian {

/// While it lives, the thread's module path is one name longer: `Scope("blocks", 3)` makes
/// `blocks.3`. Every node that is recorded keeps the path, so that errors and profiles can name
/// the module they come from.
class Scope {
 public:
  explicit Scope(std::string_view name);
  Scope(std::string_view name, std::size_t index);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  /// The current path of this thread, "" at the top. The reference stays valid for ever.
  static const std::string& path();

 private:
  struct Module;
  static Module*& current();

  Module* outer_;
};

}  // namespace vitruvian
