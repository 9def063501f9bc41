#pragma once

#include "vitruvian/core/array.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

class Tensor;
class WriteGuard;
template <class A>
class GradientPointer;
struct Node;
[[noreturn]] void absent_was_read(const char* reader);

/// The gradients that a rule returns, one for each input; std::nullopt where nothing flows.
using Cotangents = std::vector<std::optional<Array>>;

/// Puts arrays, xtensor expressions (materialised here) and std::nullopt into `Cotangents`.
template <class... Xs>
Cotangents cotangents(Xs&&... xs) {
  Cotangents gs;
  gs.reserve(sizeof...(xs));
  (gs.emplace_back(std::forward<Xs>(xs)), ...);
  return gs;
}

/// A vector-Jacobian product: from a node (its inputs and its output) and the cotangent `g` of its
/// output to the cotangents of its inputs. A function of nothing else; it captures attributes and
/// saved statistics, never a `Tensor` (no cycles, no hidden copies). Nobody reads `g` afterwards: a
/// rule that hands it on unchanged may move it; most take it as `const Array&`.
using Vjp = std::function<Cotangents(const Node& node, Array& g)>;

/// A handle on a value in the graph of a computation. Copies of a handle are the same value. A
/// default-made one is absent (a layer without bias): reading it is an `Error`, which names the
/// function that did (`reader`).
/// A graph belongs to one thread at a time. Several may read a value, and each may record a graph
/// of its own over shared leaves; but `backward` adds to the leaves' gradients without a lock:
/// threads that share leaves take theirs by `grad(y, xs)`, and who changes a value in place does so
/// alone.
class Tensor {
 public:
  Tensor() = default;
  /// A leaf. With `requires_grad`, `backward` leaves a gradient on it.
  Tensor(Array value, bool requires_grad = false);  // NOLINT(google-explicit-constructor)

  explicit operator bool() const { return node_ != nullptr; }

  [[nodiscard]] const Array& value(const char* reader = __builtin_FUNCTION()) const;
  [[nodiscard]] const Shape& shape(const char* reader = __builtin_FUNCTION()) const {
    return value(reader).shape();
  }
  [[nodiscard]] std::size_t rank(const char* reader = __builtin_FUNCTION()) const {
    return value(reader).dimension();
  }
  [[nodiscard]] std::size_t size(const char* reader = __builtin_FUNCTION()) const {
    return value(reader).size();
  }
  /// The length of one axis; negative ones count from the end.
  [[nodiscard]] std::size_t size(int axis, const char* reader = __builtin_FUNCTION()) const;
  /// The only element; throws when there are more or none.
  [[nodiscard]] real item() const;
  /// x[i], along the first axis, which disappears; negative ones count from the end.
  Tensor operator[](std::ptrdiff_t i) const;

  /// For changing the value in place: see `WriteGuard`. (Under `NoGrad` no graph is recorded that
  /// could mind.)
  [[nodiscard]] WriteGuard mutable_value() const;

  [[nodiscard]] bool requires_grad() const;
  /// Freezes a leaf (false), or thaws it. A frozen one has no gradient, what it had is forgotten,
  /// and no backward, clipping or optimizer touches it. Graphs that read it before refuse their
  /// backward. Throws where an op made the value.
  void set_requires_grad(bool requires_grad) const;
  [[nodiscard]] bool is_leaf() const;
  /// The accumulated gradient of a leaf, or null before the first backward.
  [[nodiscard]] GradientPointer<const Array> grad() const;
  /// The same for changing it in place (clipping), or null.
  [[nodiscard]] GradientPointer<Array> mutable_grad() const;
  /// Replaces the gradient; throws when the shape is not the value's, and where none is wanted.
  void set_grad(Array gradient) const;
  void zero_grad() const;

  /// A leaf with a copy of the value, cut off from the graph.
  [[nodiscard]] Tensor detach() const;

  /// Adds d(this)/d(leaf) to every leaf below; this must have one element. Frees the graph, unless
  /// `retain_graph` keeps it for another backward.
  void backward() const { backward_scaled(1, false); }
  /// The same for sum(this * cotangent), at any shape.
  void backward(const Array& cotangent, bool retain_graph = false) const;
  /// The same for a number times this: `backward(0.5)`. But `backward(true)` retains the graph.
  template <class Number>
  requires std::is_arithmetic_v<Number>
  void backward(Number cotangent, bool retain_graph = false) const {
    constexpr bool flag = std::same_as<Number, bool>;
    backward_scaled(flag ? real{1} : static_cast<real>(cotangent),
                    flag ? cotangent != 0 : retain_graph);
  }

