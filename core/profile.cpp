#include "core/profile.hpp"

#include <algorithm>
#include <utility>

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

Profile::Profile(bool each_node)
    : outer_(std::exchange(active_, this)), each_node_(each_node), last_(Clock::now()) {}
Profile::~Profile() { active_ = outer_; }

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

}  // namespace vitruvian
