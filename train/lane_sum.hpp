#pragma once

#include "vitruvian/core/tensor.hpp"
#include "vitruvian/train/ranks/ranks.hpp"

#include <cstddef>
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
/// has the whole sum, which goes round once more. It travels in slices, so that all lines are busy
/// at the same time. A rank keeps two arrays of each shape, as one process with several lanes does.
/// With R > 2 ranks, as many lanes, m >= R slices of b bytes, latency a and bandwidth B it takes
///
///     (2 m + R - 3) (a + b / B)  seconds: of many slices about twice the bytes over B.
class LaneSum {
 public:
  LaneSum(std::size_t turns, const Sharing& sharing);

  /// The micro-batches of this rank, in their order.
  [[nodiscard]] const std::vector<std::size_t>& turns() const { return turns_; }
  /// Which rank computes a micro-batch.
  [[nodiscard]] std::size_t owner(std::size_t turn) const;
  /// Whether the micro-batch turns()[position] is the last of its lane.
  [[nodiscard]] bool ends_lane(std::size_t position) const;
  /// Numbers of a slice, once a lane was added.
  [[nodiscard]] std::size_t slice_size() const { return slice_; }
  /// The sum of this rank's next lane. Waits for those before it.
  void add(std::vector<Array> lane);
  /// The whole sum, on every rank; `like` says the shapes to one that had no lane.
  std::vector<Array> finish(const std::vector<Tensor>& like);

 private:
  [[nodiscard]] std::size_t begin_of(std::size_t lane) const;
  [[nodiscard]] std::size_t lane_of(std::size_t turn) const;
  [[nodiscard]] std::span<real> slice(std::size_t s);
  void make_room(std::size_t numbers);
  void receive_next();
  void arrived(std::size_t s);
  void hand_on(std::size_t s);

  std::size_t count_;  // micro-batches, of all ranks
  std::size_t lanes_;
  Ranks& ranks_;
  std::vector<std::size_t> turns_;
  std::size_t next_;         // lane of this rank
  std::vector<Array> sums_;  // in one process
  Array passing_;            // what goes round: a slice that left makes room for the next to come
  std::size_t slice_ = 1;    // numbers of one
  std::vector<std::optional<Ranks::Ticket>> coming_, leaving_;  // of each slice
};

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
