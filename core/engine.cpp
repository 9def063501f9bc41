// The engine: putting an op on the tape, and walking the tape backwards.

#include "vitruvian/core/anomaly.hpp"
#include "vitruvian/core/context.hpp"
#include "vitruvian/core/engine_checks.hpp"
#include "vitruvian/core/error.hpp"
#include "vitruvian/core/fault.hpp"
#include "vitruvian/core/profile.hpp"
#include "vitruvian/core/tensor.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

// What the node's rule makes of g, and the time that it takes where somebody wants to know.
Cotangents apply_rule(const Node& node, Array& g) {
  Profile::mark("tape");
  Cotangents gs = node.vjp(node, g);
  if (Profile* const profile = Profile::active()) profile->went_back(node.op, *node.path, &node);
  engine::check_returned(node, gs);
  if (Anomaly::active()) engine::check_went_back(node, gs);
  return gs;
}

// What is known of a node on the way back.
struct Pending {
  std::size_t consumers = 0;  // uses between it and the root that have not spoken yet
  std::optional<Array> sum;   // of the cotangents of those that have
};
using Walk = std::unordered_map<const Node*, Pending>;

// What is differentiated: sum(y * cotangent), or y itself, which has one element then.
struct Root {
  const Tensor& y;
  const Array* cotangent;
};

// Every node that the roots depend on, with its consumers. A node is visited once, however many
// paths lead to it.
Walk count_consumers(std::span<const Root> roots) {
  Walk walk;
  std::vector<Node*> stack;
  const auto meet = [&](Node& node) -> Pending& {
    const auto [place, first] = walk.try_emplace(&node);
    if (first) stack.push_back(&node);
    return place->second;
  };
  for (const auto& [y, cotangent] : roots) {
    Context::here().path = y.node("backward").path;
    engine::check_root(y, cotangent);
    meet(y.node());
  }
  while (!stack.empty()) {
    Node& node = *stack.back();
    stack.pop_back();
    Context::here().path = node.path;
    engine::check_usable(node);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.needs(i)) ++meet(*node.inputs[i].node).consumers;
    }
  }
  return walk;
}

// Gives the roots their cotangents, and returns those that wait for nobody else's.
std::vector<std::shared_ptr<Node>> seeded(std::span<const Root> roots, Walk& walk) {
  std::vector<std::shared_ptr<Node>> ready;
  for (const auto& [y, cotangent] : roots) {
    Pending& root = walk[&y.node()];
    Array seed = cotangent != nullptr ? *cotangent : full(y.shape(), real{1});
    if (root.sum) {
      add_in_place(*root.sum, seed);  // the same root again
      continue;
    }
    root.sum = std::move(seed);
    if (root.consumers == 0) ready.push_back(y.node_ptr());
  }
  return ready;
}

// Reverse mode: a node is ready when all its consumers have spoken; then its cotangent is complete,
// `visit` sees it, and its rule hands on to its inputs. Without recursion, and freeing as it goes.
// An error on the way names the module in which the node was recorded.
template <class Visit>
void walk(std::span<const Root> roots, bool retain_graph, const Visit& visit) {
  const BackwardPass pass;
  const Scoped<&Context::path> of_the_node(Context::here().path);
  Walk pending = count_consumers(roots);
  std::vector<std::shared_ptr<Node>> ready = seeded(roots, pending);
  while (!ready.empty()) {
    const std::shared_ptr<Node> node = std::move(ready.back());
    ready.pop_back();
    Context::here().path = node->path;
    std::optional<Array>& sum = pending[node.get()].sum;
    Array g = sum ? std::move(*sum) : zeros(node->value.shape());
    sum.reset();
    visit(*node, g);
    if (!node->vjp) continue;
    Cotangents gs = apply_rule(*node, g);
    for (std::size_t i = 0; i < gs.size(); ++i) {
      if (!node->needs(i)) continue;
      const std::shared_ptr<Node>& input = node->inputs[i].node;
      Pending& before = pending[input.get()];
      if (gs[i] && before.sum) {
        add_in_place(*before.sum, *gs[i]);
      } else if (gs[i]) {
        before.sum = std::move(gs[i]);
      }
      if (--before.consumers == 0) ready.push_back(input);
    }
    if (!retain_graph) {
      node->vjp = {};
      node->freed = true;
      node->inputs.clear();
    }
  }
  Profile::mark("tape");
}

void accumulate_on_leaves(std::span<const Root> roots, bool retain_graph) {
  walk(roots, retain_graph, [](Node& node, Array& g) {
    if (node.vjp || !node.requires_grad) return;
    if (node.grad) {
      add_in_place(*node.grad, g);
    } else {
      node.grad = std::make_unique<Array>(std::move(g));
    }
  });
}

