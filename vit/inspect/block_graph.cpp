#include "vitruvian/vit/inspect/block_graph.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace vitruvian {
namespace {

std::string shape_of(const GraphNode& node) {
  return fmt::format("({})", fmt::join(node.shape, ", "));
}

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
    std::string label = title(n) + "\\n" + shape_of(n) + "\\n" + kilobytes(n.bytes) + " kB";
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
                        title(n), widest, shape_of(n), fmt::format("{}", fmt::join(n.inputs, " ")),
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

}  // namespace vitruvian
