#include "vitruvian/vit/inspect/graph.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/memory.hpp"
#include "vitruvian/core/base/parallel.hpp"
#include "vitruvian/core/composed.hpp"
#include "vitruvian/core/profile.hpp"
#include "vitruvian/nn/init.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

namespace inspect {
namespace {

// One block's tape, inputs before what uses them.
struct Tape {
  Tensor z, output;
  std::vector<Node*> nodes;
  std::unordered_map<const Node*, std::size_t> index;

  Tape(const Block& block, std::size_t layer, const Array& input) : z(input, true) {
    const Scope scope("blocks", layer);
    output = block(z);
    add(output.node());
  }

 private:
  void add(Node& node) {
    for (const Node::Input& input : node.inputs) {
      if (input.node && !index.contains(input.node.get())) add(*input.node);
    }
    index.emplace(&node, nodes.size());
    nodes.push_back(&node);
  }
};

std::string without_prefix(const std::string& path, const std::string& prefix) {
  if (!path.starts_with(prefix)) return path;
  return path.size() == prefix.size() ? "" : path.substr(prefix.size() + 1);
}

std::vector<GraphNode> described(const Tape& tape, const Block& block, std::size_t layer) {
  std::unordered_map<const Node*, std::string> names{{tape.z.node_ptr().get(), "z"}};
  for (const NamedParameter& p : named_parameters(block)) names[p.tensor.node_ptr().get()] = p.name;
  std::vector<GraphNode> result;
  for (Node* const node : tape.nodes) {
    GraphNode g;
    g.op = node->op;
    const auto name = names.find(node);
    g.path = name != names.end() ? name->second
                                 : without_prefix(*node->path, fmt::format("blocks.{}", layer));
    g.parameter = name != names.end() && node != tape.z.node_ptr().get();
    g.shape.assign(node->value.shape().begin(), node->value.shape().end());
    g.bytes = node->value.size() * sizeof(real);
    for (const Node::Input& input : node->inputs) {
      if (input.node) g.inputs.push_back(tape.index.at(input.node.get()));
    }
    result.push_back(std::move(g));
  }
  return result;
}

// What dies with a node's rule is what the rule alone kept.
void find_saved(const Tape& tape, std::vector<GraphNode>& nodes) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::size_t before = memory::released();
    tape.nodes[i]->vjp = {};
    nodes[i].saved = memory::released() - before;
  }
}

// The least of several runs is nearest to what the node costs.
void take_times(const Block& block, std::size_t layer, const Array& input,
                std::vector<GraphNode>& nodes) {
  constexpr int runs = 3;
  const OneThread one;
  for (int run = 0; run < runs; ++run) {
    const Profile profile(true);
    const Tape tape(block, layer, input);
    // At z, so that no parameter's gradient changes; the parameters' are computed all the same.
    grad(tape.output, {tape.z}, full(tape.output.shape(), 1), true);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto found = profile.nodes().find(tape.nodes[i]);
      if (found == profile.nodes().end()) continue;  // a leaf
      const Profile::NodeCost& cost = found->second;
      GraphNode& g = nodes[i];
      const auto least = [run](double a, double b) { return run == 0 ? b : std::min(a, b); };
      g.forward_seconds = least(g.forward_seconds, cost.forward);
      g.backward_seconds = least(g.backward_seconds, cost.backward);
      g.forward_flops = cost.forward_flops;
      g.backward_flops = cost.backward_flops;
    }
  }
}

}  // namespace

BlockGraph block_graph(const VisionTransformer& model, std::size_t layer, std::size_t B,
                       bool composed) {
  const std::size_t L = model.config.L;
  if (layer >= L) fail(Exit::usage, "layer {}: there are {}, from 0 to {}", layer, L, L - 1);
  const Block& block = model.blocks[layer];
  const Composed form(composed);
  const Tensor z(zeros({B, model.config.T(), model.config.D}));
  init::normal(z, Rng(1), 1);
  BlockGraph graph;
  graph.layer = layer;
  {
    const Tape tape(block, layer, z.value());
    graph.nodes = described(tape, block, layer);
    find_saved(tape, graph.nodes);
  }
  take_times(block, layer, z.value(), graph.nodes);
  return graph;
}

}  // namespace inspect

