#include "vitruvian/core/profile.hpp"

#include <algorithm>

namespace vitruvian {
namespace {

// There are a few dozen rows: looking through them costs less than the ops between two events.
template <class Rows>
auto& row_of(Rows& rows, std::string_view name) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.name == name; });
  if (found != rows.end()) return *found;
  auto& row = rows.emplace_back();
  row.name = name;
  return row;
}

}  // namespace

double Profile::since_last_event() const {
  return std::chrono::duration<double>(Clock::now() - last_).count();
}

template <class Change>
void Profile::charge(const char* op, const std::string& path, const Change& change) {
  for (ProfileRow* const row : {&row_of(ops_, op), &row_of(paths_, path)}) {
    change(*row);
    row->flops += flops_;
  }
  flops_ = 0;
  last_ = Clock::now();  // our own bookkeeping is nobody's
}

void Profile::recorded(const char* op, const std::string& path, std::size_t bytes,
                       const void* node) {
  const double seconds = since_last_event();
  if (each_node_) nodes_[node] = {.forward = seconds, .forward_flops = flops_};
  charge(op, path, [&](ProfileRow& row) {
    ++row.calls;
    row.forward += seconds;
    row.bytes += bytes;
  });
}

void Profile::went_back(const char* op, const std::string& path, const void* node) {
  const double seconds = since_last_event();
  if (each_node_) {
    nodes_[node].backward += seconds;
    nodes_[node].backward_flops += flops_;
  }
  charge(op, path, [&](ProfileRow& row) { row.backward += seconds; });
}

void Profile::passed(const char* name) {
  row_of(others_, name).seconds += since_last_event();
  flops_ = 0;
  last_ = Clock::now();
}

ProfileRow& ProfileRow::operator+=(const ProfileRow& other) {
  calls += other.calls;
  forward += other.forward;
  backward += other.backward;
  bytes += other.bytes;
  flops += other.flops;
  return *this;
}

Profile::Loop::Loop(Profile& whole, std::size_t chunks) : whole_(whole) {
  chunks_.reserve(chunks);
  while (chunks_.size() < chunks) {
    chunks_.push_back(std::unique_ptr<Profile>(new Profile(OfAChunk{}, whole.each_node_)));
  }
}

void Profile::Loop::join() {
  const auto add = [](std::vector<ProfileRow>& to, const std::vector<ProfileRow>& from) {
    for (const ProfileRow& row : from) row_of(to, row.name) += row;
  };
  bool events = false;
  double left = 0;
  for (const auto& chunk : chunks_) {
    events = events || !chunk->ops_.empty() || !chunk->others_.empty();
    left += chunk->left_;
    add(whole_.ops_, chunk->ops_);
    add(whole_.paths_, chunk->paths_);
    for (const Other& other : chunk->others_) {
      row_of(whole_.others_, other.name).seconds += other.seconds;
    }
    for (const auto& [node, cost] : chunk->nodes_) whole_.nodes_[node] = cost;
    whole_.flops_ += chunk->flops_;
  }
  // What the chunks did after their last events is the next event's. Without any event the loop is
  // the work of the op under way, whose time goes on.
  if (events) {
    whole_.last_ = Clock::now() -
                   std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(left));
  }
}

}  // namespace vitruvian
