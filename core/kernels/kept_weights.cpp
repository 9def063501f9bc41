#include "vitruvian/core/kernels/kept_weights.hpp"

namespace vitruvian {

kernels::KeptPanels::Set* kernels::KeptPanels::find(const Key& key, std::size_t bytes) {
  const std::lock_guard lock(finding_);
  for (const auto& set : sets_) {
    if (set->key == key) return set.get();
  }
  if (bytes > most_) return nullptr;
  most_ -= bytes;
  auto set = std::make_unique<Set>();
  set->key = key;
  set->memory.reset(::operator new(bytes, line));
  return sets_.emplace_back(std::move(set)).get();
}

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
