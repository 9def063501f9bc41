// What PyTorch and torchvision compute in float64, against what we compute: layers, their modules
// argument for argument, and optimizers.

#include "tests/golden.hpp"
#include "vitruvian/core/check/gradcheck.hpp"
#include "vitruvian/core/composed.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/nn/layers.hpp"
#include "vitruvian/nn/optim.hpp"
#include "vitruvian/nn/torch/mlp.hpp"
#include "vitruvian/nn/torch/multihead_attention.hpp"

#include <limits>

using namespace vitruvian;

namespace {

using golden::difference;
using golden::Json;
using Tensors = std::vector<Tensor>;

// Values of all outputs, and the gradients of sum(output * cotangent) over all of them.
template <class Module>
void check(const Module& module, const Json& c,
           const std::function<Tensors(const Tensors&)>& forward) {
  Tensors inputs;
  for (const Json& input : c["inputs"]) inputs.emplace_back(golden::tensor(input), true);
  Tensors leaves = inputs;
  std::vector<Array> expected;
  for (const Json& g : c["input_gradients"]) expected.push_back(golden::tensor(g));
  const std::vector<NamedParameter> parameters = named_parameters(module);
  REQUIRE(parameters.size() == c["parameters"].size());
  for (const NamedParameter& p : parameters) {
    CAPTURE(p.name);
    p.tensor.mutable_value() = golden::tensor(c["parameters"][p.name]);
    leaves.push_back(p.tensor);
    expected.push_back(golden::tensor(c["gradients"][p.name]));
  }
  const Tensors outputs = forward(inputs);
  REQUIRE(outputs.size() == c["outputs"].size());
  Tensor total(scalar(0));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    CAPTURE(i);
    CHECK(difference(outputs[i].value(), golden::tensor(c["outputs"][i])) <= 1e-12);
    total = total + sum(outputs[i] * Tensor(golden::tensor(c["cotangents"][i])));
  }
  const std::vector<Array> gradients = grad(total, leaves);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    CAPTURE(i);
    CHECK(difference(gradients[i], expected[i]) <= 1e-12);
  }
}

template <class Module>
void check(const Module& module, const Json& c) {
  check(module, c, [&](const Tensors& x) { return Tensors{module(x[0])}; });
}

// Holds one golden module of the given kinds after the other: checks[kind](case, options, sizes).
using Sizes = std::vector<std::size_t>;
using Seen = std::map<std::string, int>;
using Check = std::function<void(const Json& c, const Json& options, const Sizes& sizes)>;
Seen check_cases(const std::map<std::string, Check>& checks) {
  Seen seen;
  for (const Json& c : golden::read("modules.json")["cases"]) {
    const auto name = c["module"].get<std::string>();
    if (!checks.contains(name)) continue;
    const Json options = c["options"];
    CAPTURE(name);
    CAPTURE(options.dump());
    ++seen[name];
    checks.at(name)(c, options,
                    options.value(options.contains("widths") ? "widths" : "sizes", Sizes{}));
  }
  return seen;
}

TEST_CASE("layers have PyTorch's values and gradients") {
  const Rng rng(1);
  const Seen seen = check_cases({
      {"linear",
       [&](const Json& c, const Json& options, const Sizes& n) {
         check(Linear(n[0], n[1], rng, options.value("bias", true)), c);
       }},
      {"layer_norm",
       [&](const Json& c, const Json& options, const Sizes& n) {
         check(LayerNorm(Shape(n.begin(), n.end()), options["eps"], options.value("affine", true),
                         options.value("bias", true)),
               c);
       }},
      {"mlp",
       [&](const Json& c, const Json& options, const Sizes& n) {
         check(Mlp(n[0], n[1], rng, 0, {options["tanh"].get<bool>()}), c);
       }},
      {"attention",
       [&](const Json& c, const Json&, const Sizes& n) {
         for (const bool textbook : {false, true}) {
           CAPTURE(textbook);
           const Composed which(textbook);
           check(MultiHeadSelfAttention(n[0], n[1], rng), c);
         }
       }},
  });
  CHECK(seen == Seen{{"linear", 2}, {"layer_norm", 4}, {"mlp", 2}, {"attention", 3}});
}

