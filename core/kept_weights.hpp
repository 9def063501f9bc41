#pragma once

#include "vitruvian/core/base/context.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace vitruvian {

namespace kernels {
class KeptPanels;
}

/// While it lives, this thread and the workers of its loops keep the panels of `linear`'s weights,
/// for a model that answers picture by picture and does not learn: the same bits, ViT-B/16 a tenth
/// sooner, for as much memory again as the weights take (half as much with bfloat16).
class KeptWeights : Scoped<&Context::kept> {
 public:
  /// Where `on` is false nothing is kept.
  explicit KeptWeights(bool on = true);
  ~KeptWeights();

  /// The panels of a weight of so many bytes, whose owner has it live as long as this; of another
  /// version than the last one asked for, none yet.
  kernels::KeptPanels* of(const std::shared_ptr<const void>& owner, std::uint32_t version,
                          std::size_t bytes);

 private:
  struct Kept {
    std::shared_ptr<const void> owner;  // no other takes its place in memory meanwhile
    std::uint32_t version = 0;
    std::unique_ptr<kernels::KeptPanels> panels;
  };
  std::mutex finding_;
  std::unordered_map<const void*, Kept> kept_;
};

}  // namespace vitruvian
