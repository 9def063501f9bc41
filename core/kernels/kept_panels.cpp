#include "vitruvian/core/kernels/kept_panels.hpp"

namespace vitruvian::kernels {

KeptPanels::Set* KeptPanels::find(const Key& key, std::size_t bytes) {
  const std::lock_guard lock(finding_);
  for (const auto& set : sets_) {
    if (set->key == key) return set.get();
  }
  if (bytes > most_) return nullptr;
  auto set = std::make_unique<Set>();
  set->key = key;
  set->memory.reset(::operator new(bytes, line, std::nothrow));
  if (set->memory == nullptr) return nullptr;
  most_ -= bytes;
  return sets_.emplace_back(std::move(set)).get();
}

}  // namespace vitruvian::kernels
