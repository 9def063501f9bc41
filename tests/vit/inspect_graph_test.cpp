// The graph of one block: what the equations put on the tape, counted by hand.

#include "tests/expect.hpp"
#include "tests/vit/vit_testing.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/memory.hpp"
#include "vitruvian/core/composed.hpp"
#include "vitruvian/core/kernels/kernels.hpp"
#include "vitruvian/vit/inspect/graph.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string_view>
#include <vector>

using namespace vitruvian;

namespace {

const GraphNode& find(const BlockGraph& graph, std::string_view op, std::string_view path) {
  const auto found = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                                  [&](const GraphNode& n) { return n.op == op && n.path == path; });
  REQUIRE_MESSAGE(found != graph.nodes.end(), op << " in " << path);
  return *found;
}

}  // namespace

TEST_CASE("the graph of a block holds its equations, their sizes and their products") {
  const VisionTransformer model = tiny_vit_of_order_one(Rng(1));
  const std::size_t B = 3, T = 5, D = 8, M = 12;
  const BlockGraph graph = inspect::block_graph(model, 1, B);
  std::size_t parameters = 0, leaves = 0;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode& n = graph.nodes[i];
    for (const std::size_t from : n.inputs) CHECK(from < i);
    parameters += n.parameter ? n.bytes : 0;
    leaves += n.inputs.empty() ? 1 : 0;
    CHECK(n.bytes == sizeof(real) * std::accumulate(n.shape.begin(), n.shape.end(), std::size_t{1},
                                                    std::multiplies<>()));
    if (!n.inputs.empty()) CHECK(n.forward_seconds > 0);
    if (!n.inputs.empty()) CHECK(n.backward_seconds > 0);
  }
  CHECK(parameters == sizeof(real) * count_parameters(model.blocks[1]));
  CHECK(leaves == 13);  // z and twelve parameters
  CHECK(graph.nodes.size() - leaves == 9);
  CHECK(graph.nodes.back().op == std::string("add"));
  CHECK(graph.nodes.back().shape == std::vector<std::size_t>{B, T, D});

  const GraphNode& qkv = find(graph, "linear", "attn.qkv");
  CHECK(qkv.shape == std::vector<std::size_t>{B, T, 3 * D});
  CHECK(qkv.forward_flops == 2 * B * T * D * 3 * D);
  CHECK(qkv.backward_flops == 2 * qkv.forward_flops);  // by x and by W
  CHECK(find(graph, "self_attention", "attn").forward_flops == 2 * 2 * B * T * T * D);
  CHECK(find(graph, "linear_gelu", "mlp.fc1").forward_flops == 2 * B * T * D * M);
  CHECK(find(graph, "layer_norm", "norm1").saved == sizeof(real) * B * T * 2);  // mean, deviation
  // P, a key's weights in whole vectors
  const std::size_t row = kernels::attention_row<real>({.T = T});
  CHECK(row >= T);
  CHECK(row < T + 64 / sizeof(real));
  CHECK(find(graph, "self_attention", "attn").saved == sizeof(real) * B * 2 * T * row);
  CHECK(find(graph, "linear_gelu", "mlp.fc1").saved == sizeof(real) * B * T * M);  // GELU's slope
  CHECK(find(graph, "add", "").saved == 0);
}

TEST_CASE("the ledger adds up to what dies with the tape") {
  for (const bool composed : {false, true}) {
    CAPTURE(composed);
    const VisionTransformer model = tiny_vit_of_order_one(Rng(1));
    const BlockGraph graph = inspect::block_graph(model, 0, 2, composed);
    const Composed form(composed);
    Tensor y = model.blocks[0](Tensor(random_normal({2, 5, 8}, 4), true));
    const std::size_t before = memory::released();
    y = Tensor();
    CHECK(graph.kept_bytes() == memory::released() - before);
    for (const NamedParameter& p : named_parameters(model)) CHECK(p.tensor.grad() == nullptr);
  }
}

TEST_CASE("a graph as DOT and as text") {
  BlockGraph graph;
  graph.layer = 2;
  graph.nodes = {
      {.op = "leaf", .path = "z", .shape = {2, 3}, .inputs = {}, .bytes = 24'000},
      {.op = "leaf", .path = "W", .shape = {3}, .inputs = {}, .parameter = true, .bytes = 12'000},
      {.op = "mul",
       .path = "norm1",
       .shape = {2, 3},
       .inputs = {0, 1},
       .bytes = 24'000,
       .saved = 8'000,
       .forward_flops = 5'000'000,
       .forward_seconds = 1e-3}};
  CHECK(graph.kept_bytes() == 56'000);
  CHECK(graph.to_dot() ==
        "digraph block_2 {\n"
        "  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n"
        "  n0 [label=\"z\\n(2, 3)\\n24.0 kB\"];\n"
        "  n1 [label=\"W\\n(3)\\n12.0 kB\", shape=ellipse, style=dashed];\n"
        "  n2 [label=\"mul in norm1\\n(2, 3)\\n24.0 kB + 8.0 saved\\n5.00 MFLOP\\n1.000 ms\"];\n"
        "  n0 -> n2;\n"
        "  n1 -> n2;\n"
        "}\n");
  const std::string text = graph.to_text();
  CHECK(text.find("32.0 kB  mul in norm1\n        24.0 kB  z\n        56.0 kB  in all, and 12.0 kB "
                  "of parameters") != std::string::npos);
  const VisionTransformer model = tiny_vit_of_order_one(Rng(1));
  CHECK_FAILS_WITH(inspect::block_graph(model, 2), "layer 2: there are 2, from 0 to 1");
}
