#pragma once

#include "vitruvian/core/base/context.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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

  /// Adds all but the name.
  ProfileRow& operator+=(const ProfileRow& other);
};

/// While it lives, it takes the time of this thread, and of the workers of its loops. What passes
/// between two events belongs to the second: an op's forward time is that since the event before
/// it, arguments and allocations included; its backward time is that of its rule; the rest of a
/// backward (summing cotangents, freeing values) is `other` time. Profiles nest: the innermost
/// takes all.
///
/// A parallel loop in whose chunks something happens (a training step's, over its micro-batches) is
/// the sum of its chunks, in their order: calls, bytes and operations do not depend on the number
/// of threads, and seconds are those of all threads together. A loop inside an op is the op's, and
/// lasts as long as the op's thread works and waits. On one thread every moment is counted once.
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
  explicit Profile(bool each_node = false) : each_node_(each_node) { active_.emplace(this); }
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  /// The one that watches this thread, or null: all that a program without profile pays for.
  static Profile* active() { return Context::here().profile; }

  // The events. `op` and `name` are string literals, `path` a path of `Scope`, `node` the address
  // of the value's node.
  void recorded(const char* op, const std::string& path, std::size_t bytes, const void* node);
  void went_back(const char* op, const std::string& path, const void* node);
  void passed(const char* name);
  /// The same where nobody may be watching: what has passed since the last event is `name`'s.
  static void mark(const char* name) {
    if (Profile* const profile = active()) profile->passed(name);
  }
  /// Counts `n` operations of the op under way.
  static void count_flops(std::uint64_t n) {
    if (Profile* const profile = active()) profile->flops_ += n;
  }

  /// In the order of their first event.
  [[nodiscard]] const std::vector<ProfileRow>& ops() const { return ops_; }
  [[nodiscard]] const std::vector<ProfileRow>& paths() const { return paths_; }
  [[nodiscard]] const std::vector<Other>& others() const { return others_; }
  /// By the node's address: a node that has died may have left its to another.
  [[nodiscard]] const std::unordered_map<const void*, NodeCost>& nodes() const { return nodes_; }

  /// What `parallel_for` takes of a loop: each chunk by itself, whoever runs it.
  class Loop {
   public:
    Loop(Profile& whole, std::size_t chunks);
    /// While it lives, this thread's events are those of one chunk.
    class Chunk {
     public:
      explicit Chunk(Profile& profile) : profile_(profile), active_(&profile) { profile.begin(); }
      ~Chunk() { profile_.end(); }
      Chunk(const Chunk&) = delete;
      Chunk& operator=(const Chunk&) = delete;

     private:
      Profile& profile_;
      Scoped<&Context::profile> active_;
    };
    Chunk chunk(std::size_t i) { return Chunk(*chunks_[i]); }
    /// After the loop: adds the chunks to the whole, in their order.
    void join();

   private:
    Profile& whole_;
    std::vector<std::unique_ptr<Profile>> chunks_;
  };

 private:
  using Clock = std::chrono::steady_clock;
  struct OfAChunk {};

  Profile(OfAChunk, bool each_node) : each_node_(each_node) {}
  void begin() { last_ = Clock::now(); }
  void end() { left_ = since_last_event(); }
  template <class Change>
  void charge(const char* op, const std::string& path, const Change& change);
  double since_last_event() const;

  std::vector<ProfileRow> ops_;
  std::vector<ProfileRow> paths_;
  std::vector<Other> others_;
  bool each_node_;
  std::unordered_map<const void*, NodeCost> nodes_;
  std::uint64_t flops_ = 0;  // since the last event
  Clock::time_point last_ = Clock::now();
  double left_ = 0;                                  // of a chunk: seconds after its last event
  std::optional<Scoped<&Context::profile>> active_;  // not of a chunk, which a worker sets
};

}  // namespace vitruvian
