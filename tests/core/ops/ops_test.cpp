// What holds for all ops: absent tensors, PyTorch's numbers, the number of threads, their page.

#include "tests/core/ops/ops_testing.hpp"

#include <fstream>
#include <regex>

using namespace vitruvian;

// --- absent tensors ------------------------------------------------------------------------------

TEST_CASE("an absent tensor is refused by every op, with its own name and the argument's") {
  const Tensor none;
  const Tensor x(zeros({2, 3}));
  const Tensor image(zeros({1, 1, 2, 2}));
  const Tensor tokens(zeros({1, 2, 3}));
  const Array c = zeros({2, 3});
  const Rng rng(1);
#define ABSENT(op, argument, call) \
  CHECK_SAYS(call, op ": " argument " is absent; it must be a tensor that has a value")
#define ABSENT_FIRST(op) ABSENT(#op, "x", op(none))  // elementwise_test.cpp has the others
  ABSENT_FIRST(sum);
  ABSENT_FIRST(mean);
  ABSENT_FIRST(var);
  ABSENT_FIRST(amax);
  ABSENT_FIRST(logsumexp);
  ABSENT_FIRST(transpose);
  ABSENT_FIRST(flatten);
  ABSENT_FIRST(softmax);
  ABSENT_FIRST(log_softmax);
  ABSENT("pow", "x", pow(none, real{2}));
  ABSENT("clamp", "x", clamp(none, 0, 1));
  ABSENT("add", "a", none + x);
  ABSENT("add", "b", x + none);
  ABSENT("sub", "b", x - none);
  ABSENT("mul", "a", none * x);
  ABSENT("div", "b", x / none);
  ABSENT("add", "a", none + real{1});
  ABSENT("mul", "a", none * real{2});
  ABSENT("maximum", "b", maximum(x, none));
  ABSENT("minimum", "a", minimum(none, x));
  ABSENT("where", "a", where(c, none, x));
  ABSENT("where", "b", where(c, x, none));
  ABSENT("masked_fill", "x", masked_fill(none, c, 0));
  ABSENT("matmul", "a", matmul(none, x));
  ABSENT("matmul", "b", matmul(x, none));
  ABSENT("permute", "x", permute(none, {0}));
  ABSENT("reshape", "x", reshape(none, {1}));
  ABSENT("squeeze", "x", squeeze(none, 0));
  ABSENT("unsqueeze", "x", unsqueeze(none, 0));
  ABSENT("broadcast_to", "x", broadcast_to(none, {1}));
  ABSENT("pad", "x", pad(none, 0, 1, 1));
  ABSENT("roll", "x", roll(none, 1, 0));
  ABSENT("slice", "x", slice(none, 0, 0, 1));
  ABSENT("index_select", "x", index_select(none, 0, {0}));
  ABSENT("gather", "x", gather(none, 0, {0}));
  ABSENT("embedding", "weight", embedding({0}, none));
  ABSENT("select", "x", select(none, 0, 0));
  ABSENT("split", "x", split(none, {1}, 0));
  ABSENT("concat", "one of the tensors", concat({x, none}, 0));
  ABSENT("stack", "one of the tensors", stack({none}, 0));
  ABSENT("linear", "x", linear(none, x));
  ABSENT("linear", "weight", linear(x, none));
  ABSENT("linear", "x", linear_gelu(none, x));
  ABSENT("linear", "weight", linear_gelu(x, none));
  ABSENT("layer_norm", "x", layer_norm(none, {3}, {}, {}, 1e-6));
  ABSENT("batch_norm", "x", batch_norm(none, {}, {}, 1e-6));
  ABSENT("dropout", "x", dropout(none, 0.5, rng));
  ABSENT("stochastic_depth", "x", stochastic_depth(none, 0.5, rng));
  ABSENT("unfold", "x", unfold(none, {1, 1}));
  ABSENT("conv2d", "x", conv2d(none, image, {}));
  ABSENT("conv2d", "weight", conv2d(image, none, {}));
  ABSENT("avg_pool2d", "x", avg_pool2d(none, 2));
  ABSENT("max_pool2d", "x", max_pool2d(none, 2));
  ABSENT("attention", "q", attention(none, x, x));
  ABSENT("attention", "k", attention(x, none, x));
  ABSENT("attention", "v", attention(x, x, none));
  ABSENT("multi_head_attention", "k", multi_head_attention(tokens, none, tokens, 1));
  ABSENT("self_attention", "qkv", self_attention(none, 1));
  ABSENT("cross_entropy", "logits", cross_entropy(none, {0}));
  ABSENT("cross_entropy", "logits", cross_entropy(none, c));
  ABSENT("cross_entropy", "logits", cross_entropy(none, {0}, {.ignore_index = 0}));
  ABSENT("nll_loss", "log_probabilities", nll_loss(none, {0}));
  ABSENT("bce_with_logits", "logits", bce_with_logits(none, c));
  ABSENT("mse_loss", "a", mse_loss(none, x));
  ABSENT("mse_loss", "b", mse_loss(x, none));
#undef ABSENT_FIRST
#undef ABSENT
}