  [[nodiscard]] Node& node(const char* reader = __builtin_FUNCTION()) const;
  [[nodiscard]] const std::shared_ptr<Node>& node_ptr() const { return node_; }

 private:
  void backward_scaled(real cotangent, bool retain_graph) const;

  std::shared_ptr<Node> node_;
};

/// One value on the tape: which op made it, from what, and how cotangents go back through it.
struct Node {
  struct Input {
    std::shared_ptr<Node> node;  // null where an optional input is absent
    std::uint32_t version = 0;   // of the input's value when the op read it
  };

  const char* op = "leaf";
  Array value;
  std::vector<Input> inputs;
  Vjp vjp;                            // empty for leaves, and once the graph is freed
  std::unique_ptr<Array> grad;        // leaves only
  const std::string* path = nullptr;  // the module it was recorded in
  std::uint32_t version = 0;          // counts the changes in place, begun and ended
  std::uint8_t writers = 0;           // how many are under way
  bool requires_grad = false;
  bool freed = false;
  bool unrecorded = false;  // it depends on what requires a gradient, but NoGrad was there
  bool unread = false;      // its own rule does not read its value, so that a sum may take it over

  explicit Node(Array v);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // What a rule reads.
  /// The value of input `i`.
  [[nodiscard]] const Array& in(std::size_t i) const { return inputs[i].node->value; }
  [[nodiscard]] const Shape& in_shape(std::size_t i) const { return in(i).shape(); }
  [[nodiscard]] bool has(std::size_t i) const { return inputs[i].node != nullptr; }
  /// Whether anybody wants the cotangent of input `i`; a rule may return nothing otherwise.
  [[nodiscard]] bool needs(std::size_t i) const { return has(i) && inputs[i].node->requires_grad; }
};

/// Puts the result of an op on the tape. `op` must be a string literal; `inputs` may be absent
/// tensors. Under `NoGrad`, or when no input requires a gradient, only the value is kept.
Tensor record(const char* op, Array value, const std::vector<Tensor>& inputs, Vjp vjp);

/// The gradients of the sum of all sum(y * cotangent) with respect to `xs`, which may be any nodes;
/// leaves' `.grad` stays as it is. Zeros where no y depends on an x. First derivatives only: what
/// is returned is not on the tape. What the ys share is passed once. `cotangents` is empty (then
/// each y has one element) or has one for each.
std::vector<Array> grad(const std::vector<Tensor>& ys, const std::vector<Tensor>& xs,
                        const std::vector<Array>& cotangents = {}, bool retain_graph = false);
/// The same of one result.
std::vector<Array> grad(const Tensor& y, const std::vector<Tensor>& xs,
                        const std::optional<Array>& cotangent = std::nullopt,
                        bool retain_graph = false);
std::vector<Array> grad(const Tensor& y, const std::vector<Tensor>& xs, std::same_as<bool> auto,
                        bool retain_graph = false) = delete;  // retain_graph is the fourth
/// The same, handed over one by one: `take(i, gradient)` has that of xs[i] as soon as it is final,
/// while the walk goes on below it; those that no y depends on come last.
void grad_as_ready(const std::vector<Tensor>& ys, const std::vector<Tensor>& xs,
                   const std::vector<Array>& cotangents, bool retain_graph,
                   const std::function<void(std::size_t i, Array gradient)>& take);
/// The gradients of several results, added to the leaves below them.
void backward(const std::vector<Tensor>& ys, const std::vector<Array>& cotangents = {},
              bool retain_graph = false);

/// How many nodes exist, on all threads: zero when every graph and tensor is gone.
std::size_t live_nodes();

inline Node& Tensor::node(const char* reader) const {
  if (!node_) absent_was_read(reader);
  return *node_;
}
inline const Array& Tensor::value(const char* reader) const { return node(reader).value; }
inline bool Tensor::requires_grad() const { return node().requires_grad; }

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
