// Looking inside with derivatives: PyTorch's numbers, linear models, the completeness of integrated
// gradients; and the graph of one block: what the equations put on the tape, counted by hand.

#include "tests/vit/vit_testing.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/memory.hpp"
#include "vitruvian/core/composed.hpp"
#include "vitruvian/core/kernels/kernels.hpp"
#include "vitruvian/vit/inspect/gradients.hpp"
#include "vitruvian/vit/inspect/graph.hpp"

using namespace vitruvian;
using golden::difference;

namespace {

const GraphNode& find(const BlockGraph& graph, std::string_view op, std::string_view path) {
  const auto found = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                                  [&](const GraphNode& n) { return n.op == op && n.path == path; });
  REQUIRE_MESSAGE(found != graph.nodes.end(), op << " in " << path);
  return *found;
}

}  // namespace

TEST_CASE("gradients, integrated gradients and gradient rollout are PyTorch's") {
  const GoldenVit vit;
  CHECK(inspect::most_probable(golden::tensor(vit.json.at("logits"))) == vit.targets);
  CHECK(vit.off("input_gradient", inspect::input_gradient(vit.model, vit.images)) <
        golden_tolerance);
  CHECK(vit.off("gradient_rollout", inspect::gradient_rollout(vit.model, vit.images)) <
        golden_tolerance);
  std::size_t last = 0;
  const auto ig =
      inspect::integrated_gradients(vit.model, vit.images, full({2, 8, 8}, real(-0.5)), 8, {},
                                    [&](std::size_t done) { CHECK(done == ++last); });
  CHECK(last == 8);
  CHECK(ig.targets == vit.targets);
  CHECK(vit.off("integrated", ig.attributions) < golden_tolerance);
  const Array difference_of_logits = array({3}, ig.difference);
  CHECK(vit.off("difference", difference_of_logits) < golden_tolerance);
  // Another class has another gradient.
  inspect::Targets others = vit.targets;
  for (std::size_t& k : others) k = (k + 1) % 3;
  CHECK(vit.off("input_gradient", inspect::input_gradient(vit.model, vit.images, others)) > 0.1);
}

TEST_CASE("rollouts of a model without a class token are those of a plain loop") {
  const golden::Json known = golden::read("vit.json")["inside"]["mean_pooled"];
  const golden::Json drawn = golden::read("switches.json");
  const VisionTransformer model(ViTConfig::from_json(known.at("config").dump()), Rng(1));
  fill(named_parameters(model), drawn.at("pool").at("values").get<std::vector<double>>());
  const Array images = golden::tensor(drawn.at("images"));
  const auto off = [&](const char* name, const Array& rollout) {
    std::vector<double> all;
    for (const golden::Json& image : known.at(name)) {
      for (const golden::Json& share : image) all.push_back(share.get<double>());
    }
    return difference(inspect::shares_of_patches(rollout, model.config), array({3, 2, 3}, all));
  };
  CHECK(off("rollout", inspect::rollout(inspect::attention(model, images))) < golden_tolerance);
  CHECK(off("gradient_rollout", inspect::gradient_rollout(model, images)) < golden_tolerance);
}

TEST_CASE("parameters keep their gradients, and are frozen or not as before") {
  const VisionTransformer model = tiny_vit_of_order_one(Rng(1));
  const std::vector<NamedParameter> all = named_parameters(model);
  const Tensor images = images_for(model.config, 2, 3);
  sum(model(images)).backward();
  const Array before = *model.head.weight.grad();
  all[2].tensor.set_requires_grad(false);
  inspect::input_gradient(model, images.value());
  CHECK(difference(*model.head.weight.grad(), before) == 0);
  CHECK_FAILS_WITH(inspect::input_gradient(model, images.value(), {0, 3}), "class 3: there are 3");
  CHECK_FAILS_WITH(inspect::input_gradient(model, images.value(), {0}), "1 target classes for 2");
  for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i].tensor.requires_grad() == (i != 2));
}