// --- all of them ---------------------------------------------------------------------------------

TEST_CASE("ops have PyTorch's values and gradients" * doctest::skip(!in_double)) {
  const Json file = golden::read("ops.json");
  std::set<std::string> seen;
  for (const Json& c : file["cases"]) {
    const std::string op = c["op"].get<std::string>();
    seen.insert(op);
    CAPTURE(c["name"].get<std::string>());
    Tensors xs;
    for (const Json& input : c["inputs"]) xs.emplace_back(golden::tensor(input), true);
    REQUIRE_MESSAGE(Golden::ops().contains(op), op,
                    " is in ops.json and in no `Golden` of tests/core/ops/");
    const Tensor y = Golden::ops().at(op)(xs, c["attributes"]);
    CHECK(golden::difference(y.value(), golden::tensor(c["output"])) <= 1e-12);
    const std::vector<Array> gradients = grad(y, xs, golden::tensor(c["cotangent"]));
    for (std::size_t i = 0; i < xs.size(); ++i) {
      CAPTURE(i);
      CHECK(golden::difference(gradients[i], golden::tensor(c["gradients"][i])) <= 1e-12);
    }
  }
  for (const auto& one : Golden::ops()) {
    const std::string& op = one.first;
    CHECK_MESSAGE(seen.count(op) == 1, op, " is not in ops.json: tests/golden/make_golden.py ops");
  }
}

TEST_CASE("the number of threads does not change a bit of any fused op") {
  const Rng rng(6);
  const std::vector<Array> values{random_normal({70, 3, 12, 12}, 1), random_normal({96, 27}, 2),
                                  random_normal({96}, 3), random_normal({16, 32, 2, 2}, 4)};
  // Every fused op once, at sizes that are cut into several pieces.
  const auto run = [&] {
    Tensors xs;
    for (const Array& value : values) xs.emplace_back(value, true);
    Tensor z = linear(unfold(xs[0], {3, 3, 3, 3}), xs[1], xs[2]);  // (70, 16, 96)
    z = layer_norm(dropout(z, 0.1, rng), {96}, xs[2], {}, 1e-6);
    z = z + gelu(z);
    z = self_attention(z, 4, {.dropout = 0.1, .rng = &rng});     // (70, 16, 32)
    z = conv2d(reshape(gelu(z), {70, 32, 4, 4}), xs[3], {}, 1);  // (70, 16, 3, 3)
    z = batch_norm(softmax(gelu_tanh(z), 1), {}, {}, 1e-3);
    const Tensor loss = cross_entropy(reshape(z, {70, 144}), std::vector<std::size_t>(70, 5), 0.1);
    std::vector<Array> results = grad(loss, xs);
    results.push_back(loss.value());
    return results;
  };
  const Threads restore(1);
  const std::vector<Array> expected = run();
  for (const std::size_t n : {2, 3, 4, 8}) {
    set_threads(n);
    const std::vector<Array> results = run();
    for (std::size_t i = 0; i < results.size(); ++i) {
      INFO("n ", n, ", i ", i);
      CHECK(std::equal(results[i].begin(), results[i].end(), expected[i].begin()));
    }
  }
}

TEST_CASE("docs/ops.md has a line for every op of ops.hpp, and for nothing else") {
  const auto names = [](const std::string& file, const std::regex& line_with_a_name) {
    std::ifstream in(std::string(VITRUVIAN_TEST_DATA) + "/../" + file);
    REQUIRE(in.is_open());
    std::set<std::string> found;
    for (std::string line; std::getline(in, line);) {
      std::smatch match;
      if (std::regex_search(line, match, line_with_a_name)) found.insert(match[1]);
    }
    return found;
  };
  const std::set<std::string> declared =
      names("core/ops.hpp", std::regex(R"(^(?:std::vector<Tensor>|[A-Z]\w*) (\w+)\()"));
  const std::set<std::string> listed = names("docs/ops.md", std::regex(R"(^\| `(\w+)\()"));
  CHECK(declared.size() > 70);
  for (const std::string& op : declared) CHECK_MESSAGE(listed.contains(op), op);
  for (const std::string& op : listed) CHECK_MESSAGE(declared.contains(op), op);
}
