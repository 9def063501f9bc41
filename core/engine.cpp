// The engine: putting an op on the tape, and walking the tape backwards.

#include "core/anomaly.hpp"
#include "core/error.hpp"
#include "core/fault.hpp"
#include "core/profile.hpp"
#include "core/tensor.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

namespace vitruvian::inline VITRUVIAN_PRECISION {
namespace {

std::string where(const Node& node) { return node.path->empty() ? "" : " - in " + *node.path; }

// Wraps a rule in the mistake that the active Fault asks for. Such a rule adds to nothing: what it
// returns is what the fault changes.
Vjp broken(Vjp vjp, const Fault& fault) {
  return [vjp = std::move(vjp), kind = fault.kind(), i = fault.input(), seen = fault.seen()](
             const Node& node, Array& g) {
    const auto forgetting =
        kind == Fault::Kind::forget_unbroadcast ? std::make_unique<Fault::Forgetting>() : nullptr;
    Cotangents gs = vjp(node, g);
    const auto scale = [](std::optional<Array>& a, real factor) {
      if (a) std::for_each(a->data(), a->data() + a->size(), [factor](real& x) { x *= factor; });
    };
    if (kind == Fault::Kind::flip_sign) scale(gs.at(i), real{-1});
    if (kind == Fault::Kind::drop_cotangent) scale(gs.at(i), real{0});
    if (kind == Fault::Kind::skip_accumulation) {
      for (std::size_t k = 0; k < gs.size(); ++k) {
        if (node.has(k) && !seen->insert(node.inputs[k].node.get()).second) scale(gs[k], real{0});
      }
    }
    return gs;
  };
}

// What holds of a node that is about to be differentiated.
void check_usable(const Node& node) {
  if (node.freed) {
    fail(
        "backward: the graph below '{}' was freed by an earlier backward; pass retain_graph to "
        "the first one{}",
        node.op, where(node));
  }
  if (!node.vjp) return;
  if (node.version != 0) {
    fail("backward: the result of '{}' was changed after it was computed{}", node.op, where(node));
  }
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.has(i) && node.inputs[i].node->version != node.inputs[i].version) {
      fail("backward: input {} of '{}' was changed between forward and backward{}", i, node.op,
           where(node));
    }
  }
}

void check_returned(const Node& node, const Cotangents& gs) {
  if (gs.size() != node.inputs.size()) {
    fail("backward: the rule of '{}' returned {} cotangents for {} inputs{}", node.op, gs.size(),
         node.inputs.size(), where(node));
  }
  for (std::size_t i = 0; i < gs.size(); ++i) {
    if (gs[i] && node.has(i) && gs[i]->shape() != node.in_shape(i)) {
      fail("backward: the rule of '{}' returned a cotangent of shape {} for input {} of shape {}{}",
           node.op, to_string(gs[i]->shape()), i, to_string(node.in_shape(i)), where(node));
    }
  }
}

// For Anomaly: throws when an array of `node` holds what is no number.
void check_finite(const Node& node, const Array& a, const std::string& where) {
  Finding finding{node.op, *node.path, "", where, 0, a.size(), 0, {}};
  finding.axis0 = a.dimension() == 0 ? 1 : a.shape()[0];
  const std::size_t row = finding.axis0 == 0 ? 1 : a.size() / finding.axis0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const real x = a.data()[i];
    if (std::isfinite(x)) continue;
    if (finding.count++ == 0) finding.kind = std::isnan(x) ? "NaN" : "infinity";
    if (finding.rows.size() < 8 && (finding.rows.empty() || finding.rows.back() != i / row)) {
      finding.rows.push_back(i / row);
    }
  }
  if (finding.count > 0) throw NotFinite{std::move(finding)};
}

void check_recorded(const Node& node, std::span<const Tensor> inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] && inputs[i].is_leaf()) {
      check_finite(node, inputs[i].value(), "input " + std::to_string(i));
    }
  }
  check_finite(node, node.value, "the value");
}

// What the node's rule makes of g, and the time that it takes where somebody wants to know.
Cotangents apply_rule(const Node& node, Array& g, Array* arrived) {
  Profile::mark("tape");
  Cotangents gs = node.vjp(node, g, arrived);
  if (Profile* const profile = Profile::active()) profile->went_back(node.op, *node.path, &node);
  check_returned(node, gs);
  if (Anomaly::active()) {
    if (arrived != nullptr && !gs[0]) check_finite(node, *arrived, "the gradient of input 0");
    for (std::size_t i = 0; i < gs.size(); ++i) {
      if (gs[i]) check_finite(node, *gs[i], "the gradient of input " + std::to_string(i));
    }
  }
  return gs;
}

// What is known of a node on the way back.
struct Pending {
  std::size_t consumers = 0;  // uses between it and the root that have not spoken yet
  std::optional<Array> sum;   // of the cotangents of those that have
};
using Walk = std::unordered_map<const Node*, Pending>;

// What a rule may add to.
Array* arrived_at_first(Walk& walk, const Node& node) {
  if (node.inputs.empty() || !node.needs(0)) return nullptr;
  std::optional<Array>& sum = walk[node.inputs[0].node.get()].sum;
  return sum ? &*sum : nullptr;
}

