#include "vitruvian/train/ranks/as_ranks.hpp"

#include "vitruvian/core/base/context.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/parallel.hpp"

#if VITRUVIAN_THREADS
#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>
#endif

namespace vitruvian {

#if VITRUVIAN_THREADS
namespace {

// One that was sent and not yet asked for, or asked for and not yet sent, or both.
struct Message {
  std::vector<std::byte> bytes;
  double left = 0;  // by the sender's clock: when its last byte was on the line
  bool both = false;
};

// What the threads share.
struct Together {
  std::size_t size;
  Network network;
  std::mutex mutex;
  std::condition_variable changed;
  using Queue = std::deque<std::shared_ptr<Message>>;
  std::map<std::pair<std::size_t, std::size_t>, Queue> sent, asked_for;  // by (from, to)
  std::exception_ptr error;
};

class OneOfThem : public RankThread {
 public:
  OneOfThem(Together& together, std::size_t rank) : together_(together), rank_(rank) {}

  [[nodiscard]] std::size_t rank() const override { return rank_; }
  [[nodiscard]] std::size_t size() const override { return together_.size; }
  [[nodiscard]] std::string host() const override { return "a thread"; }
  [[nodiscard]] double clock() const override { return clock_; }
  void spend(double seconds) override { clock_ += seconds; }

  Ticket send(std::size_t to, std::span<const std::byte> bytes) override {
    const std::scoped_lock lock(together_.mutex);
    const auto message = meet(together_.asked_for[{rank_, to}], together_.sent[{rank_, to}]);
    line_free_ = std::max(clock_, line_free_) +
                 static_cast<double>(bytes.size()) / together_.network.bandwidth;
    message->bytes.assign(bytes.begin(), bytes.end());
    message->left = line_free_;
    begun_.push_back({message, {}, 0});
    return begun_.size() - 1;
  }

  Ticket receive(std::size_t from, std::span<std::byte> bytes) override {
    const std::scoped_lock lock(together_.mutex);
    const auto message = meet(together_.sent[{from, rank_}], together_.asked_for[{from, rank_}]);
    begun_.push_back({message, bytes, together_.network.latency});
    return begun_.size() - 1;
  }

 private:
  // Who sends waits until somebody asks, as MPI does with large messages: what would hang there
  // hangs here.
  void complete(Ticket ticket) override {
    std::unique_lock lock(together_.mutex);
    const Begun it = std::exchange(begun_.at(ticket), {});
    together_.changed.wait(lock, [&] { return it.message->both || together_.error; });
    if (!it.message->both) fail("rank {} waits for a message, and another rank failed", rank_);
    clock_ = std::max(clock_, it.message->left + it.later);
    if (it.to.data() == nullptr) return;
    if (it.message->bytes.size() != it.to.size()) {
      fail("rank {} asked for {} bytes, and was sent {}", rank_, it.to.size(),
           it.message->bytes.size());
    }
    std::copy(it.message->bytes.begin(), it.message->bytes.end(), it.to.begin());
  }

  struct Begun {
    std::shared_ptr<Message> message;
    std::span<std::byte> to;  // of a receipt
    double later = 0;         // than its leaving
  };

  // The other side's message where it was there first, or a new one.
  std::shared_ptr<Message> meet(Together::Queue& others, Together::Queue& own) {
    if (others.empty()) return own.emplace_back(std::make_shared<Message>());
    auto message = std::move(others.front());
    others.pop_front();
    message->both = true;
    together_.changed.notify_all();
    return message;
  }

  Together& together_;
  std::size_t rank_;
  double clock_ = 0, line_free_ = 0;
  std::vector<Begun> begun_;
};

}  // namespace

void as_ranks(std::size_t n, const std::function<void(RankThread& rank)>& body,
              const Network& network) {
  // A loop of several threads keeps others from having theirs, and a rank may wait inside it.
  const OneThread each;
  Together together{n, network, {}, {}, {}, {}, {}};
  const Context modes = Context::here();
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < n; ++rank) {
    threads.emplace_back([&, rank] {
      Context::here() = modes;
      OneOfThem one(together, rank);
      try {
        body(one);
      } catch (...) {
        const std::scoped_lock lock(together.mutex);
        if (!together.error) together.error = std::current_exception();
        together.changed.notify_all();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (together.error) std::rethrow_exception(together.error);
}

#else

void as_ranks(std::size_t, const std::function<void(RankThread&)>&, const Network&) {
  fail("threads that stand for ranks want a build with threads");
}

#endif

}  // namespace vitruvian