TEST_CASE("MultiheadAttention is PyTorch's with every argument, MLP torchvision's") {
  static const std::map<std::string, Activation> activations{
      {"relu", Activation::relu}, {"gelu", Activation::gelu}, {"tanh", Activation::tanh}};
  const Seen seen = check_cases({
      {"MLP",
       [](const Json& c, const Json& options, const Sizes& widths) {
         check(MLP(4, widths, Rng(1),
                   {.norm = options["norm"].get<bool>(),
                    .activation = activations.at(options["activation"].get<std::string>()),
                    .bias = options["bias"].get<bool>()}),
               c);
       }},
      {"MultiheadAttention",
       [](const Json& c, const Json& options, const Sizes&) {
         const MultiheadAttention module(8, 2, Rng(1),
                                         {.bias = options.value("bias", true),
                                          .add_bias_kv = options.value("add_bias_kv", false),
                                          .add_zero_attn = options.value("add_zero_attn", false),
                                          .kdim = options.value("kdim", std::size_t{0}),
                                          .vdim = options.value("vdim", std::size_t{0}),
                                          .batch_first = options.value("batch_first", false)});
         check(module, c, [&](const Tensors& x) {
           const MultiheadAttention::Result result = module(x[0], x[1], x[2]);
           const Tensor fused = module(x[0], x[1], x[2], {}, false).output;
           CHECK(difference(fused.value(), result.output.value()) <= 1e-12);
           return Tensors{result.output, result.weights};
         });
       }},
  });
  CHECK(seen == Seen{{"MultiheadAttention", 5}, {"MLP", 4}});
}

TEST_CASE("MultiheadAttention refuses what does not fit, whether weights are asked for or not") {
  const auto given_NaN = std::numeric_limits<double>::quiet_NaN();
  const Rng rng(1);
  const Tensor q(zeros({3, 2, 4})), k(zeros({5, 1, 4})), v(zeros({5, 2, 4}));
  for (const bool need_weights : {false, true}) {
    const MultiheadAttention module(4, 2, Rng(1), {});
    CHECK_FAILS_WITH(
        module(q, k, k, {}, need_weights),
        "query (3, 2, 4), key (5, 1, 4) and value (5, 1, 4) are not of as many images");
    CHECK_FAILS_WITH(module(q, v, k, {}, need_weights), "are not of as many images");
    for (const double dropout : {-2.0, given_NaN}) {
      const MultiheadAttention drops(4, 2, Rng(1), {.dropout = dropout});
      CHECK_FAILS_WITH(drops(q, v, v, {.rng = &rng}, need_weights), "dropout");
    }
  }
}

TEST_CASE("their dropout needs a generator; the weights are those before it") {
  const MultiheadAttention attention(8, 2, Rng(1), {.dropout = 0.5, .batch_first = true});
  const MLP mlp(8, {6, 4}, Rng(1), {.dropout = 0.5});
  const Tensor x(random_normal({2, 5, 8}, 3));
  const Rng rng(4);
  const auto plain = MultiheadAttention(8, 2, Rng(1), {.batch_first = true})(x, x, x);
  const auto dropped = attention(x, x, x, {.rng = &rng});
  CHECK(difference(attention(x, x, x).output.value(), plain.output.value()) == 0);
  CHECK(difference(dropped.output.value(), plain.output.value()) > 1e-2);
  CHECK(difference(dropped.weights.value(), plain.weights.value()) == 0);
  CHECK_FALSE(attention(x, x, x, {}, false).weights);
  const Array plain_mlp = MLP(8, {6, 4}, Rng(1), {})(x).value();
  CHECK(difference(mlp(x).value(), plain_mlp) == 0);
  CHECK(difference(mlp(x, {.rng = &rng}).value(), plain_mlp) > 1e-2);
}

TEST_CASE("what is not said is PyTorch's: relu, biases, no dropout, the batch second") {
  const MLP mlp(4, {3, 2}, Rng(1), {});
  CHECK(mlp.activation == Activation::relu);
  CHECK(mlp.norms.empty());
  CHECK(mlp.dropout.p == 0);
  CHECK((mlp.linears[0].bias && mlp.linears[1].bias));
  const MultiheadAttention attention(8, 2, Rng(1), {});
  CHECK_FALSE(attention.batch_first);
  CHECK_FALSE(attention.add_zero_attn);
  CHECK(attention.dropout == 0);
  CHECK((attention.in_proj_bias && attention.out_proj.bias));
  CHECK_FALSE((attention.bias_k || attention.bias_v));
}

