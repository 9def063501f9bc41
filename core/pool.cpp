#include "core/pool.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <mutex>

namespace vitruvian {
namespace {

constexpr std::size_t alignment = 64;

// Under a sanitizer every block must be its own, or a use after free goes unseen.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool pooled = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool pooled = false;
#else
constexpr bool pooled = true;
#endif
#else
constexpr bool pooled = true;
#endif

// Small blocks are malloc's business: it is good at them, and they are not aligned for SIMD.
constexpr std::size_t smallest_pooled = 1024;

// Four classes an octave: at most a quarter of a block is wasted.
struct SizeClass {
  std::size_t index;
  std::size_t bytes;
};

SizeClass size_class(std::size_t bytes) {
  const auto octave =
      static_cast<std::size_t>(std::bit_width(bytes - 1)) - 1;  // 2^o < bytes <= 2^(o+1)
  const std::size_t quarter = std::size_t{1} << (octave - 2);
  const std::size_t steps = (bytes - (std::size_t{1} << octave) + quarter - 1) / quarter;
  return {octave * 4 + steps - 1, (std::size_t{1} << octave) + steps * quarter};
}

struct FreeBlock {
  FreeBlock* next;
};

struct State {
  std::mutex mutex;
  std::array<FreeBlock*, 64 * 4> free{};
  std::size_t in_use = 0;
  std::size_t peak = 0;
};

// Never destroyed: arrays in static storage may outlive it otherwise.
State& state() {
  static State& s = *new State;
  return s;
}

thread_local constinit std::size_t released_here = 0;

void* from_system(std::size_t bytes) { return ::operator new (bytes, std::align_val_t{alignment}); }

}  // namespace

void* pool_allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  if (bytes < smallest_pooled) return ::operator new(bytes);
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) throw std::bad_alloc();
  const SizeClass c = size_class(bytes);
  State& s = state();
  {
    const std::scoped_lock lock(s.mutex);
    s.in_use += c.bytes;
    s.peak = std::max(s.peak, s.in_use);
    if (FreeBlock* block = s.free[c.index]) {
      s.free[c.index] = block->next;
      return block;
    }
  }
  try {
    return from_system(c.bytes);
  } catch (...) {
    const std::scoped_lock lock(s.mutex);
    s.in_use -= c.bytes;
    throw;
  }
}

void pool_release(void* block, std::size_t bytes) noexcept {
  if (block == nullptr) return;
  released_here += bytes;
  if (bytes < smallest_pooled) return ::operator delete(block);
  const SizeClass c = size_class(bytes);
  State& s = state();
  const std::scoped_lock lock(s.mutex);
  s.in_use -= c.bytes;
  if constexpr (pooled) {
    s.free[c.index] = ::new (block) FreeBlock{s.free[c.index]};
  } else {
    ::operator delete (block, std::align_val_t{alignment});
  }
}

std::size_t pool_released() { return released_here; }

std::size_t pool_bytes() {
  const std::scoped_lock lock(state().mutex);
  return state().in_use;
}

std::size_t pool_peak_bytes() {
  const std::scoped_lock lock(state().mutex);
  return state().peak;
}

void reset_pool_peak() {
  const std::scoped_lock lock(state().mutex);
  state().peak = state().in_use;
}

void trim_pool() noexcept {
  State& s = state();
  const std::scoped_lock lock(s.mutex);
  for (FreeBlock*& head : s.free) {
    while (head != nullptr) {
      FreeBlock* const block = head;
      head = block->next;
      ::operator delete (block, std::align_val_t{alignment});
    }
  }
}

}  // namespace vitruvian
