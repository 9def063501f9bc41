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
#include <tuple>
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
  double met = 0;   // by the later one's clock: when it was both sent and asked for
  bool both = false;
};

// What the threads share.
struct Together {
  std::size_t size = 0;
  Network network;
  std::mutex mutex;
  std::condition_variable changed;
  using Queue = std::deque<std::shared_ptr<Message>>;
  std::map<std::tuple<std::size_t, std::size_t, Ranks::Tag>, Queue> sent, asked_for;  // from, to
  // By rank: until when nothing more will be heard of it. A rank that waits for a message which
  // nobody has sent, or is through, is silent until another wakes it.
  std::vector<double> clocks;
  std::vector<std::shared_ptr<Message>> waits_for;
  std::exception_ptr error;

  [[nodiscard]] bool all_passed(double moment) const {
    for (std::size_t r = 0; r < size; ++r) {
      const bool silent = waits_for[r] != nullptr && !waits_for[r]->both;
      if (!silent && clocks[r] < moment) return false;
    }
    return true;
  }
};

class OneOfThem : public RankThread {
 public:
  OneOfThem(Together& together, std::size_t rank) : together_(together), rank_(rank) {}

  [[nodiscard]] std::size_t rank() const override { return rank_; }
  [[nodiscard]] std::size_t size() const override { return together_.size; }
  [[nodiscard]] std::string host() const override { return "a thread"; }
  [[nodiscard]] double clock() const override { return together_.clocks[rank_]; }
  void spend(double seconds) override {
    const std::scoped_lock lock(together_.mutex);
    advance(clock() + seconds);
  }

  Ticket send(std::size_t to, std::span<const std::byte> bytes, Tag tag) override {
    const std::scoped_lock lock(together_.mutex);
    const auto message =
        meet(together_.asked_for[{rank_, to, tag}], together_.sent[{rank_, to, tag}]);
    line_free_ = std::max(clock(), line_free_) +
                 static_cast<double>(bytes.size()) / together_.network.bandwidth;
    message->bytes.assign(bytes.begin(), bytes.end());
    message->left = line_free_;
    begun_.push_back({message, {}, 0});
    return begun_.size() - 1;
  }

  Ticket receive(std::size_t from, std::span<std::byte> bytes, Tag tag) override {
    const std::scoped_lock lock(together_.mutex);
    const auto message =
        meet(together_.sent[{from, rank_, tag}], together_.asked_for[{from, rank_, tag}]);
    begun_.push_back({message, bytes, together_.network.latency});
    return begun_.size() - 1;
  }

  bool test(Ticket ticket) override {
    std::unique_lock lock(together_.mutex);
    const Begun& it = begun_.at(ticket);
    const double now = clock();
    together_.changed.wait(lock, [&] { return together_.all_passed(now) || together_.error; });
    // What happened at this very moment is not seen yet: who came first would be chance.
    if (!it.message->both || it.message->met >= now || arrival(it) > now) return false;
    end(std::exchange(begun_[ticket], {}));
    return true;
  }

 private:
  struct Begun {
    std::shared_ptr<Message> message;
    std::span<std::byte> to;  // of a receipt
    double later = 0;         // than its leaving
  };

  // Who sends waits until somebody asks, as MPI does with large messages: what would hang there
  // hangs here.
  void complete(Ticket ticket) override {
    std::unique_lock lock(together_.mutex);
    const Begun it = std::exchange(begun_.at(ticket), {});
    together_.waits_for[rank_] = it.message;
    together_.changed.notify_all();
    together_.changed.wait(lock, [&] { return it.message->both || together_.error; });
    if (!it.message->both) fail("rank {} waits for a message, and another rank failed", rank_);
    together_.waits_for[rank_] = nullptr;
    advance(std::max({clock(), it.message->met, arrival(it)}));
    end(it);
  }

  void advance(double clock) {
    together_.clocks[rank_] = clock;
    together_.changed.notify_all();
  }

  static double arrival(const Begun& it) { return it.message->left + it.later; }

  static void end(const Begun& it) {
    if (it.to.data() == nullptr) return;
    if (it.message->bytes.size() != it.to.size()) {
      fail("a rank asked for {} bytes, and was sent {}", it.to.size(), it.message->bytes.size());
    }
    std::copy(it.message->bytes.begin(), it.message->bytes.end(), it.to.begin());
  }

  // The other side's message where it was there first, or a new one.
  std::shared_ptr<Message> meet(Together::Queue& others, Together::Queue& own) {
    if (others.empty()) {
      own.push_back(std::make_shared<Message>());
      own.back()->met = clock();
      return own.back();
    }
    auto message = std::move(others.front());
    others.pop_front();
    message->both = true;
    message->met = std::max(message->met, clock());
    together_.changed.notify_all();
    return message;
  }

  Together& together_;
  std::size_t rank_;
  double line_free_ = 0;
  std::vector<Begun> begun_;
};

}  // namespace

void as_ranks(std::size_t n, const std::function<void(RankThread& rank)>& body,
              const Network& network) {
  // A loop of several threads keeps others from having theirs, and a rank may wait inside it.
  const OneThread each;
  Together together;
  together.size = n, together.network = network;
  together.clocks.resize(n), together.waits_for.resize(n);
  const Context modes = Context::here();
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < n; ++rank) {
    threads.emplace_back([&, rank] {
      Context::here() = modes;
      OneOfThem one(together, rank);
      try {
        body(one);
        one.spend(std::numeric_limits<double>::infinity());  // nothing more is heard of it
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
