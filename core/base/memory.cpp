#include "vitruvian/core/base/memory.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <mutex>
#include <new>
#include <vector>

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

struct Home;

// In front of every block, which keeps the alignment: whose it is.
struct alignas(alignment) Block {
  Home* home;
  Block* next;
};

// The blocks that one thread took from the system; back they come, whoever releases them. Another
// core would have to fetch their lines from this one's cache before it could write to them.
struct Home {
  std::mutex mutex;
  std::array<Block*, 64 * 4> free{};
  std::size_t in_use = 0;
  std::size_t peak = 0;
};

// Never destroyed: arrays in static storage may outlive them otherwise.
struct Homes {
  std::mutex mutex;
  std::vector<Home*> all;
  std::vector<Home*> left;  // by threads that have ended, for the next
};
Homes& homes() {
  static Homes& h = *new Homes;
  return h;
}

class Resident {
 public:
  Resident() {
    Homes& h = homes();
    const std::scoped_lock lock(h.mutex);
    if (h.left.empty()) {
      h.left.reserve(h.all.size() + 1);  // so that leaving cannot fail
      h.all.reserve(h.all.size() + 1);
      h.left.push_back(h.all.emplace_back(new Home));
    }
    home_ = h.left.back();
    h.left.pop_back();
  }
  ~Resident() {
    const std::scoped_lock lock(homes().mutex);
    homes().left.push_back(home_);
  }
  Resident(const Resident&) = delete;
  Resident& operator=(const Resident&) = delete;

  [[nodiscard]] Home& home() const { return *home_; }

 private:
  Home* home_;
};

// A thread that ends may still allocate when its Resident is gone: the home stays valid, with a
// lock of its own, even where the next thread is in it already.
thread_local constinit Home* home_here = nullptr;

Home& home_of_this_thread() {
  if (home_here == nullptr) {
    thread_local const Resident resident;
    home_here = &resident.home();
  }
  return *home_here;
}

thread_local constinit std::size_t released_here = 0;

void* from_system(std::size_t bytes) { return ::operator new (bytes, std::align_val_t{alignment}); }

template <class Change>
std::size_t sum_over_homes(const Change& change) {
  const std::scoped_lock lock(homes().mutex);
  std::size_t sum = 0;
  for (Home* const home : homes().all) {
    const std::scoped_lock inside(home->mutex);
    sum += change(*home);
  }
  return sum;
}

}  // namespace

void* memory::allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  if (bytes < smallest_pooled) return ::operator new(bytes);
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) throw std::bad_alloc();
  const SizeClass c = size_class(bytes);
  Home& home = home_of_this_thread();
  {
    const std::scoped_lock lock(home.mutex);
    home.in_use += c.bytes;
    home.peak = std::max(home.peak, home.in_use);
    if (Block* const block = home.free[c.index]) {
      home.free[c.index] = block->next;
      return block + 1;
    }
  }
  try {
    return ::new (from_system(sizeof(Block) + c.bytes)) Block{&home, nullptr} + 1;
  } catch (...) {
    const std::scoped_lock lock(home.mutex);
    home.in_use -= c.bytes;
    throw;
  }
}

void memory::release(void* memory, std::size_t bytes) noexcept {
  if (memory == nullptr) return;
  released_here += bytes;
  if (bytes < smallest_pooled) return ::operator delete(memory);
  const SizeClass c = size_class(bytes);
  Block* const block = static_cast<Block*>(memory) - 1;
  Home& home = *block->home;
  const std::scoped_lock lock(home.mutex);
  home.in_use -= c.bytes;
  if constexpr (pooled) {
    block->next = home.free[c.index];
    home.free[c.index] = block;
  } else {
    ::operator delete (block, std::align_val_t{alignment});
  }
}

std::size_t memory::released() { return released_here; }

std::size_t memory::bytes() {
  return sum_over_homes([](const Home& home) { return home.in_use; });
}

std::size_t memory::peak_bytes() {
  return sum_over_homes([](const Home& home) { return home.peak; });
}

void memory::reset_peak() {
  sum_over_homes([](Home& home) { return home.peak = home.in_use; });
}

void memory::trim() noexcept {
  sum_over_homes([](Home& home) {
    for (Block*& head : home.free) {
      while (head != nullptr) {
        Block* const block = head;
        head = block->next;
        ::operator delete (block, std::align_val_t{alignment});
      }
    }
    return std::size_t{0};
  });
}

}  // namespace vitruvian
