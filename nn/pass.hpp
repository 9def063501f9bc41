#pragma once

#include "vitruvian/core/base/rng.hpp"
#include "vitruvian/core/base/scope.hpp"
#include "vitruvian/core/tensor.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

/// The one observer: modules hand it named intermediates with the symbols of their shapes. Lessons
/// print it, inspection draws it; nobody adds print statements to the model.
class Trace {
 public:
  struct Entry {
    std::string name;     ///< the module's path and the local name: "blocks.3.attn.probs"
    std::string symbols;  ///< "(B, h, T, T)"
    Tensor tensor;
  };

  /// Keeps a tensor under the current `Scope`'s path and `name`.
  void add(std::string_view name, std::string_view symbols, const Tensor& tensor);

  /// In the order in which they were computed.
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  /// The latest entry of this full name, or null.
  [[nodiscard]] const Entry* find(std::string_view name) const;
  /// Its tensor; throws when there is none, naming the nearest that exists.
  [[nodiscard]] const Tensor& at(std::string_view name) const;
  void clear() { entries_.clear(); }

 private:
  std::vector<Entry> entries_;
};

/// What one forward pass may be given beside its input. There is no global generator and no hidden
/// train or eval mode. The next pass gets a `Pass` of its own: with the same stream it draws the
/// same masks again.
struct Pass {
  const Rng* rng = nullptr;  ///< randomness of dropout; null means inference
  Trace* trace = nullptr;    ///< who wants to see intermediates; null means nobody

  /// The stream of a mask: `rng`'s for the module's path and `name`, not drawn from before. Throws
  /// where there is no `rng`.
  [[nodiscard]] Rng stream(std::string_view name = "") const;
  /// `stream` itself at its first use in this pass, and another one at each later use: two modules
  /// outside of `under`, or one module used twice, do not zero the same elements.
  [[nodiscard]] Rng unused(const Rng& stream) const;

  /// Shows an intermediate to the trace, if there is one.
  void note(std::string_view name, std::string_view symbols, const Tensor& tensor) const {
    if (trace != nullptr) trace->add(name, symbols, tensor);
  }
  /// The same, handing it on.
  const Tensor& noted(std::string_view name, std::string_view symbols, const Tensor& tensor) const {
    note(name, symbols, tensor);
    return tensor;
  }

  /// How often each stream was used, by its key. It is not copied: a pass is handed on by
  /// reference.
  struct Uses {
    Uses() = default;
    ~Uses() = default;
    Uses(const Uses&) = delete;
    Uses& operator=(const Uses&) = delete;
    std::unordered_map<std::uint64_t, std::uint64_t> of_key;
  };
  mutable Uses uses = {};
};

/// Calls a module inside the `Scope` of its name: `under("fc1", fc1, x)` is `fc1(x)`, and errors,
/// traces and random streams know it as "...fc1".
template <class Module, class... Args>
auto under(std::string_view name, const Module& module, Args&&... args) {
  const Scope scope(name);
  return module(std::forward<Args>(args)...);
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
