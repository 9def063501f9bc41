#include "vitruvian/core/kept_weights.hpp"

#include "vitruvian/core/kernels/kept_panels.hpp"

namespace vitruvian {

KeptWeights::KeptWeights(bool on) : Scoped(on ? this : nullptr) {}
KeptWeights::~KeptWeights() = default;

kernels::KeptPanels* KeptWeights::of(const std::shared_ptr<const void>& owner,
                                     std::uint32_t version, std::size_t bytes) {
  const std::lock_guard lock(finding_);
  Kept& kept = kept_[owner.get()];
  if (!kept.panels || kept.version != version) {
    // Panels are whole vectors wide, and another number of rows may cut B in another way.
    constexpr std::size_t some_kilobytes = 1U << 16U;
    kept = {owner, version, std::make_unique<kernels::KeptPanels>(2 * bytes + some_kilobytes)};
  }
  return kept.panels.get();
}

}  // namespace vitruvian
