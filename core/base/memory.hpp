#pragma once

#include <cstddef>

namespace vitruvian::memory {

/// Storage for arrays: blocks, 64-byte aligned from 1 KB on, that come back to a free list of their
/// size class, so that a steady training step takes nothing from the system (a fresh page costs
/// more than the arithmetic on it). Each thread has lists of its own, to which its blocks return
/// whoever releases them. Thread-safe. Throws std::bad_alloc.
void* allocate(std::size_t bytes);
void release(void* block, std::size_t bytes) noexcept;

/// Bytes of arrays that this thread has ever given back, small ones included: how much of them died
/// between two moments.
std::size_t released();

/// Bytes of array storage in use now, and the most since the last `reset_peak`: of several
/// threads the sum of what each had at most.
std::size_t bytes();
std::size_t peak_bytes();
void reset_peak();
/// Gives the free blocks back to the system.
void trim() noexcept;

}  // namespace vitruvian::memory
