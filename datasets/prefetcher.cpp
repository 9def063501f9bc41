#include "vitruvian/datasets/prefetcher.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace vitruvian {

struct Prefetcher::State {
  struct Slot {
    Prepared prepared;
    std::exception_ptr error;
    bool done = false;
  };

  Make make;
  std::vector<std::size_t> order;
  std::size_t bound;
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t next = 0;  // in the order
  bool stop = false;
  std::unordered_map<std::size_t, Slot> slots;            // ready or being prepared
  std::unordered_map<std::size_t, std::size_t> position;  // of a picture in the order
  std::unordered_set<std::size_t> overtaken;              // asked for before their turn came
  std::size_t most = 0;
  std::vector<std::thread> workers;

  State(Make make_, std::vector<std::size_t> order_, std::size_t bound_)
      : make(std::move(make_)), order(std::move(order_)), bound(std::max<std::size_t>(bound_, 1)) {
    for (std::size_t k = 0; k < order.size(); ++k) position[order[k]] = k;
  }

  void work() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [&] { return stop || next == order.size() || slots.size() < bound; });
      if (stop || next == order.size()) return;
      const std::size_t i = order[next++];
      if (overtaken.erase(i) != 0 || slots.count(i) != 0) continue;
      Slot& slot = slots[i];  // stays where it is while others come and go
      most = std::max(most, slots.size());
      lock.unlock();
      try {
        make(i, slot.prepared);
      } catch (...) {
        slot.error = std::current_exception();
      }
      lock.lock();
      slot.done = true;
      changed.notify_all();
    }
  }
};

Prefetcher::Prefetcher(Make make, std::vector<std::size_t> order, std::size_t bound,
                       [[maybe_unused]] std::size_t threads)
    : state_(std::make_unique<State>(std::move(make), std::move(order), bound)) {
#if VITRUVIAN_THREADS
  State& state = *state_;
  try {
    for (std::size_t k = 0; k < threads; ++k) {
      state.workers.emplace_back([&state] { state.work(); });
    }
  } catch (const std::exception&) {
    // The system gives no more. What nobody makes ahead is made when it is taken.
  }
#endif
}

Prefetcher::~Prefetcher() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stop = true;
  }
  state_->changed.notify_all();
  for (std::thread& worker : state_->workers) worker.join();
}

bool Prefetcher::take(std::size_t i, Prepared& prepared) {
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  auto at = state.slots.find(i);
  if (at == state.slots.end()) {
    const auto place = state.position.find(i);
    if (place != state.position.end() && place->second >= state.next) state.overtaken.insert(i);
    return false;
  }
  State::Slot& slot = at->second;
  state.changed.wait(lock, [&] { return slot.done; });
  const std::exception_ptr error = slot.error;
  prepared = std::move(slot.prepared);
  state.slots.erase(i);
  state.changed.notify_all();
  if (error) std::rethrow_exception(error);
  return true;
}

std::size_t Prefetcher::most_at_once() const {
  const std::lock_guard lock(state_->mutex);
  return state_->most;
}

}  // namespace vitruvian
