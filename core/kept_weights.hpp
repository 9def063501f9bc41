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
/// sooner, for about as much memory again as the weights take, half as much by AVX512_BF16. Where a
/// library multiplies, the matrix unit (AMX) or the twin of bfloat16, nothing is kept.
class KeptWeights : Scoped<&Context::kept> {
 public:
  /// Where `on` is false nothing is kept.
  explicit KeptWeights(bool on = true);
  ~KeptWeights();

  /// The panels of a weight of so many bytes. Its owner is held until this ends, so that no other
  /// weight takes its address; where another version is asked for, the old panels are dropped, and
  /// nobody may be multiplying by them.
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