std::vector<Array> gradients(std::span<const Root> roots, const std::vector<Tensor>& xs,
                             bool retain_graph) {
  for (const Tensor& x : xs) {
    if (!x.requires_grad())
      fail("grad: an x of shape {} requires no gradient", to_string(x.shape()));
  }
  std::unordered_multimap<const Node*, std::size_t> wanted;
  for (std::size_t i = 0; i < xs.size(); ++i) wanted.emplace(xs[i].node_ptr().get(), i);
  std::vector<Array> result(xs.size());
  std::vector<bool> found(xs.size(), false);
  walk(roots, retain_graph, [&](const Node& node, Array& g) {
    const auto [first, last] = wanted.equal_range(&node);
    for (auto entry = first; entry != last; ++entry) {
      // Nobody reads a leaf's cotangent afterwards: it need not be copied.
      const bool last_reader = !node.vjp && std::next(entry) == last;
      result[entry->second] = last_reader ? std::move(g) : g;  // NOLINT(bugprone-use-after-move)
      found[entry->second] = true;
    }
  });
  for (std::size_t i = 0; i < xs.size(); ++i) {
    if (!found[i]) result[i] = zeros(xs[i].shape());
  }
  return result;
}

std::vector<Root> roots_of(const std::vector<Tensor>& ys, const std::vector<Array>& cotangents) {
  if (!cotangents.empty() && cotangents.size() != ys.size()) {
    fail("backward: {} cotangents for {} results", cotangents.size(), ys.size());
  }
  std::vector<Root> roots;
  for (std::size_t i = 0; i < ys.size(); ++i) {
    roots.push_back({ys[i], cotangents.empty() ? nullptr : &cotangents[i]});
  }
  return roots;
}

}  // namespace

Tensor record(const char* op, Array value, std::span<const Tensor> inputs, Vjp vjp) {
  Tensor result(std::move(value));
  Node& node = result.node();
  node.op = op;
  if (Profile* const profile = Profile::active()) {
    profile->recorded(op, *node.path, node.value.size() * sizeof(real), &node);
  }
  if (Anomaly::active()) engine::check_recorded(node, inputs);
  const auto wanted = [](const Tensor& x) { return x && x.requires_grad(); };
  const auto lost = [](const Tensor& x) { return x && x.node().unrecorded; };
  if (NoGrad::active() || std::none_of(inputs.begin(), inputs.end(), wanted)) {
    node.unrecorded = std::any_of(inputs.begin(), inputs.end(), lost) ||
                      (NoGrad::active() && std::any_of(inputs.begin(), inputs.end(), wanted));
    return result;
  }
  node.requires_grad = true;
  node.inputs.reserve(inputs.size());
  for (const Tensor& x : inputs) node.inputs.push_back({x.node_ptr(), x ? x.node().version : 0});
  const Fault* const fault = Fault::active();
  node.vjp = fault != nullptr && fault->op() == op ? engine::broken(std::move(vjp), *fault)
                                                   : std::move(vjp);
  return result;
}

Tensor record(const char* op, Array value, std::initializer_list<Tensor> inputs, Vjp vjp) {
  return record(op, std::move(value), std::span<const Tensor>(inputs.begin(), inputs.size()),
                std::move(vjp));
}

void Tensor::backward_from(const Array* cotangent, bool retain_graph) const {
  const Root root{*this, cotangent};
  accumulate_on_leaves({&root, 1}, retain_graph);
}

void Tensor::backward() const { backward_from(nullptr, false); }

void Tensor::backward(const Array& cotangent, bool retain_graph) const {
  backward_from(&cotangent, retain_graph);
}

void Tensor::backward_scaled(real cotangent, bool retain_graph) const {
  if (size() != 1) engine::check_root(*this, nullptr);  // which says what is missing
  const Array seed = full(shape(), cotangent);
  backward_from(&seed, retain_graph);
}

void backward(const std::vector<Tensor>& ys, const std::vector<Array>& cotangents,
              bool retain_graph) {
  accumulate_on_leaves(roots_of(ys, cotangents), retain_graph);
}

std::vector<Array> grad(const Tensor& y, const std::vector<Tensor>& xs,
                        const std::optional<Array>& cotangent, bool retain_graph) {
  const Root root{y, cotangent ? &*cotangent : nullptr};
  return gradients({&root, 1}, xs, retain_graph);
}

std::vector<Array> grad(const std::vector<Tensor>& ys, const std::vector<Tensor>& xs,
                        const std::vector<Array>& cotangents, bool retain_graph) {
  return gradients(roots_of(ys, cotangents), xs, retain_graph);
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
