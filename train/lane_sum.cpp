#include "vitruvian/train/lane_sum.hpp"

#include <algorithm>
#include <utility>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

std::size_t size_of(const std::vector<Array>& arrays) {
  std::size_t size = 0;
  for (const Array& a : arrays) size += a.size();
  return size;
}

// Numbers of a slice: enough slices to keep every line of a ring busy, none so small that what a
// message costs by itself counts, none so large that it leaves the cache before it is added.
std::size_t numbers_of_slice(std::size_t numbers, std::size_t ranks) {
  constexpr std::size_t least = 16384 / sizeof(real);
  constexpr std::size_t most = 1048576 / sizeof(real);
  return std::clamp(numbers / (4 * ranks), least, most);
}

}  // namespace

LaneSum::LaneSum(std::size_t turns, const Sharing& sharing)
    : count_(turns),
      lanes_(std::clamp<std::size_t>(sharing.lanes, 1, std::max<std::size_t>(turns, 1))),
      ranks_(*sharing.ranks),
      next_(ranks_.rank()) {
  for (std::size_t lane = next_; lane < lanes_; lane += ranks_.size()) {
    for (std::size_t i = begin_of(lane); i < begin_of(lane + 1); ++i) turns_.push_back(i);
  }
}

std::size_t LaneSum::begin_of(std::size_t lane) const {
  return lane * (count_ / lanes_) + std::min(lane, count_ % lanes_);
}

std::size_t LaneSum::lane_of(std::size_t turn) const {
  std::size_t lane = turn * lanes_ / std::max<std::size_t>(count_, 1);  // or one of its neighbours
  while (begin_of(lane) > turn) --lane;
  while (begin_of(lane + 1) <= turn) ++lane;
  return lane;
}

std::size_t LaneSum::owner(std::size_t turn) const { return lane_of(turn) % ranks_.size(); }

bool LaneSum::ends_lane(std::size_t position) const {
  const std::size_t turn = turns_[position];
  return begin_of(lane_of(turn) + 1) == turn + 1;
}

std::span<real> LaneSum::slice(std::size_t s) {
  return {passing_.data() + s * slice_, std::min(slice_, passing_.size() - s * slice_)};
}

void LaneSum::make_room(std::size_t numbers) {
  if (!coming_.empty()) return;
  passing_ = empty({numbers});  // of the pool: the pages of the step before
  slice_ = numbers_of_slice(numbers, ranks_.size());
  coming_.resize((numbers + slice_ - 1) / slice_);
  leaving_.resize(coming_.size());
}

// All at once: a rank that waited to be sent to before it had sent all could wait for itself, round
// the ring.
void LaneSum::receive_next() {
  const std::size_t before = (ranks_.rank() + ranks_.size() - 1) % ranks_.size();
  for (std::size_t s = 0; s < coming_.size(); ++s) {
    if (leaving_[s]) ranks_.wait(*std::exchange(leaving_[s], std::nullopt));
    coming_[s] = ranks_.receive(before, std::as_writable_bytes(slice(s)));
  }
}

void LaneSum::arrived(std::size_t s) {
  if (coming_[s]) ranks_.wait(*std::exchange(coming_[s], std::nullopt));
}

void LaneSum::hand_on(std::size_t s) {
  leaving_[s] = ranks_.send((ranks_.rank() + 1) % ranks_.size(), std::as_bytes(slice(s)));
}

void LaneSum::add(std::vector<Array> lane) {
  const std::size_t mine = std::exchange(next_, next_ + ranks_.size());
  if (ranks_.size() == 1) {
    if (mine == 0) {
      sums_ = std::move(lane);
    } else {
      for (std::size_t i = 0; i < lane.size(); ++i) add_in_place(sums_[i], lane[i]);
    }
    return;
  }
  make_room(size_of(lane));
  if (mine > 0) receive_next();
  std::size_t s = 0, ready = 0;  // slices that were handed on, numbers that are added
  for (const Array& a : lane) {
    for (std::size_t done = 0; done < a.size();) {
      if (ready == s * slice_) arrived(s);
      const std::size_t some = std::min(a.size() - done, s * slice_ + slice(s).size() - ready);
      real* const sum = passing_.data() + ready;
      const real* const own = a.data() + done;
      for (std::size_t i = 0; i < some; ++i) sum[i] = mine > 0 ? sum[i] + own[i] : own[i];
      done += some;
      ready += some;
      if (ready == s * slice_ + slice(s).size()) hand_on(s++);
    }
  }
}

std::vector<Array> LaneSum::finish(const std::vector<Tensor>& like) {
  if (ranks_.size() == 1) return std::move(sums_);
  std::vector<Array> result;
  for (const Tensor& t : like) result.push_back(empty(t.shape()));
  make_room(size_of(result));
  const std::size_t last = (lanes_ - 1) % ranks_.size();  // the rank that has the sum
  if (ranks_.rank() != last) {
    const bool end = (ranks_.rank() + 1) % ranks_.size() == last;
    receive_next();
    for (std::size_t s = 0; s < coming_.size(); ++s) {
      arrived(s);
      if (!end) hand_on(s);
    }
  }
  const real* from = passing_.data();
  for (Array& a : result) {
    std::copy_n(from, a.size(), a.data());
    from += a.size();
  }
  for (auto& ticket : leaving_) {
    if (ticket) ranks_.wait(*std::exchange(ticket, std::nullopt));
  }
  return result;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
