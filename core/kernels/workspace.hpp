#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace vitruvian::kernels {

/// Scratch memory of the calling thread, at a cache line's start, kept for the next call and grown
/// when needed. Valid until the thread asks for it again with the same Tag.
template <class T, class Tag>
T* workspace(std::size_t n) {
  constexpr std::align_val_t line{64};
  struct Free {
    void operator()(T* p) const { ::operator delete (p, std::align_val_t{64}); }
  };
  thread_local std::unique_ptr<T, Free> memory;
  thread_local std::size_t size = 0;
  if (n > size) {
    memory.reset();
    size = 0;
    memory.reset(static_cast<T*>(::operator new(n * sizeof(T), line)));
    size = n;
  }
  return memory.get();
}

}  // namespace vitruvian::kernels