// Every node that `root` depends on, with its consumers. A node is visited once, however many paths
// lead to it.
Walk count_consumers(Node& root) {
  Walk walk;
  walk[&root];
  std::vector<Node*> stack{&root};
  while (!stack.empty()) {
    Node& node = *stack.back();
    stack.pop_back();
    check_usable(node);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.needs(i) && walk[node.inputs[i].node.get()].consumers++ == 0) {
        stack.push_back(node.inputs[i].node.get());
      }
    }
  }
  return walk;
}

// Reverse mode: a node is ready when all its consumers have spoken; then its cotangent is complete,
// `visit` sees it, and its rule hands on to its inputs. Without recursion, and freeing as it goes.
template <class Visit>
void walk(const Tensor& y, const std::optional<Array>& seed, bool retain_graph,
          const Visit& visit) {
  if (!y.requires_grad()) {
    fail("backward: '{}' does not depend on anything that requires a gradient{}", y.node().op,
         where(y.node()));
  }
  if (!seed && y.size() != 1) {
    fail("backward: a result of shape {} needs a cotangent of that shape", to_string(y.shape()));
  }
  if (seed && seed->shape() != y.shape()) {
    fail("backward: cotangent {} for a result of shape {}", to_string(seed->shape()),
         to_string(y.shape()));
  }
  // "Only the first cotangent" is meant pass by pass.
  if (const Fault* const fault = Fault::active()) fault->seen()->clear();
  Walk pending = count_consumers(y.node());
  pending[&y.node()].sum = seed ? *seed : full(y.shape(), real{1});
  std::vector<std::shared_ptr<Node>> ready{y.node_ptr()};
  while (!ready.empty()) {
    const std::shared_ptr<Node> node = std::move(ready.back());
    ready.pop_back();
    std::optional<Array>& sum = pending[node.get()].sum;
    Array g = sum ? std::move(*sum) : zeros(node->value.shape());
    sum.reset();
    visit(*node, g);
    if (!node->vjp) continue;
    Cotangents gs = apply_rule(*node, g, arrived_at_first(pending, *node));
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

void accumulate_on_leaves(const Tensor& y, const std::optional<Array>& seed, bool retain_graph) {
  walk(y, seed, retain_graph, [](Node& node, Array& g) {
    if (node.vjp || !node.requires_grad) return;
    if (node.grad) {
      add_in_place(*node.grad, g);
    } else {
      node.grad = std::make_unique<Array>(std::move(g));
    }
  });
}

}  // namespace

Tensor record(const char* op, Array value, std::span<const Tensor> inputs, Vjp vjp) {
  Tensor result(std::move(value));
  Node& node = result.node();
  node.op = op;
  if (Profile* const profile = Profile::active()) {
    profile->recorded(op, *node.path, node.value.size() * sizeof(real), &node);
  }
  if (Anomaly::active()) check_recorded(node, inputs);
  const auto wants = [](const Tensor& x) { return x && x.requires_grad(); };
  if (NoGrad::active() || std::none_of(inputs.begin(), inputs.end(), wants)) return result;
  node.requires_grad = true;
  node.inputs.reserve(inputs.size());
  for (const Tensor& x : inputs) node.inputs.push_back({x.node_ptr(), x ? x.node().version : 0});
  const Fault* const fault = Fault::active();
  node.vjp =
      fault != nullptr && fault->op() == op ? broken(std::move(vjp), *fault) : std::move(vjp);
  return result;
}

Tensor record(const char* op, Array value, std::initializer_list<Tensor> inputs, Vjp vjp) {
  return record(op, std::move(value), std::span<const Tensor>(inputs.begin(), inputs.size()),
                std::move(vjp));
}

void Tensor::backward(bool retain_graph) const {
  accumulate_on_leaves(*this, std::nullopt, retain_graph);
}

void Tensor::backward(const Array& cotangent, bool retain_graph) const {
  accumulate_on_leaves(*this, cotangent, retain_graph);
}

std::vector<Array> grad(const Tensor& y, const std::vector<Tensor>& xs,
                        const std::optional<Array>& cotangent, bool retain_graph) {
  for (const Tensor& x : xs) {
    if (!x.requires_grad())
      fail("grad: an x of shape {} requires no gradient", to_string(x.shape()));
  }
  std::unordered_multimap<const Node*, std::size_t> wanted;
  for (std::size_t i = 0; i < xs.size(); ++i) wanted.emplace(xs[i].node_ptr().get(), i);
  std::vector<Array> result(xs.size());
  std::vector<bool> found(xs.size(), false);
  walk(y, cotangent, retain_graph, [&](const Node& node, Array& g) {
    const auto [first, last] = wanted.equal_range(&node);
    for (auto entry = first; entry != last; ++entry) {
      // Nobody reads a leaf's cotangent afterwards: it need not be copied.
      const bool last_reader = !node.vjp && std::next(entry) == last;
      result[entry->second] = last_reader ? std::move(g) : g;
      found[entry->second] = true;
    }
  });
  for (std::size_t i = 0; i < xs.size(); ++i) {
    if (!found[i]) result[i] = zeros(xs[i].shape());
  }
  return result;
}

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
