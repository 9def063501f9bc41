#pragma once

#include <cstddef>
#include <limits>
#include <new>

namespace vitruvian {

/// Storage for arrays: 64-byte aligned blocks that come back to a free list of their size class, so
/// that a steady training step takes nothing from the system (a fresh page costs more than the
/// arithmetic on it). Each thread has lists of its own, to which its blocks return whoever releases
/// them. Thread-safe. Throws std::bad_alloc.
void* pool_allocate(std::size_t bytes);
void pool_release(void* block, std::size_t bytes) noexcept;

/// Bytes of arrays that this thread has ever given back, small ones included: how much of them died
/// between two moments.
std::size_t pool_released();

/// Bytes of array storage in use now, and the most since the last `reset_pool_peak`: of several
/// threads the sum of what each had at most.
std::size_t pool_bytes();
std::size_t pool_peak_bytes();
void reset_pool_peak();
/// Gives the free blocks back to the system.
void trim_pool() noexcept;

/// The allocator of `Array`.
template <class T>
struct PoolAllocator {
  using value_type = T;
  PoolAllocator() = default;
  template <class U>
  PoolAllocator(const PoolAllocator<U>&) noexcept {}  // NOLINT(google-explicit-constructor)

  T* allocate(std::size_t n) {
    if (n > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(pool_allocate(n * sizeof(T)));
  }
  void deallocate(T* p, std::size_t n) noexcept { pool_release(p, n * sizeof(T)); }

  friend bool operator==(const PoolAllocator&, const PoolAllocator&) { return true; }
};

}  // namespace vitruvian
