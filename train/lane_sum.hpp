#pragma once

#include "vitruvian/core/tensor.hpp"
#include "vitruvian/train/ranks/ranks.hpp"

#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

/// How the gradient of a step is summed, and by whom. The order of the additions is defined by the
/// number of micro-batches n and of lanes alone, so that the bits depend on neither ranks nor
/// threads. With g_0 ... g_{n-1} the micro-batches' gradients and L = min(lanes, n), lane l adds up
///
///     s_l = (..(g_b + g_{b+1}) + ..) + g_{e-1},  b = b_l, e = b_{l+1},
///     b_l = l floor(n / L) + min(l, n mod L),
///
/// and the gradient is (..(s_0 + s_1) + ..) + s_{L-1}. Of R ranks rank r computes the lanes r,
/// r + R, r + 2R, ...; one lane is one sum over all micro-batches, in their order.
struct Sharing {
  std::size_t lanes = 1;
  Ranks* ranks = &one_rank();
};

/// The sum over the lanes, carried round a ring of ranks: each takes what the lanes before its own
/// have come to from the rank before it, adds its own, and hands it on; the rank of the last lane
/// has the whole sum, which goes round once more. It travels in slices, the last parameter's
/// numbers first, because a backward has those first: a slice leaves as soon as the lane's sum of
/// its parameters is final, while the backward goes on. A rank keeps two arrays of each shape, as
/// one process with several lanes does. With R > 2 ranks, as many lanes, m >= R slices of b bytes,
/// latency a and bandwidth B it takes
///
///     (2 m + R - 3) (a + b / B)  seconds: of many slices about twice the bytes over B,
///
/// of which what fits into the last backward is not waited for.
class LaneSum {
 public:
  LaneSum(std::size_t turns, const Sharing& sharing);

  /// The micro-batches of this rank, in their order.
  [[nodiscard]] const std::vector<std::size_t>& turns() const { return turns_; }
  /// Which rank computes a micro-batch.
  [[nodiscard]] std::size_t owner(std::size_t turn) const;
  /// Whether the micro-batch turns()[position] is the last of its lane.
  [[nodiscard]] bool ends_lane(std::size_t position) const;
  /// Numbers of a slice, once it is known what comes.
  [[nodiscard]] std::size_t slice_size() const { return slice_; }

  /// What will be summed: an array of each parameter's shape. First of all.
  void expect(const std::vector<Tensor>& parameters);
  /// The sum of parameter `i` in this rank's next lane: each parameter has its lanes in their
  /// order. Several threads may. The one that completes a lane waits until the one before has left.
  void add(std::size_t i, Array sum);
  /// Lets messages move on where nothing new is there.
  void move_on();
  /// The whole sum, on every rank.
  std::vector<Array> finish();

 private:
  // What this rank has of one of its lanes.
  struct Lane {
    std::vector<std::optional<Array>> sums;  // of the parameters, each once it is final
    std::size_t open;                        // the parameters from here on are, without a gap
  };

  [[nodiscard]] std::size_t begin_of(std::size_t lane) const;
  [[nodiscard]] std::size_t lane_of(std::size_t turn) const;
  [[nodiscard]] std::span<real> slice(std::size_t s);
  bool done(std::optional<Ranks::Ticket>& ticket, bool wait);
  bool ask(std::size_t visit, std::size_t s, bool wait);
  bool pass(std::size_t visit, std::size_t s, bool wait);
  void carry(std::size_t visits, bool wait);
  void add_own(const Lane& lane, std::size_t s, bool first);
  void complete_lanes();

  std::size_t count_;  // micro-batches, of all ranks
  std::size_t lanes_;
  Ranks& ranks_;
  std::vector<std::size_t> turns_;
  std::vector<Shape> shapes_;
  std::vector<Array> sums_;  // in one process

  // A slice visits a rank once for each lane that it has, and once with the whole sum.
  Array passing_;  // what goes round: a slice that left makes room for its next visit
  std::vector<std::size_t> ends_;  // of each parameter's numbers there, and of none: 0
  std::size_t slice_ = 1;          // numbers of one
  std::vector<std::optional<Ranks::Ticket>> coming_, leaving_;  // of each slice
  std::vector<std::size_t> asked_, passed_;                     // of each visit: slices
  std::vector<Lane> own_;
  std::vector<std::size_t> given_;  // of each parameter: lanes, by whoever adds there
  std::size_t complete_ = 0;        // lanes that are on their way
  std::mutex mutex_;                // of own_
  std::mutex line_;                 // of the messages; taken before the other
};

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
