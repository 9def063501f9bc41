// What PyTorch computes in float64, against what we compute: layers and optimizers.

#include "tests/golden.hpp"
#include "vitruvian/nn/layers.hpp"
#include "vitruvian/nn/optim.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <map>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

using golden::difference;
using golden::Json;
Shape shape(const Json& a) {
  const auto lengths = a.get<std::vector<std::size_t>>();
  return Shape(lengths.begin(), lengths.end());
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
}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