namespace {

bool is_leaf(const GraphNode& node) { return node.inputs.empty(); }

std::string title(const GraphNode& node) {
  if (is_leaf(node)) return node.path;
  return node.path.empty() ? node.op : node.op + " in " + node.path;
}

std::string kilobytes(std::uint64_t bytes) {
  return bytes == 0 ? "-" : fmt::format("{:.1f}", static_cast<double>(bytes) / 1e3);
}
std::string millions(std::uint64_t flops) {
  return flops == 0 ? "-" : fmt::format("{:.2f}", static_cast<double>(flops) / 1e6);
}

template <class Value>
std::uint64_t total(const std::vector<GraphNode>& nodes, const Value& value) {
  return std::accumulate(nodes.begin(), nodes.end(), std::uint64_t{0},
                         [&](std::uint64_t sum, const GraphNode& n) { return sum + value(n); });
}

}  // namespace

std::uint64_t BlockGraph::kept_bytes() const {
  return total(nodes, [](const GraphNode& n) { return (n.parameter ? 0 : n.bytes) + n.saved; });
}

std::string BlockGraph::to_dot() const {
  std::string text = fmt::format(
      "digraph block_{} {{\n  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n", layer);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const GraphNode& n = nodes[i];
    std::string label = title(n) + "\\n" + shape_text(n.shape) + "\\n" + kilobytes(n.bytes) + " kB";
    if (n.saved > 0) label += " + " + kilobytes(n.saved) + " saved";
    if (n.forward_flops > 0) label += "\\n" + millions(n.forward_flops) + " MFLOP";
    if (!is_leaf(n)) label += fmt::format("\\n{:.3f} ms", 1e3 * n.forward_seconds);
    text += fmt::format("  n{} [label=\"{}\"{}];\n", i, label,
                        n.parameter ? ", shape=ellipse, style=dashed" : "");
    for (const std::size_t from : n.inputs) text += fmt::format("  n{} -> n{};\n", from, i);
  }
  return text + "}\n";
}

std::string BlockGraph::to_text() const {
  std::size_t widest = 4;
  for (const GraphNode& n : nodes) widest = std::max(widest, title(n).size());
  std::string text =
      fmt::format("{:>4}  {:{}}  {:20}  {:12}  {:>9}  {:>9}  {:>8}  {:>8}  {:>8}  {:>8}\n", "node",
                  "what", widest, "shape", "from", "kB", "saved kB", "MFLOP", "back", "ms", "back");
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const GraphNode& n = nodes[i];
    const auto ms = [&](double seconds) {
      return is_leaf(n) ? "-" : fmt::format("{:.3f}", 1e3 * seconds);
    };
    text += fmt::format("{:>4}  {:{}}  {:20}  {:12}  {:>9}  {:>9}  {:>8}  {:>8}  {:>8}  {:>8}\n", i,
                        title(n), widest, shape_text(n.shape), joined(n.inputs, " "),
                        kilobytes(n.bytes), kilobytes(n.saved), millions(n.forward_flops),
                        millions(n.backward_flops), ms(n.forward_seconds), ms(n.backward_seconds));
  }
  text += "\nbackward keeps alive:\n";
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].parameter) order.push_back(i);
  }
  const auto kept = [&](std::size_t i) { return nodes[i].bytes + nodes[i].saved; };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return kept(a) > kept(b); });
  for (const std::size_t i : order) {
    text += fmt::format("{:>12} kB  {}\n", kilobytes(kept(i)), title(nodes[i]));
  }
  text += fmt::format(
      "{:>12} kB  in all, and {} kB of parameters\n", kilobytes(kept_bytes()),
      kilobytes(total(nodes, [](const GraphNode& n) { return n.parameter ? n.bytes : 0; })));
  return text;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
