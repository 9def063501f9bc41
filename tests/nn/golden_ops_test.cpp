// What PyTorch computes in float64, against what we compute: the ops.

#include "tests/golden.hpp"
#include "vitruvian/core/ops.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

using golden::difference;
using golden::Json;
using Tensors = std::vector<Tensor>;
using Op = std::function<Tensor(const Tensors& xs, const Json& attributes)>;

Tensor optional_input(const Tensors& xs, std::size_t i) { return i < xs.size() ? xs[i] : Tensor(); }

Axes axes(const Json& a) { return a.at("axes").get<Axes>(); }
bool keepdim(const Json& a) { return a.at("keepdim").get<bool>(); }

Shape lengths(const Json& a) {
  const auto n = a.get<std::vector<std::size_t>>();
  return Shape(n.begin(), n.end());
}

Indices labels(const Json& a) { return a.at("labels").get<std::vector<std::ptrdiff_t>>(); }

Indices indices(const Json& a) {
  return {lengths(a.at("shape")), a.at("indices").get<std::vector<std::ptrdiff_t>>()};
}

Reduction reduction(const Json& a) {
  const auto name = a.at("reduction").get<std::string>();
  return name == "mean" ? Reduction::mean : name == "sum" ? Reduction::sum : Reduction::none;
}

// Ops whose arguments are tensors alone.
const std::map<std::string, Tensor (*)(const Tensor&)> unary{{"neg", neg},
                                                             {"exp", exp},
                                                             {"expm1", expm1},
                                                             {"log1p", log1p},
                                                             {"sin", sin},
                                                             {"cos", cos},
                                                             {"silu", silu},
                                                             {"softplus", softplus},
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
     [](const Tensors& xs, const Json& a) { return broadcast_to(xs[0], lengths(a.at("shape"))); }},
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
    {"squeeze",
     [](const Tensors& xs, const Json& a) { return squeeze(xs[0], a.at("axis").get<int>()); }},
    {"unsqueeze",
     [](const Tensors& xs, const Json& a) { return unsqueeze(xs[0], a.at("axis").get<int>()); }},
    {"flatten",
     [](const Tensors& xs, const Json& a) {
       return flatten(xs[0], a.at("first").get<int>(), a.at("last").get<int>());
     }},
    {"roll",
     [](const Tensors& xs, const Json& a) {
       return roll(xs[0], a.at("shift").get<std::ptrdiff_t>(), a.at("axis").get<int>());
     }},
    {"pad",
     [](const Tensors& xs, const Json& a) {
       return pad(xs[0], a.at("axis").get<int>(), a.at("before").get<std::ptrdiff_t>(),
                  a.at("after").get<std::ptrdiff_t>(), a.at("value").get<real>());
     }},
    {"masked_fill",
     [](const Tensors& xs, const Json& a) {
       return masked_fill(xs[0], golden::tensor(a.at("mask")), a.at("value").get<real>());
     }},
    {"gather", [](const Tensors& xs,
                  const Json& a) { return gather(xs[0], a.at("axis").get<int>(), indices(a)); }},
    {"embedding", [](const Tensors& xs, const Json& a) { return embedding(indices(a), xs[0]); }},
    {"avg_pool2d",
     [](const Tensors& xs, const Json& a) {
       return avg_pool2d(xs[0], a.at("size").get<std::size_t>(), a.at("stride").get<std::size_t>(),
                         a.at("padding").get<std::size_t>());
     }},
    {"max_pool2d",
     [](const Tensors& xs, const Json& a) {
       return max_pool2d(xs[0], a.at("size").get<std::size_t>(), a.at("stride").get<std::size_t>(),
                         a.at("padding").get<std::size_t>());
     }},
    {"softmax",
     [](const Tensors& xs, const Json& a) { return softmax(xs[0], a.at("axis").get<int>()); }},
    {"log_softmax",
     [](const Tensors& xs, const Json& a) { return log_softmax(xs[0], a.at("axis").get<int>()); }},
    {"layer_norm",
     [](const Tensors& xs, const Json& a) {
       return layer_norm(xs[0], lengths(a.at("normalized_shape")), optional_input(xs, 1),
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
       AttentionOptions options;
       if (a.contains("mask")) options.mask = golden::tensor(a.at("mask"));
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
       if (a.contains("ignore_index")) {
         CrossEntropyOptions options{.ignore_index = a.at("ignore_index").get<std::ptrdiff_t>(),
                                     .label_smoothing = smoothing,
                                     .reduction = reduction(a)};
         if (!a.at("weights").is_null()) options.weights = golden::tensor(a.at("weights"));
         return cross_entropy(xs[0], labels(a), options);
       }
       if (!a.contains("targets")) return cross_entropy(xs[0], labels(a), smoothing, reduction(a));
       return cross_entropy(xs[0], golden::tensor(a.at("targets")), smoothing, reduction(a));
     }},
    {"bce_with_logits",
     [](const Tensors& xs, const Json& a) {
       return bce_with_logits(xs[0], golden::tensor(a.at("targets")), reduction(a));
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

}  // namespace
}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
