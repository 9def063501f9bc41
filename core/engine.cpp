// The engine: putting an op on the tape, and walking the tape backwards.

#include "vitruvian/core/guards.hpp"
#include "vitruvian/core/watch.hpp"

#include <algorithm>
#include <unordered_map>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

// What is known of a node on the way back.
struct Pending {
  std::size_t consumers = 0;  // uses between it and the roots that have not spoken yet
  std::optional<Array> sum;   // of the cotangents of those that have

  void add(Array cotangent) {
    if (sum) return add_in_place(*sum, cotangent);
    sum = std::move(cotangent);
  }
};
using Walk = std::unordered_map<const Node*, Pending>;

// Every node that the roots depend on, with its consumers. A node is visited once, however many
// paths lead to it.
Walk count_consumers(const std::vector<Tensor>& roots) {
  Walk walk;
  std::vector<Node*> stack;
  const auto meet = [&](Node& node) -> Pending& {
    const auto [place, first] = walk.try_emplace(&node);
    if (first) stack.push_back(&node);
    return place->second;
  };
  for (const Tensor& root : roots) meet(root.node());
  while (!stack.empty()) {
    Node& node = *stack.back();
    stack.pop_back();
    watch::enter(node);
    watch::check_usable(node);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.needs(i)) ++meet(*node.inputs[i].node).consumers;
    }
  }
  return walk;
}

// Reverse mode: a node is ready when all its consumers have spoken; then its cotangent is complete,
// `visit` sees it, and its rule hands on to its inputs. Without recursion, and freeing as it goes.
// An error on the way names the module in which the node was recorded.
template <class Visit>
void walk_back(const std::vector<Tensor>& roots, const std::vector<Array>& cotangents,
               bool retain_graph, const Visit& visit) {
  const BackwardPass pass;
  std::vector<Array> seeds = watch::seeds(roots, cotangents);
  Walk walk = count_consumers(roots);
  std::vector<std::shared_ptr<Node>> ready;
  for (std::size_t i = 0; i < roots.size(); ++i) {
    Pending& root = walk[&roots[i].node()];
    if (!root.sum && root.consumers == 0) ready.push_back(roots[i].node_ptr());
    root.add(std::move(seeds[i]));
  }
  while (!ready.empty()) {
    const std::shared_ptr<Node> node = std::move(ready.back());
    ready.pop_back();
    watch::enter(*node);
    std::optional<Array> sum = std::exchange(walk[node.get()].sum, std::nullopt);
    Array g = sum ? std::move(*sum) : zeros(node->value.shape());
    visit(*node, g);
    if (!node->vjp) continue;
    Cotangents gs = watch::apply_rule(*node, g);
    for (std::size_t i = 0; i < gs.size(); ++i) {
      if (!node->needs(i)) continue;
      Pending& input = walk[node->inputs[i].node.get()];
      if (gs[i]) input.add(std::move(*gs[i]));
      if (--input.consumers == 0) ready.push_back(node->inputs[i].node);
    }
    if (retain_graph) continue;
    node->vjp = {};
    node->freed = true;
    node->inputs.clear();
  }
}

}  // namespace

Tensor record(const char* op, Array value, const std::vector<Tensor>& inputs, Vjp vjp) {
  Tensor result(std::move(value));
  Node& node = result.node();
  node.op = op;
  watch::recorded(node, inputs);
  const auto any = [&](bool Node::*what) {
    return std::any_of(inputs.begin(), inputs.end(),
                       [what](const Tensor& x) { return x && x.node().*what; });
  };
  const bool wanted = any(&Node::requires_grad);
  if (NoGrad::active() || !wanted) {
    node.unrecorded = wanted || any(&Node::unrecorded);
    return result;
  }
  if (!vjp) fail("record: '{}' has no rule for the way back", op);
  node.requires_grad = true;
  node.inputs.reserve(inputs.size());
  for (const Tensor& x : inputs) node.inputs.push_back({x.node_ptr(), x ? x.node().version : 0});
  node.vjp = watch::as_told(op, std::move(vjp));
  return result;
}

void backward(const std::vector<Tensor>& ys, const std::vector<Array>& cotangents,
              bool retain_graph) {
  walk_back(ys, cotangents, retain_graph, [](Node& node, Array& g) {
    if (node.vjp || !node.requires_grad) return;
    if (node.grad) return add_in_place(*node.grad, g);
    node.grad = std::make_unique<Array>(std::move(g));
  });
}

void grad_as_ready(const std::vector<Tensor>& ys, const std::vector<Tensor>& xs,
                   const std::vector<Array>& cotangents, bool retain_graph,
                   const std::function<void(std::size_t i, Array gradient)>& take) {
  watch::check_wanted(xs);
  std::unordered_multimap<const Node*, std::size_t> places;  // of a node among xs
  for (std::size_t i = 0; i < xs.size(); ++i) places.emplace(&xs[i].node(), i);
  walk_back(ys, cotangents, retain_graph, [&](const Node& node, Array& g) {
    for (auto x = places.find(&node); x != places.end(); x = places.find(&node)) {
      const std::size_t i = places.extract(x).mapped();
      // The last place of a leaf: nobody reads g after it.
      if (!node.vjp && !places.contains(&node)) return take(i, std::move(g));
      take(i, g);
    }
  });
  for (const auto& [node, i] : places) take(i, zeros(node->value.shape()));
}

std::vector<Array> grad(const std::vector<Tensor>& ys, const std::vector<Tensor>& xs,
                        const std::vector<Array>& cotangents, bool retain_graph) {
  std::vector<Array> result(xs.size());
  grad_as_ready(ys, xs, cotangents, retain_graph,
                [&](std::size_t i, Array gradient) { result[i] = std::move(gradient); });
  return result;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
