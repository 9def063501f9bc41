#include "vitruvian/train/lane_sum.hpp"

#include <algorithm>
#include <utility>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

// Numbers of a slice: enough slices to keep every line of a ring busy, none so small that what a
// message costs by itself counts, none so large that it has left the caches when it is added.
std::size_t numbers_of_slice(std::size_t numbers, std::size_t ranks) {
  constexpr std::size_t least = 65536 / sizeof(real);
  constexpr std::size_t most = 4194304 / sizeof(real);
  constexpr std::size_t tags = 32768;  // MPI has as many: each slice is told by its own
  return std::max(std::clamp(numbers / (4 * ranks), least, most), numbers / tags + 1);
}

Ranks::Tag tag_of(std::size_t slice) { return static_cast<Ranks::Tag>(slice); }

}  // namespace

LaneSum::LaneSum(std::size_t turns, const Sharing& sharing)
    : count_(turns),
      lanes_(std::clamp<std::size_t>(sharing.lanes, 1, std::max<std::size_t>(turns, 1))),
      ranks_(*sharing.ranks) {
  for (std::size_t lane = ranks_.rank(); lane < lanes_; lane += ranks_.size()) {
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

void LaneSum::expect(const std::vector<Tensor>& parameters) {
  for (const Tensor& p : parameters) shapes_.push_back(p.shape());
  sums_.resize(shapes_.size());
  given_.resize(shapes_.size());
  if (ranks_.size() == 1) return;
  ends_.resize(shapes_.size() + 1);
  for (std::size_t i = shapes_.size(); i-- > 0;) ends_[i] = ends_[i + 1] + parameters[i].size();
  passing_ = empty({ends_[0]});  // of the pool: the pages of the step before
  slice_ = numbers_of_slice(ends_[0], ranks_.size());
  coming_.resize((ends_[0] + slice_ - 1) / slice_);
  leaving_.resize(coming_.size());
  for (std::size_t lane = ranks_.rank(); lane < lanes_; lane += ranks_.size()) {
    own_.push_back({{}, shapes_.size()});
  }
  const bool adds_last = ranks_.rank() == (lanes_ - 1) % ranks_.size();
  asked_.resize(own_.size() + (adds_last ? 0 : 1));
  passed_.resize(asked_.size());
  move_on();
}

// Whether the message is over; where it must be, it is waited for.
bool LaneSum::done(std::optional<Ranks::Ticket>& message, bool wait) {
  if (!message) return true;
  if (wait) {
    ranks_.wait(*message);
  } else if (!ranks_.test(*message)) {
    return false;
  }
  message.reset();
  return true;
}

// Asks for a slice once it has left from its visit before. (On rank 0 the first begin.)
bool LaneSum::ask(std::size_t visit, std::size_t s, bool wait) {
  if (visit > 0 && s == passed_[visit - 1]) return false;
  if (!done(leaving_[s], wait)) return false;
  if (visit == 0 && ranks_.rank() == 0) return true;
  const std::size_t before = (ranks_.rank() + ranks_.size() - 1) % ranks_.size();
  coming_[s] = ranks_.receive(before, std::as_writable_bytes(slice(s)), tag_of(s));
  return true;
}

// Adds to a slice what this rank has there, once both are there, and hands it on.
bool LaneSum::pass(std::size_t visit, std::size_t s, bool wait) {
  if (s == asked_[visit]) return false;
  const bool adds = visit < own_.size();
  if (adds) {
    const std::scoped_lock lock(mutex_);
    if (s * slice_ + slice(s).size() > ends_[own_[visit].open]) return false;
  }
  if (!done(coming_[s], wait)) return false;
  if (adds) add_own(own_[visit], s, visit == 0 && ranks_.rank() == 0);
  const std::size_t after = (ranks_.rank() + 1) % ranks_.size();
  const bool has_it = after == (lanes_ - 1) % ranks_.size();  // the whole sum comes from there
  if (adds || !has_it) leaving_[s] = ranks_.send(after, std::as_bytes(slice(s)), tag_of(s));
  return true;
}

void LaneSum::add_own(const Lane& lane, std::size_t s, bool first) {
  const std::size_t begin = s * slice_, end = begin + slice(s).size();
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    const std::size_t from = std::max(begin, ends_[i + 1]), to = std::min(end, ends_[i]);
    if (from >= to) continue;
    real* const sum = passing_.data() + from;
    const real* const own = lane.sums[i]->data() + (from - ends_[i + 1]);
    for (std::size_t j = 0; j < to - from; ++j) sum[j] = first ? own[j] : sum[j] + own[j];
  }
}

// Of each visit the slices go in their order. Two are asked for at a time: what was asked for
// shares the line, so that of many the first would arrive with the last, and nobody could hand it
// on.
void LaneSum::carry(std::size_t visits, bool wait) {
  constexpr std::size_t at_once = 2;
  const std::size_t slices = coming_.size();
  for (std::size_t v = 0; v < visits; ++v) {
    while (passed_[v] < slices) {
      const std::size_t most = std::min(slices, passed_[v] + at_once);
      while (asked_[v] < most && ask(v, asked_[v], wait)) ++asked_[v];
      if (!pass(v, passed_[v], wait)) break;
      ++passed_[v];
    }
  }
  while (complete_ < own_.size() && passed_[complete_] == coming_.size()) {
    own_[complete_++].sums.clear();
  }
}

void LaneSum::move_on() {
  if (ranks_.size() == 1) return;
  const std::unique_lock line(line_, std::try_to_lock);
  if (line) carry(asked_.size(), false);  // else somebody does
}

void LaneSum::add(std::size_t i, Array sum) {
  const std::size_t lane = given_[i]++;
  if (ranks_.size() == 1) {
    if (lane > 0) return add_in_place(sums_[i], sum);
    sums_[i] = std::move(sum);
    return;
  }
  bool complete = false;
  {
    const std::scoped_lock lock(mutex_);
    Lane& own = own_[lane];
    own.sums.resize(shapes_.size());
    own.sums[i] = std::move(sum);
    while (own.open > 0 && own.sums[own.open - 1]) --own.open;
    complete = own.open == 0;
  }
  if (complete) {
    complete_lanes();
  } else {
    move_on();
  }
}

// One whole lane may stay here while the next is computed, whose end waits until it has left.
void LaneSum::complete_lanes() {
  const std::scoped_lock line(line_);
  std::size_t complete = 0;
  {
    const std::scoped_lock lock(mutex_);
    while (complete < own_.size() && own_[complete].open == 0) ++complete;
  }
  if (complete > 1) carry(complete - 1, true);
  carry(asked_.size(), false);
}

std::vector<Array> LaneSum::finish() {
  if (ranks_.size() == 1) return std::move(sums_);
  const std::scoped_lock line(line_);
  carry(asked_.size(), true);
  for (auto& message : leaving_) done(message, true);
  std::vector<Array> result;
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    result.push_back(empty(shapes_[i]));
    std::copy_n(passing_.data() + ends_[i + 1], result[i].size(), result[i].data());
  }
  return result;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
