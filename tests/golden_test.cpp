// What PyTorch computes in float64, against what we compute: ops, layers, optimizers.

#include "tests/golden.hpp"
#include "core/composed.hpp"
#include "core/ops.hpp"
#include "nn/layers.hpp"
#include "nn/optim.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>

namespace vitruvian::inline VITRUVIAN_PRECISION {
namespace {

using golden::difference;
using golden::Json;
using Tensors = std::vector<Tensor>;
using Op = std::function<Tensor(const Tensors& xs, const Json& attributes)>;

Tensor optional_input(const Tensors& xs, std::size_t i) { return i < xs.size() ? xs[i] : Tensor(); }

Axes axes(const Json& a) { return a.at("axes").get<Axes>(); }
bool keepdim(const Json& a) { return a.at("keepdim").get<bool>(); }

std::vector<std::size_t> labels(const Json& a) {
  return a.at("labels").get<std::vector<std::size_t>>();
}

Shape shape(const Json& a) {
  const auto lengths = a.get<std::vector<std::size_t>>();
  return Shape(lengths.begin(), lengths.end());
}

Reduction reduction(const Json& a) {
  const auto name = a.at("reduction").get<std::string>();
  return name == "mean" ? Reduction::mean : name == "sum" ? Reduction::sum : Reduction::none;
}

// Ops whose arguments are tensors alone.
const std::map<std::string, Tensor (*)(const Tensor&)> unary{{"neg", neg},
                                                             {"exp", exp},
                                                             {"log", log},
                                                             {"sqrt", sqrt},
                                                             {"rsqrt", rsqrt},
                                                             {"square", square},
                                                             {"tanh", tanh},
                                                             {"sigmoid", sigmoid},
                                                             {"erf", erf},
                                                             {"relu", relu},
                                                             {"abs", abs},
                                                             {"gelu", gelu},
                                                             {"gelu_tanh", gelu_tanh}};
const std::map<std::string, Tensor (*)(const Tensor&, const Tensor&)> binary{
    {"add", add},         {"sub", sub},         {"mul", mul},      {"div", div},
    {"maximum", maximum}, {"minimum", minimum}, {"matmul", matmul}};
const std::map<std::string, Tensor (*)(const Tensor&, const Axes&, bool)> reductions{
    {"sum", sum}, {"mean", mean}, {"amax", amax}, {"logsumexp", logsumexp}};

// The others, and how their attributes are called in the file.
const std::map<std::string, Op> others{
    {"pow", [](const Tensors& xs, const Json& a) { return pow(xs[0], a.at("p").get<real>()); }},
    {"clamp",
     [](const Tensors& xs, const Json& a) {
       return clamp(xs[0], a.at("low").get<real>(), a.at("high").get<real>());
     }},
    {"where",
     [](const Tensors& xs, const Json& a) {
       const auto condition = a.at("condition").get<std::vector<double>>();
       return vitruvian::where(array({condition.size()}, condition), xs[0], xs[1]);
     }},
    {"var",
     [](const Tensors& xs, const Json& a) {
       return var(xs[0], axes(a), a.at("correction").get<int>(), keepdim(a));
     }},
    {"linear",
     [](const Tensors& xs, const Json&) { return linear(xs[0], xs[1], optional_input(xs, 2)); }},
    {"transpose",
     [](const Tensors& xs, const Json& a) {
       return transpose(xs[0], a.at("axis0").get<int>(), a.at("axis1").get<int>());
     }},
    {"permute",
     [](const Tensors& xs, const Json& a) { return permute(xs[0], a.at("order").get<Axes>()); }},
    {"reshape",
     [](const Tensors& xs, const Json& a) {
       return reshape(xs[0], a.at("shape").get<std::vector<std::ptrdiff_t>>());
     }},
    {"broadcast_to",
     [](const Tensors& xs, const Json& a) { return broadcast_to(xs[0], shape(a.at("shape"))); }},
    {"slice",
     [](const Tensors& xs, const Json& a) {
       return slice(xs[0], a.at("axis").get<int>(), a.at("start").get<std::ptrdiff_t>(),
                    a.at("stop").get<std::ptrdiff_t>(), a.at("step").get<std::ptrdiff_t>());
     }},
    {"index_select",
     [](const Tensors& xs, const Json& a) {
       return index_select(xs[0], a.at("axis").get<int>(),
                           a.at("indices").get<std::vector<std::size_t>>());
     }},
    {"select",
     [](const Tensors& xs, const Json& a) {
       return select(xs[0], a.at("axis").get<int>(), a.at("i").get<std::ptrdiff_t>());
     }},
    {"concat",
     [](const Tensors& xs, const Json& a) { return concat(xs, a.at("axis").get<int>()); }},
    {"stack", [](const Tensors& xs, const Json& a) { return stack(xs, a.at("axis").get<int>()); }},
    {"unfold",
     [](const Tensors& xs, const Json& a) {
       const auto n = [&a](const char* key) { return a.at(key).get<std::size_t>(); };
       return unfold(xs[0], {n("height"), n("width"), n("stride_y"), n("stride_x"), n("padding_y"),
                             n("padding_x")});
     }},
    {"softmax",
     [](const Tensors& xs, const Json& a) { return softmax(xs[0], a.at("axis").get<int>()); }},
    {"log_softmax",
     [](const Tensors& xs, const Json& a) { return log_softmax(xs[0], a.at("axis").get<int>()); }},
    {"layer_norm",
     [](const Tensors& xs, const Json& a) {
       return layer_norm(xs[0], shape(a.at("normalized_shape")), optional_input(xs, 1),
                         optional_input(xs, 2), a.at("eps").get<double>());
     }},
    {"batch_norm",
     [](const Tensors& xs, const Json& a) {
       return batch_norm(xs[0], xs[1], xs[2], a.at("eps").get<double>());
     }},
    {"conv2d",
     [](const Tensors& xs, const Json& a) {
       return conv2d(xs[0], xs[1], optional_input(xs, 2), a.at("stride").get<std::size_t>(),
                     a.at("padding").get<std::size_t>());
     }},
    {"attention",
     [](const Tensors& xs, const Json& a) {
       std::optional<Array> mask;
       if (a.contains("mask")) mask = golden::tensor(a.at("mask"));
       AttentionOptions options;
       options.mask = mask ? &*mask : nullptr;
       options.bias = optional_input(xs, 3);
       return attention(xs[0], xs[1], xs[2], options);
     }},
    {"self_attention",
     [](const Tensors& xs, const Json& a) {
       AttentionOptions options;
       options.bias = optional_input(xs, 1);
       return self_attention(xs[0], a.at("heads").get<std::size_t>(), options);
     }},
    {"cross_entropy",
     [](const Tensors& xs, const Json& a) {
       const double smoothing = a.at("label_smoothing").get<double>();
       if (!a.contains("targets")) return cross_entropy(xs[0], labels(a), smoothing, reduction(a));
       return cross_entropy(xs[0], golden::tensor(a.at("targets")), smoothing, reduction(a));
     }},
    {"nll_loss",
     [](const Tensors& xs, const Json& a) { return nll_loss(xs[0], labels(a), reduction(a)); }},
    {"mse_loss",
     [](const Tensors& xs, const Json& a) { return mse_loss(xs[0], xs[1], reduction(a)); }},
};

Tensor apply(const std::string& op, const Tensors& xs, const Json& attributes) {
  if (const auto f = unary.find(op); f != unary.end()) return f->second(xs[0]);
  if (const auto f = binary.find(op); f != binary.end()) return f->second(xs[0], xs[1]);
  if (const auto f = reductions.find(op); f != reductions.end()) {
    return f->second(xs[0], axes(attributes), keepdim(attributes));
  }
  return others.at(op)(xs, attributes);
}

TEST_CASE("ops have PyTorch's values and gradients") {
  const Json file = golden::read("ops.json");
  std::map<std::string, int> seen;
  for (const Json& c : file.at("cases")) {
    const auto op = c.at("op").get<std::string>();
    ++seen[op];
    CAPTURE(c.at("name").get<std::string>());
    Tensors xs;
    for (const Json& input : c.at("inputs")) xs.emplace_back(golden::tensor(input), true);
    const Tensor y = apply(op, xs, c.at("attributes"));
    CHECK(difference(y.value(), golden::tensor(c.at("output"))) <= 1e-12);
    const std::vector<Array> gradients = grad(y, xs, golden::tensor(c.at("cotangent")));
    for (std::size_t i = 0; i < xs.size(); ++i) {
      CAPTURE(i);
      CHECK(difference(gradients[i], golden::tensor(c.at("gradients")[i])) <= 1e-12);
    }
  }
  // Every op of the tables above is in the file.
  CHECK(seen.size() == unary.size() + binary.size() + reductions.size() + others.size());
}

// --- layers ------------------------------------------------------------------------------------

template <class Module>
void check_layer(const Module& module, const Json& c) {
  const std::vector<NamedParameter> parameters = named_parameters(module);
  REQUIRE(parameters.size() == c.at("parameters").size());
  for (const NamedParameter& p : parameters) {
    const Array value = golden::tensor(c.at("parameters").at(p.name));
    REQUIRE(value.shape() == p.tensor.shape());
    p.tensor.mutable_value() = value;
  }
  const Tensor x(golden::tensor(c.at("input")), true);
  const Tensor y = module(x);
  CHECK(difference(y.value(), golden::tensor(c.at("output"))) <= 1e-12);
  y.backward(golden::tensor(c.at("cotangent")));
  CHECK(difference(*x.grad(), golden::tensor(c.at("input_gradient"))) <= 1e-12);
  for (const NamedParameter& p : parameters) {
    CAPTURE(p.name);
    REQUIRE(p.tensor.grad() != nullptr);
    const Array golden = golden::tensor(c.at("gradients").at(p.name));
    CHECK(difference(*p.tensor.grad(), golden) <= 1e-12);
  }
}

TEST_CASE("layers have PyTorch's values and gradients") {
  const Json file = golden::read("layers.json");
  const Rng rng(1);
  for (const Json& c : file.at("cases")) {
    const auto layer = c.at("layer").get<std::string>();
    const Json& options = c.at("options");
    CAPTURE(layer);
    CAPTURE(options.dump());
    const auto size = [&options](std::size_t i) {
      return options.at("sizes")[i].get<std::size_t>();
    };
    if (layer == "linear") {
      check_layer(Linear(size(0), size(1), rng, options.value("bias", true)), c);
    } else if (layer == "layer_norm") {
      check_layer(LayerNorm(shape(options.at("normalized_shape")), options.at("eps").get<double>(),
                            options.value("affine", true), options.value("bias", true)),
                  c);
    } else if (layer == "mlp") {
      check_layer(Mlp(size(0), size(1), rng, 0, {options.at("tanh").get<bool>()}), c);
    } else if (layer == "attention") {
      const auto heads = options.at("heads").get<std::size_t>();
      for (const bool composed : {false, true}) {
        CAPTURE(composed);
        check_layer(MultiHeadSelfAttention(size(0), heads, rng, {.composed = composed}), c);
      }
    } else {
      FAIL("an unknown layer");
    }
  }
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
  const Json file = golden::read("optimizers.json");
  for (const Json& run : file.at("runs")) {
    std::vector<NamedParameter> parameters;
    for (const auto& [name, value] : file.at("start").items()) {
      const Role role = role_of(file.at("roles").at(name).get<std::string>());
      parameters.push_back({name, role, Tensor(golden::tensor(value), true)});
    }
    const auto optimizer = run.at("optimizer").get<std::string>();
    const Json& options = run.at("options");
    CAPTURE(optimizer);
    CAPTURE(options.dump());
    const double decay = options.value("weight_decay", optimizer == "adamw" ? 0.01 : 0.0);
    const Roles undecayed = run.at("undecayed").empty() ? Roles{} : all_but_weights;
    const auto betas = options.value("betas", std::vector<double>{0.9, 0.999});
    const double eps = options.value("eps", 1e-8);
    if (optimizer == "sgd") {
      follow(SGD(parameters, {options.value("momentum", 0.0), options.value("nesterov", false),
                              decay, undecayed}),
             file, run);
    } else if (optimizer == "adam") {
      follow(Adam(parameters, {betas[0], betas[1], eps, decay, undecayed}), file, run);
    } else {
      REQUIRE(optimizer == "adamw");
      follow(AdamW(parameters, {betas[0], betas[1], eps, decay, undecayed}), file, run);
    }
  }
}

}  // namespace
}  // namespace vitruvian::inline VITRUVIAN_PRECISION