TEST_CASE("attributions sum to the difference of the logits, the better the more steps") {
  const GoldenVit vit;
  const Array black = full({2, 8, 8}, real(-0.5));
  const auto with = [&](std::size_t steps) {
    return inspect::integrated_gradients(vit.model, vit.images, black, steps);
  };
  const double at_20 = with(20).incompleteness();
  const double at_100 = with(100).incompleteness();
  INFO(at_20 << " and " << at_100);
  CHECK(at_100 < 1e-3);
  if (in_double) CHECK(at_100 < at_20 / 15);  // the midpoint rule's error goes with steps^-2
  inspect::IntegratedGradients wrong = with(100);
  wrong.sum[1] *= 1.1;
  CHECK(wrong.incompleteness() == doctest::Approx(0.1).epsilon(0.05));
  wrong.sum[0] = NAN;
  CHECK(std::isnan(wrong.incompleteness()));
  wrong.sum = wrong.difference = {0, 0};
  CHECK(wrong.incompleteness() == 0);
  CHECK_FAILS_WITH(with(0), "at least one step");
  CHECK_FAILS_WITH(inspect::integrated_gradients(vit.model, vit.images, zeros({2, 8, 4}), 3),
                   "a baseline of shape (2, 8, 4)");
}

TEST_CASE("SmoothGrad is a mean of gradients, its noise a share of each image's own range") {
  const GoldenVit vit;
  const std::size_t size = vit.images.size() / 3;
  Array images = vit.images;  // the others five times as wide
  for (std::size_t i = size; i < images.size(); ++i) images.data()[i] *= 5;
  const inspect::Targets targets{0, 2, 1};
  Array expected = zeros(images.shape());
  for (std::uint64_t k = 0; k < 3; ++k) {
    Array noisy = images;
    for (std::size_t i = 0; i < noisy.size(); ++i) {
      const real* const image = images.data() + i / size * size;
      const double range =
          *std::max_element(image, image + size) - *std::min_element(image, image + size);
      noisy.data()[i] += static_cast<real>(0.2 * range * Rng(7).fork("smooth_grad", {k}).normal(i));
    }
    const Array g = inspect::input_gradient(vit.model, noisy, targets);
    for (std::size_t i = 0; i < g.size(); ++i) expected.data()[i] += g.data()[i] / 3;
  }
  const Array found = inspect::smooth_grad(vit.model, images, {3, 0.2, 7}, targets);
  CHECK(difference(found, expected) < (in_double ? 1e-12 : 1e-4));
  const Array plain = inspect::input_gradient(vit.model, images, targets);
  CHECK(difference(inspect::smooth_grad(vit.model, images, {4, 0, 1}, targets), plain) < 1e-6);
  CHECK_FAILS_WITH(inspect::smooth_grad(vit.model, images, {0, 0.1, 1}), "at least one sample");
}

TEST_CASE("saliency is the largest magnitude over channels") {
  const Array g = array({1, 2, 1, 3}, {1, -2, 0, -3, 1, 0});
  CHECK(difference(inspect::saliency(g), array({1, 1, 3}, {3, 2, 0})) == 0);
}

TEST_CASE("gradient rollout moves nothing where nothing is attended for") {
  // Without values no attention matters to any logit.
  const VisionTransformer model = tiny_vit_of_order_one(Rng(1));
  const std::size_t D = model.config.D;
  for (const Block& block : model.blocks) {
    for (const Parameter* p : {&block.attn.qkv.weight, &block.attn.qkv.bias}) {
      const WriteGuard value = p->tensor().mutable_value();
      std::fill(value->data() + value->size() * 2 / 3, value->data() + value->size(), real(0));
    }
  }
  REQUIRE(model.blocks[0].attn.qkv.bias.value().size() == 3 * D);
  Array R = inspect::gradient_rollout(model, images_for(model.config, 1, 2).value());
  R.reshape(Shape{5, 5});
  CHECK(largest(R) == 0);
}

TEST_CASE("norms layer by layer are PyTorch's, and in the order of computation") {
  const GoldenVit vit;
  const Layers layers = inspect::layers(vit.model, vit.images, vit.labels);
  CHECK(std::abs(layers.loss - vit.json.at("loss").get<double>()) < golden_tolerance);
  std::size_t found = 0;
  for (const TraceNorms& n : layers.norms) {
    CAPTURE(n.name);
    if (!vit.inside.at("norms").contains(n.name)) continue;
    const auto known = vit.inside.at("norms").at(n.name).get<std::vector<double>>();
    CHECK(std::abs(n.activation / known[0] - 1) < golden_tolerance);
    CHECK(std::abs(n.gradient / known[1] - 1) < 10 * golden_tolerance);
    ++found;
  }
  CHECK(found == vit.inside.at("norms").size());
  CHECK(layers.norms.back().name == "logits");
  CHECK(layers.units.size() == 2);
  for (const NamedParameter& p : named_parameters(vit.model)) CHECK(p.tensor.grad() == nullptr);
}

