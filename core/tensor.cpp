#include "core/tensor.hpp"

#include "core/error.hpp"
#include "core/scope.hpp"

#include <array>
#include <atomic>
#include <utility>

namespace vitruvian::inline VITRUVIAN_PRECISION {
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

thread_local bool no_grad = false;

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

Node& Tensor::node() const {
  if (!node_) fail("an absent tensor was read");
  return *node_;
}

const Array& Tensor::value() const { return node().value; }

std::size_t Tensor::size(int axis) const { return shape()[normalise_axis("size", axis, rank())]; }

real Tensor::item() const {
  if (size() != 1) fail("item: a tensor of shape {} is not one number", to_string(shape()));
  return *value().data();
}

Array& Tensor::mutable_value() const {
  ++node().version;
  return node().value;
}

bool Tensor::requires_grad() const { return node().requires_grad; }
bool Tensor::is_leaf() const { return !node().vjp && !node().freed; }
const Array* Tensor::grad() const { return node().grad.get(); }
Array* Tensor::mutable_grad() const { return node().grad.get(); }
void Tensor::zero_grad() const { node().grad.reset(); }

void Tensor::set_grad(Array gradient) const {
  if (gradient.shape() != shape()) {
    fail("set_grad: gradient {} for a value of shape {}", to_string(gradient.shape()),
         to_string(shape()));
  }
  node().grad = std::make_unique<Array>(std::move(gradient));
}

Tensor Tensor::detach() const { return Tensor(Array(value())); }

NoGrad::NoGrad() : previous_(std::exchange(no_grad, true)) {}
NoGrad::~NoGrad() { no_grad = previous_; }
bool NoGrad::active() { return no_grad; }

std::size_t live_nodes() {
  std::size_t sum = 0;
  for (const Count& count : counts) sum += count.nodes.load(std::memory_order_relaxed);
  return sum;
}

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
