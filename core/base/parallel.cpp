#include "vitruvian/core/base/parallel.hpp"

#include "vitruvian/core/base/context.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/profile.hpp"

#include <unistd.h>

#include <algorithm>

#if VITRUVIAN_THREADS
#include <atomic>
#include <condition_variable>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>
#ifdef __linux__
#include <sched.h>
#endif
#include <csignal>
#endif

namespace vitruvian {
namespace {

using Body = std::function<void(std::size_t, std::size_t)>;

void run_serially(std::size_t count, std::size_t chunk, const Body& body) {
  const Scoped<&Context::inside_loop> inside(Context::here().inside_loop || count > chunk);
  for (std::size_t begin = 0; begin < count; begin += chunk) {
    body(begin, std::min(count, begin + chunk));
  }
}

}  // namespace

bool inside_parallel_for() { return Context::here().inside_loop; }

std::size_t processors_of_machine() {
  return static_cast<std::size_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
}

#if VITRUVIAN_THREADS
std::size_t processors() {
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    return static_cast<std::size_t>(std::max(1, CPU_COUNT(&set)));
  }
#endif
  return std::max(1U, std::thread::hardware_concurrency());
}

namespace {

// A thread takes no signals that is made while one of these lives. oneDNN's products use the stack
// pointer as one more register (2.6): a signal's frame would be written into their matrices.
class NoSignals {
 public:
  NoSignals() {
    sigset_t most;
    ::sigfillset(&most);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS}) {
      ::sigdelset(&most, fault);
    }
    ::pthread_sigmask(SIG_BLOCK, &most, &before_);
  }
  ~NoSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_;
};

// While it lives, what is true of the thread that started a loop is true of this one.
class AsTheCaller {
 public:
  explicit AsTheCaller(const Context& caller) : before_(std::exchange(Context::here(), caller)) {}
  ~AsTheCaller() { Context::here() = before_; }
  AsTheCaller(const AsTheCaller&) = delete;
  AsTheCaller& operator=(const AsTheCaller&) = delete;

 private:
  Context before_;
};

// One loop at a time. Workers wait for the next loop, take chunks from a shared counter until
// there are none, and report. A short spin before sleeping saves the wake-up between the many small
// loops of a training step.
class Pool {
 public:
  explicit Pool(std::size_t threads) {
    const NoSignals inherited;
    workers_.reserve(threads - 1);
    try {
      for (std::size_t i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
    } catch (const std::exception& error) {
      const std::size_t there = this->threads();
      stop();
      fail("only {} of {} threads can be started: {}", there, threads, error.what());
    }
  }

  ~Pool() { stop(); }

  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  [[nodiscard]] std::size_t threads() const { return workers_.size() + 1; }

  void run(std::size_t count, std::size_t chunk, const Body& body) {
    count_ = count;
    chunk_ = chunk;
    body_ = &body;
    context_ = Context::here();
    context_.inside_loop = true;
    error_ = nullptr;
    failed_chunk_ = std::numeric_limits<std::size_t>::max();
    next_.store(0, std::memory_order_relaxed);
    busy_.store(workers_.size(), std::memory_order_relaxed);
    {
      const std::scoped_lock lock(mutex_);
      round_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    take_chunks();
    spin_until([this] { return busy_.load(std::memory_order_acquire) == 0; });
    if (busy_.load(std::memory_order_acquire) != 0) {
      std::unique_lock lock(mutex_);
      done_.wait(lock, [this] { return busy_.load(std::memory_order_acquire) == 0; });
    }
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void stop() {
    {
      const std::scoped_lock lock(mutex_);
      stopping_ = true;
      round_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    for (auto& worker : workers_) worker.join();
    workers_.clear();
  }

  template <class Ready>
  static void spin_until(const Ready& ready) {
    for (int i = 0; i < 4000 && !ready(); ++i) {
#if defined(__x86_64__) || defined(__i386__)
      __builtin_ia32_pause();
#endif
    }
  }

  void work() {
    std::size_t seen = 0;
    for (;;) {
      const auto next_round = [&] { return round_.load(std::memory_order_acquire) != seen; };
      spin_until(next_round);
      if (!next_round()) {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, next_round);
      }
      seen = round_.load(std::memory_order_acquire);
      if (stopping_) return;
      take_chunks();
      if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        const std::scoped_lock lock(mutex_);
        done_.notify_one();
      }
    }
  }

  void take_chunks() {
    const AsTheCaller modes(context_);
    const std::size_t chunks = (count_ + chunk_ - 1) / chunk_;
    for (;;) {
      const std::size_t i = next_.fetch_add(1, std::memory_order_relaxed);
      if (i >= chunks) return;
      try {
        (*body_)(i * chunk_, std::min(count_, (i + 1) * chunk_));
      } catch (...) {
        const std::scoped_lock lock(mutex_);
        if (i < failed_chunk_) {
          failed_chunk_ = i;
          error_ = std::current_exception();
        }
      }
    }
  }

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  std::atomic<std::size_t> round_{0};
  std::atomic<std::size_t> next_{0};
  std::atomic<std::size_t> busy_{0};
  std::size_t count_ = 0;
  std::size_t chunk_ = 1;
  const Body* body_ = nullptr;
  Context context_;
  std::exception_ptr error_;
  std::size_t failed_chunk_ = 0;
  bool stopping_ = false;
};

struct Global {
  std::mutex mutex;  // held while a loop runs: loops of several threads take turns
  std::unique_ptr<Pool> pool;
  std::size_t wanted = processors();
};

Global& global() {
  static Global g;
  return g;
}

void run(std::size_t count, std::size_t chunk, const Body& body) {
  if (count <= chunk || inside_parallel_for() || global().wanted == 1) {
    return run_serially(count, chunk, body);
  }
  Global& g = global();
  const std::scoped_lock lock(g.mutex);
  if (!g.pool) g.pool = std::make_unique<Pool>(g.wanted);
  g.pool->run(count, chunk, body);
}

}  // namespace

std::size_t threads() { return global().wanted; }

#else

std::size_t processors() { return 1; }

std::size_t threads() { return 1; }

namespace {
constexpr auto* run = run_serially;
}

#endif

void set_threads(std::size_t n) {
  if (n == 0 || n > 1024) fail(Exit::usage, "threads: {} is not between 1 and 1024", n);
#if VITRUVIAN_THREADS
  const std::scoped_lock lock(global().mutex);
  global().wanted = n;
  if (global().pool && global().pool->threads() != n) global().pool.reset();
#endif
}

void parallel_for(std::size_t count, std::size_t chunk, const Body& body) {
  if (chunk == 0) fail("parallel_for: a chunk of 0");
  Profile* const profile = Profile::active();
  if (profile == nullptr || count <= chunk || inside_parallel_for()) return run(count, chunk, body);
  Profile::Loop loop(*profile, (count + chunk - 1) / chunk);
  run(count, chunk, [&](std::size_t begin, std::size_t end) {
    const auto watched = loop.chunk(begin / chunk);
    body(begin, end);
  });
  loop.join();
}

}  // namespace vitruvian
