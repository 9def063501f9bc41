#pragma once

#include "vitruvian/core/kernels/gemm.hpp"

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

namespace vitruvian::kernels {

/// What our own product makes of one B before it multiplies (its panels, see product.inl), kept for
/// the next products by the same B; a set for each block that `gemm` cuts, up to `most` bytes in
/// all and as memory reaches, beyond which products pack as they would without. The owner sees to
/// it that B stays as it is: then every product has the bits that it has without. From any threads.
class KeptPanels {
 public:
  explicit KeptPanels(std::size_t most) : most_(most) {}

  /// Computes g by `body`, which packs op(B) into `bytes` of panels or finds them there; `format`
  /// tells bodies apart whose panels differ. While one thread packs, others do without.
  template <class T>
  void multiply(Gemm<T> g, const void* format, std::size_t bytes, void (*body)(const Gemm<T>&)) {
    Set* const set = find({g.b, format, g.n, g.k, g.ldb, std::size_t{g.trans_b}}, bytes);
    if (set != nullptr) {
      g.packed = set->packed.load(std::memory_order_acquire);
      if (g.packed || !set->begun.exchange(true)) g.panels = set->memory.get();
    }
    try {
      body(g);
    } catch (...) {
      if (g.panels != nullptr && !g.packed) set->begun = false;
      throw;
    }
    if (g.panels != nullptr && !g.packed) set->packed.store(true, std::memory_order_release);
  }

 private:
  static constexpr std::align_val_t line{64};
  struct Free {
    void operator()(void* p) const { ::operator delete(p, line); }
  };
  struct Key {
    const void *b, *format;
    std::size_t n, k, ld, transposed;
    bool operator==(const Key&) const = default;
  };
  struct Set {
    Key key;
    std::unique_ptr<void, Free> memory;
    std::atomic<bool> begun = false, packed = false;
  };
  /// The set, made if there is room for it; null if not.
  Set* find(const Key& key, std::size_t bytes);

  std::size_t most_;
  std::mutex finding_;
  std::vector<std::unique_ptr<Set>> sets_;
};

}  // namespace vitruvian::kernels
