#include "vitruvian/core/tensor.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/scope.hpp"
#include "vitruvian/core/ops.hpp"

#include <array>
#include <atomic>
#include <limits>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

// Threads count apart: one number for all would go to and fro between their cores. A node may die
// on another thread than its own: only the sum means something.
struct alignas(64) Count {
  std::atomic<std::size_t> nodes{0};
};
std::array<Count, 16> counts;

std::atomic<std::size_t>& node_count() {
  static std::atomic<std::size_t> threads{0};
  thread_local std::atomic<std::size_t>& here = counts[threads++ % counts.size()].nodes;
  return here;
}

}  // namespace

Node::Node(Array v) : value(std::move(v)), path(&Scope::path()) {
  node_count().fetch_add(1, std::memory_order_relaxed);
}

// A chain of a million nodes must not be a million nested destructors: whoever is about to die with
// us hands over its inputs first.
Node::~Node() {
  node_count().fetch_sub(1, std::memory_order_relaxed);
  std::vector<Input> dying = std::move(inputs);
  while (!dying.empty()) {
    const std::shared_ptr<Node> node = std::move(dying.back().node);
    dying.pop_back();
    if (node && node.use_count() == 1) {
      for (Input& input : node->inputs) dying.push_back(std::move(input));
      node->inputs.clear();
    }
  }
}

Tensor::Tensor(Array value, bool requires_grad) : node_(std::make_shared<Node>(std::move(value))) {
  node_->requires_grad = requires_grad;
}

void absent_was_read(const char* reader) {
  fail(
      "{}: an absent tensor was read: it was default-made and has no value; give it one before, or "
      "ask `if (x)`",
      reader);
}

template <class A>
A* GradientPointer<A>::arrived() const {
  if (gradient_ != nullptr) return gradient_;
  const Scoped<&Context::path> in(node_->path);
  if (node_->inputs.empty() && !node_->freed && !node_->requires_grad) {
    fail("grad: there is none, as this tensor requires no gradient");
  }
  if (!node_->inputs.empty() || node_->freed) {
    fail("grad: a result ('{}') keeps none; grad(y, {{x}}) returns it", node_->op);
  }
  fail("grad: there is none yet; call backward() on a result that depends on this tensor");
}
template class GradientPointer<const Array>;
template class GradientPointer<Array>;

// The version moves at both ends: what is recorded in between has read what may change again.
WriteGuard::WriteGuard(std::shared_ptr<Node> node) : node_(std::move(node)) {
  if (node_->writers == std::numeric_limits<std::uint8_t>::max()) {
    fail("mutable_value: {} changes of one tensor are under way", node_->writers);
  }
  ++node_->writers;
  ++node_->version;
}
WriteGuard::~WriteGuard() {
  --node_->writers;
  ++node_->version;
}
Array& WriteGuard::operator*() const& { return node_->value; }

void WriteGuard::operator=(const Array& value) const {
  if (value.shape() != node_->value.shape()) {
    fail("mutable_value: a value {} for a tensor of shape {}", to_string(value.shape()),
         to_string(node_->value.shape()));
  }
  node_->value = value;
}
void WriteGuard::fill(real number) const { node_->value.fill(number); }

std::size_t Tensor::size(int axis, const char* reader) const {
  return shape(reader)[normalise_axis("size", axis, rank())];
}

real Tensor::item() const {
  if (size() != 1) fail("item: a tensor of shape {} is not one number", to_string(shape()));
  return *value().data();
}

Tensor Tensor::operator[](std::ptrdiff_t i) const { return select(*this, 0, i); }

WriteGuard Tensor::mutable_value() const {
  if (!node_) absent_was_read("mutable_value");
  return WriteGuard(node_);
}

void Tensor::set_requires_grad(bool requires_grad) const {
  if (!is_leaf()) {
    fail("set_requires_grad: '{}' made this tensor; detach() makes a leaf of it", node().op);
  }
  if (node().requires_grad == requires_grad) return;
  node().requires_grad = requires_grad;
  ++node().version;  // graphs that read it count on what it was
  zero_grad();
}

bool Tensor::is_leaf() const { return !node().vjp && !node().freed; }
GradientPointer<const Array> Tensor::grad() const { return {node().grad.get(), node()}; }
GradientPointer<Array> Tensor::mutable_grad() const { return {node().grad.get(), node()}; }
void Tensor::zero_grad() const { node().grad.reset(); }

void Tensor::set_grad(Array gradient) const {
  if (gradient.shape() != shape()) {
    fail("set_grad: gradient {} for a value of shape {}", to_string(gradient.shape()),
         to_string(shape()));
  }
  if (!requires_grad()) fail("set_grad: this tensor requires no gradient");
  if (!is_leaf()) fail("set_grad: a result ('{}') keeps no gradient", node().op);
  node().grad = std::make_unique<Array>(std::move(gradient));
}

void Tensor::backward(const Array& cotangent, bool retain_graph) const {
  vitruvian::backward({*this}, {cotangent}, retain_graph);
}

void Tensor::backward_scaled(real cotangent, bool retain_graph) const {
  const bool one = node("backward").value.size() == 1;  // of others the walk says what is missing
  const auto seed = one ? std::vector{full(shape(), cotangent)} : std::vector<Array>{};
  vitruvian::backward({*this}, seed, retain_graph);
}

std::vector<Array> grad(const Tensor& y, const std::vector<Tensor>& xs,
                        const std::optional<Array>& cotangent, bool retain_graph) {
  const auto seed = cotangent ? std::vector{*cotangent} : std::vector<Array>{};
  return grad(std::vector{y}, xs, seed, retain_graph);
}

Tensor Tensor::detach() const { return Tensor(Array(value())); }

std::size_t live_nodes() {
  std::size_t sum = 0;
  for (const Count& count : counts) sum += count.nodes.load(std::memory_order_relaxed);
  return sum;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
