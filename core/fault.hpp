#pragma once

#include "vitruvian/core/base/context.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/profile.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace vitruvian {

/// A mistake on purpose, for as long as it lives, on this thread and in the workers of its loops:
/// the rule of every `op` that is recorded meanwhile is wrong in the given way. Tests prove with it
/// that each check can fail; lessons break things with it. Faults do not nest.
class Fault {
 public:
  enum class Kind {
    flip_sign,          ///< the cotangent of `input` has the wrong sign
    drop_cotangent,     ///< the cotangent of `input` is zero
    skip_accumulation,  ///< only the first of the op's cotangents arrives, later ones are not added
    forget_unbroadcast  ///< stretched axes are not summed over
  };
  /// The kind that is called so above; fails where none is.
  static Kind kind_named(std::string_view name) {
    return static_cast<Kind>(index_of(
        name, {"flip_sign", "drop_cotangent", "skip_accumulation", "forget_unbroadcast"}, "fault"));
  }

  explicit Fault(std::string op, Kind kind, std::size_t input = 0)
      : op_(std::move(op)), kind_(kind), input_(input), active_(alone(this)) {}
  Fault(const Fault&) = delete;
  Fault& operator=(const Fault&) = delete;

  [[nodiscard]] const std::string& op() const { return op_; }
  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] std::size_t input() const { return input_; }

  /// The thread's fault, or null.
  static const Fault* active() { return Context::here().fault; }
  /// Whether the rule that is running now was told to forget its unbroadcast.
  static bool forgets_unbroadcast() { return Context::here().forgets_unbroadcast; }

 private:
  static const Fault* alone(const Fault* fault) {
    if (active() != nullptr) fail("fault: '{}' is already broken", active()->op());
    return fault;
  }

  std::string op_;
  Kind kind_;
  std::size_t input_;
  Scoped<&Context::fault> active_;
};

/// One walk back over a graph, for as long as it lives: what `skip_accumulation` remembers, and the
/// module path to return to. Each walk has its own, so that what is broken depends neither on other
/// walks nor on the threads.
class BackwardPass {
 public:
  BackwardPass() : active_(this), path_(Context::here().path) {}
  ~BackwardPass() { Profile::mark("tape"); }
  BackwardPass(const BackwardPass&) = delete;
  BackwardPass& operator=(const BackwardPass&) = delete;

  /// Whether a broken rule hands a cotangent to `node` for the first time in this pass.
  static bool first_at(const void* node) {
    BackwardPass* const pass = Context::here().pass;
    return pass == nullptr || pass->reached_.insert(node).second;
  }

 private:
  std::unordered_set<const void*> reached_;
  Scoped<&Context::pass> active_;
  Scoped<&Context::path> path_;
};

}  // namespace vitruvian
