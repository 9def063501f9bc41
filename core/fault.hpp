#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_set>

namespace vitruvian {

/// A mistake on purpose, for as long as it lives, on this thread: the rule of every `op` that is
/// recorded meanwhile is wrong in the given way. Tests prove with it that each check can fail;
/// lessons break things with it. Faults do not nest.
class Fault {
 public:
  enum class Kind {
    flip_sign,          ///< the cotangent of `input` has the wrong sign
    drop_cotangent,     ///< the cotangent of `input` is zero
    skip_accumulation,  ///< only the first of the op's cotangents arrives, later ones are not added
    forget_unbroadcast  ///< stretched axes are not summed over
  };

  explicit Fault(std::string op, Kind kind, std::size_t input = 0);
  ~Fault();
  Fault(const Fault&) = delete;
  Fault& operator=(const Fault&) = delete;

  [[nodiscard]] const std::string& op() const { return op_; }
  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] std::size_t input() const { return input_; }

  /// The nodes that have had a cotangent from the broken op: what `skip_accumulation` remembers.
  [[nodiscard]] const std::shared_ptr<std::unordered_set<const void*>>& seen() const {
    return seen_;
  }

  /// The thread's fault, or null.
  static const Fault* active();
  /// Whether the rule that is running now was told to forget its unbroadcast.
  static bool forgets_unbroadcast();

  /// While it lives, `forgets_unbroadcast()` is true.
  class Forgetting {
   public:
    Forgetting();
    ~Forgetting();
    Forgetting(const Forgetting&) = delete;
    Forgetting& operator=(const Forgetting&) = delete;
  };

 private:
  std::string op_;
  Kind kind_;
  std::size_t input_;
  std::shared_ptr<std::unordered_set<const void*>> seen_;
};

}  // namespace vitruvian