TEST_CASE("what cannot be is refused") {
  CHECK_FAILS_WITH(MultiheadAttention(8, 3, Rng(1), {}), "3 heads do not divide a width D of 8");
  const MultiheadAttention attention(8, 2, Rng(1), {});
  const Tensor flat(zeros({5, 8}));
  CHECK_FAILS_WITH(attention(flat, flat, flat), "attention: input (5, 8) is not (T, B, D)");
  CHECK_FAILS_WITH(MLP(4, {}, Rng(1), {}), "mlp: no widths");
}

// --- optimizers --------------------------------------------------------------------------------

Role role_of(const std::string& name) {
  static const std::map<std::string, Role> roles{
      {"weight", Role::weight}, {"bias", Role::bias}, {"norm", Role::norm}};
  return roles.at(name);
}

double rate(const Json& run, std::size_t step, std::size_t steps) {
  const auto name = run.at("schedule").get<std::string>();
  const auto warmup = run.at("warmup").get<std::size_t>();
  if (name == "cosine") return cosine_schedule(step, steps, warmup);
  if (name == "linear") return linear_schedule(step, steps, warmup);
  return constant_schedule(step, steps, warmup);
}

template <class Optimizer>
void follow(Optimizer optimizer, const Json& file, const Json& run) {
  const auto steps = file.at("steps").get<std::size_t>();
  if (run.contains("factors")) {
    std::map<std::string, double> factors;
    for (const auto& [name, factor] : run.at("factors").items()) factors[name] = factor;
    optimizer.set_rate_factors(factors);
  }
  const double clip = run.at("clip").is_null() ? std::numeric_limits<double>::infinity()
                                               : run.at("clip").get<double>();
  for (std::size_t step = 0; step < steps; ++step) {
    CAPTURE(step);
    const Json& gradients = file.at("gradients")[step];
    optimizer.zero_grad();
    for (const NamedParameter& p : optimizer.parameters()) {
      if (gradients.contains(p.name)) p.tensor.set_grad(golden::tensor(gradients.at(p.name)));
    }
    const double lr = file.at("base_lr").get<double>() * rate(run, step, steps);
    CHECK(std::abs(lr - run.at("lr")[step].get<double>()) <= 1e-14);
    const double norm = run.at("norm")[step].get<double>();
    CHECK(std::abs(clip_grad_norm(optimizer.parameters(), clip) - norm) <= 1e-14 * norm);
    optimizer.step(lr);
    for (const NamedParameter& p : optimizer.parameters()) {
      CAPTURE(p.name);
      const Array golden = golden::tensor(run.at("parameters")[step].at(p.name));
      CHECK(difference(p.tensor.value(), golden) <= 1e-11);
    }
  }
}

TEST_CASE("20 steps of every optimizer, with schedules and clipping, are PyTorch's") {
  Seen seen;
  for (const Json& file : golden::read("modules.json")["optimizers"]) {
    CHECK(file["steps"].get<int>() == 20);
    for (const Json& run : file.at("runs")) {
      std::vector<NamedParameter> parameters;
      for (const auto& [name, value] : file.at("start").items()) {
        const Role role = role_of(file.at("roles").at(name).get<std::string>());
        parameters.push_back({name, role, Tensor(golden::tensor(value), true)});
      }
      const auto optimizer = run.at("optimizer").get<std::string>();
      ++seen[optimizer];
      const Json& options = run.at("options");
      CAPTURE(optimizer);
      CAPTURE(options.dump());
      const double decay =
          options.value("weight_decay", optimizer == "adamw" || optimizer == "muon" ? 0.01 : 0.0);
      const Roles undecayed = run.at("undecayed").empty() ? Roles{} : all_but_weights;
      const auto betas = options.value("betas", std::vector<double>{0.9, 0.999});
      const double eps = options.value("eps", 1e-8);
      if (optimizer == "sgd") {
        follow(SGD(parameters, {options.value("momentum", 0.0), options.value("nesterov", false),
                                decay, undecayed}),
               file, run);
      } else if (optimizer == "adam") {
        follow(Adam(parameters, {betas[0], betas[1], eps, decay, undecayed}), file, run);
      } else if (optimizer == "muon") {
        follow(Muon(parameters, {.momentum = options.value("momentum", 0.95),
                                 .nesterov = options.value("nesterov", true),
                                 .weight_decay = decay,
                                 .undecayed = undecayed}),
               file, run);
      } else {
        REQUIRE(optimizer == "adamw");
        follow(AdamW(parameters, {betas[0], betas[1], eps, decay, undecayed}), file, run);
      }
    }
  }
  CHECK(seen == Seen{{"sgd", 5}, {"adam", 3}, {"adamw", 4}, {"muon", 3}});
}

}  // namespace
