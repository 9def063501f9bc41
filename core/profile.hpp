#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace vitruvian {

/// What one op, or everything under one module path, took.
struct ProfileRow {
  std::string name;         ///< the op's, or the path's ("" at the top)
  std::uint64_t calls = 0;  ///< values put on the tape
  double forward = 0;       ///< seconds
  double backward = 0;      ///< seconds in the op's rules
  std::uint64_t bytes = 0;  ///< of the values
  std::uint64_t flops = 0;  ///< 2 m n k of every matrix product, both ways
};

/// While it lives, it takes the time of this thread: the work of other threads shows only as the
/// time that this one waits for them, so a profile is meant for `set_threads(1)`. Every moment is
/// counted once. What passes between two events belongs to the second: an op's forward time is that
/// since the event before it, arguments and allocations included; its backward time is that of its
/// rule; the rest of a backward (summing cotangents, freeing values) is `other` time. Profiles
/// nest: the innermost takes all.
class Profile {
 public:
  struct Other {
    std::string_view name;
    double seconds = 0;
  };

  /// What one value of the tape took.
  struct NodeCost {
    double forward = 0;   ///< seconds
    double backward = 0;  ///< seconds
    std::uint64_t forward_flops = 0;
    std::uint64_t backward_flops = 0;
  };

  /// With `each_node`, every node's cost is kept apart, too.
  explicit Profile(bool each_node = false);
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  /// The one that watches this thread, or null: all that a program without profile pays for.
  static Profile* active() { return active_; }

  // The events. `op` and `name` are string literals, `path` a path of `Scope`, `node` the address
  // of the value's node.
  void recorded(const char* op, const std::string& path, std::size_t bytes, const void* node);
  void went_back(const char* op, const std::string& path, const void* node);
  void passed(const char* name);
  /// The same where nobody may be watching: what has passed since the last event is `name`'s.
  static void mark(const char* name) {
    if (active_ != nullptr) active_->passed(name);
  }
  /// Counts `n` operations of the op under way.
  static void count_flops(std::uint64_t n) {
    if (active_ != nullptr) active_->flops_ += n;
  }

  /// In the order of their first event.
  [[nodiscard]] const std::vector<ProfileRow>& ops() const { return ops_; }
  [[nodiscard]] const std::vector<ProfileRow>& paths() const { return paths_; }
  [[nodiscard]] const std::vector<Other>& others() const { return others_; }
  /// By the node's address: a node that has died may have left its to another.
  [[nodiscard]] const std::unordered_map<const void*, NodeCost>& nodes() const { return nodes_; }

 private:
  using Clock = std::chrono::steady_clock;

  template <class Change>
  void charge(const char* op, const std::string& path, const Change& change);
  double since_last_event() const;

  static constinit inline thread_local Profile* active_ = nullptr;

  Profile* outer_;
  std::vector<ProfileRow> ops_;
  std::vector<ProfileRow> paths_;
  std::vector<Other> others_;
  bool each_node_;
  std::unordered_map<const void*, NodeCost> nodes_;
  std::uint64_t flops_ = 0;  // since the last event
  Clock::time_point last_;
};

}  // namespace vitruvian
