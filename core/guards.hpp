#pragma once

#include "vitruvian/core/base/context.hpp"
#include "vitruvian/core/tensor.hpp"

#include <memory>

// What stands guard: over the tape, over a gradient that may not be there yet, over a value that is
// being changed in place. Included by core/ops.hpp.

namespace vitruvian {

/// While it lives, this thread records nothing, and neither do the workers of its loops.
class NoGrad : Scoped<&Context::no_grad> {
 public:
  NoGrad() : Scoped(true) {}
  static bool active() { return Context::here().no_grad; }
};

inline namespace VITRUVIAN_PRECISION {

/// A pointer to a gradient, null where there is none yet. Reading it then is an `Error`.
template <class A>
class GradientPointer {
 public:
  GradientPointer(A* gradient, const Node& node) : gradient_(gradient), node_(&node) {}
  operator A*() const { return gradient_; }  // NOLINT(google-explicit-constructor)
  A& operator*() const { return *arrived(); }
  A* operator->() const { return arrived(); }

 private:
  A* arrived() const;
  A* gradient_;
  const Node* node_;
};

/// The right to change a tensor's value in place, as long as it lives:
///
///   const WriteGuard value = w.mutable_value();
///   for (std::size_t i = 0; i < value->size(); ++i) value->data()[i] *= 2;
///
/// It must have a name, so that the array is not kept beyond it; `w.mutable_value() = array` and
/// `.fill(number)` need none. Numbers may be changed, the shape may not: nobody looks whether it
/// was. A graph that read the tensor before the guard's end refuses its
/// backward.
class WriteGuard {
 public:
  explicit WriteGuard(std::shared_ptr<Node> node);
  ~WriteGuard();
  WriteGuard(const WriteGuard&) = delete;
  WriteGuard& operator=(const WriteGuard&) = delete;

  Array& operator*() const&;
  Array* operator->() const& { return &**this; }
  Array& operator*() const&& = delete;
  Array* operator->() const&& = delete;
  /// Copies a value of the same shape; throws when it has another.
  void operator=(const Array& value) const;
  void fill(real number) const;

 private:
  std::shared_ptr<Node> node_;
};

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
