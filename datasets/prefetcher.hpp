#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace vitruvian {

/// The bytes of a picture, and of the one it is mixed with, where it is.
struct Prepared {
  std::vector<std::uint8_t> own, partner;
};

/// Prepares pictures in background threads, in a known order and never more than `bound` ahead of
/// those that were taken.
class Prefetcher {
 public:
  using Make = std::function<void(std::size_t i, Prepared& prepared)>;
  /// `make` is called from several threads. In a build without threads nothing happens ahead.
  Prefetcher(Make make, std::vector<std::size_t> order, std::size_t bound, std::size_t threads);
  /// Waits for the pictures that are being prepared, and leaves the rest.
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  /// Moves picture i to `prepared`, waiting for it where a thread is at it. False when none is, or
  /// was: the caller prepares it then. Rethrows what `make` threw.
  bool take(std::size_t i, Prepared& prepared);
  /// The most pictures that were ready or being prepared at the same time.
  [[nodiscard]] std::size_t most_at_once() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vitruvian
