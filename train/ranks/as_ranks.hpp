#pragma once

#include "vitruvian/train/ranks/ranks.hpp"

#include <cstddef>
#include <functional>
#include <limits>

namespace vitruvian {

/// What lies between ranks, where it is pretended: each has a line of its own into the network,
/// which carries one message after the other.
struct Network {
  double latency = 0;  ///< seconds from the last byte's leaving to its arrival
  double bandwidth = std::numeric_limits<double>::infinity();  ///< bytes a second, of each line
};

/// A thread that stands for a rank, with a clock of its own that shows what the network would have
/// taken: nobody waits that long. A message leaves when the line is free, and whoever waits for it
/// has its arrival on the clock. What was computed meanwhile is said by `spend`. The clock depends
/// on the messages alone: not on the machine, nor on how the threads take turns; so who tests for a
/// message waits until all others have passed that moment by their clocks, or wait themselves.
class RankThread : public Ranks {
 public:
  [[nodiscard]] virtual double clock() const = 0;  ///< seconds since as_ranks began
  virtual void spend(double seconds) = 0;
};

/// Runs `body` on `n` threads at once, each a rank: for tests and for whoever wants to see what
/// happens between processes without any. Meanwhile no loop has threads of its own. When one
/// throws, those that wait for it fail too, and the first error is rethrown. Throws in a build
/// without threads.
void as_ranks(std::size_t n, const std::function<void(RankThread& rank)>& body,
              const Network& network = {});

}  // namespace vitruvian