TEST_CASE("units that are dead, never on and always on are counted") {
  const VisionTransformer model = tiny_vit_of_order_one(Rng(1));
  const Mlp& mlp = model.blocks[1].mlp;
  {
    const WriteGuard weight = mlp.fc1.weight.tensor().mutable_value();
    const WriteGuard bias = mlp.fc1.bias.tensor().mutable_value();
    // Dead (GELU is -1e-4 there), never on, always on, on.
    const double biases[4] = {-4, -0.5, 10, 0.5};
    for (std::size_t u = 0; u < 12; ++u) {
      std::fill_n(weight->data() + u * 8, 8, real(0));
      bias->data()[u] = real(biases[u < 3 ? 0 : u < 5 ? 1 : u < 6 ? 2 : 3]);
    }
  }
  const Tensor images = images_for(model.config, 2, 5);
  const HiddenUnits units = inspect::layers(model, images.value(), {0, 1}).units[1];
  CHECK(units.name == "blocks.1.mlp.hidden");
  CHECK(units.units == 12);
  CHECK(units.dead == 3);
  CHECK(units.never_on == 5);
  CHECK(units.always_on == 1);
  CHECK(units.on == doctest::Approx(7.0 / 12));
}

// --- the graph of one block ----------------------------------------------------------------------

TEST_CASE("the graph of a block holds its equations, their sizes and their products") {
  const VisionTransformer model = tiny_vit_of_order_one(Rng(1));
  const std::size_t B = 3, T = 5, D = 8, M = 12;
  const BlockGraph graph = inspect::block_graph(model, 1, B);
  std::size_t parameters = 0, leaves = 0, taken = 0;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode& n = graph.nodes[i];
    for (const std::size_t from : n.inputs) CHECK(from < i);
    parameters += n.parameter ? n.bytes : 0;
    leaves += n.inputs.empty() ? 1 : 0;
    if (n.bytes == 0) {
      ++taken;
      CHECK(n.op == std::string("linear"));
      CHECK(n.shape == std::vector<std::size_t>{B, T, D});
    } else {
      CHECK(n.bytes == sizeof(real) * std::accumulate(n.shape.begin(), n.shape.end(),
                                                      std::size_t{1}, std::multiplies<>()));
    }
    if (!n.inputs.empty()) CHECK(n.forward_seconds > 0);
    if (!n.inputs.empty()) CHECK(n.backward_seconds > 0);
  }
  CHECK(parameters == sizeof(real) * count_parameters(model.blocks[1]));
  CHECK(taken == 2);    // by the two residuals
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

TEST_CASE("a config's promise of memory is about what the tape of a block keeps") {
  const auto check = [](const std::string& name, auto change) {
    CAPTURE(name);
    ViTConfig c{.H = 32, .W = 32, .P = 4, .D = 32, .L = 1, .h = 2, .M = 128};
    change(c);
    const VisionTransformer model(c, Rng(1));
    const auto kept = static_cast<double>(inspect::block_graph(model, 0, 4).kept_bytes());
    ViTConfig two = c;
    two.L = 2;
    const std::size_t weights = sizeof(real) * 4 * (two.parameters() - c.parameters());
    const auto promised = static_cast<double>(two.training_bytes(4, sizeof(real)) -
                                              c.training_bytes(4, sizeof(real)) - weights);
    CHECK(promised / kept > 0.75);
    CHECK(promised / kept < 1.35);
  };
  check("the paper's", [](ViTConfig&) {});
  check("swiglu", [](ViTConfig& c) { c.swiglu = true; });
  check("qk_norm", [](ViTConfig& c) { c.qk_norm = true; });
  check("layer_scale", [](ViTConfig& c) { c.layer_scale = 1; });
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
        "  n1 [label=\"W\\n(3,)\\n12.0 kB\", shape=ellipse, style=dashed];\n"
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
