#include "web/engine/explorer.h"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/composed.hpp"
#include "vitruvian/core/fault.hpp"
#include "vitruvian/datasets/batch.hpp"
#include "vitruvian/nn/safetensors.hpp"
#include "vitruvian/vit/inspect/gradients.hpp"
#include "vitruvian/vit/inspect/inspect.hpp"
#include "vitruvian/vit/model.hpp"
#include "web/engine/answer.hpp"
#include "web/engine/check.hpp"
#include "web/engine/picture.hpp"
#include "web/engine/refusals.hpp"
#include "web/engine/trainer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace vitruvian::web {
namespace {

// The mistake that explorer_fault asked for.
struct Mistake {
  std::string op;
  Fault::Kind kind = Fault::Kind::flip_sign;
  std::size_t input = 0;
};

// While it lives, the mistake is made, if there is one: of the primitive ops, as it was asked for.
class Making {
 public:
  explicit Making(const std::optional<Mistake>& mistake) {
    if (!mistake) return;
    from_primitive_ops_.emplace();
    broken_.emplace(mistake->op, mistake->kind, mistake->input);
  }

 private:
  std::optional<Composed> from_primitive_ops_;
  std::optional<Fault> broken_;
};

struct Explorer {
  std::unique_ptr<VisionTransformer> model;
  std::unique_ptr<Trainer> trainer;  // of a model that explorer_create made
  std::vector<double> mean, std;
  Picture picture;
  std::optional<Mistake> mistake;
  // What the answers point to, each until its function is called again.
  Array similarity;
  struct {
    Trace trace;
    Array probabilities, lens, rollout;
  } forward;
  struct {
    Trace trace;
    std::vector<Array> gradients;
    Array saliency, gradient_rollout;
  } backward;

  [[nodiscard]] const VisionTransformer& there() const {
    if (!model) fail("there is no model yet: open one, or create one");
    return *model;
  }
  [[nodiscard]] Trainer& in_training() const {
    if (!trainer) fail("there is no model in training: create one first");
    return *trainer;
  }
};

Explorer& here() {
  static Explorer explorer;
  return explorer;
}

// The symbols of a parameter's shape, by the end of its name.
std::string symbols_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, const char*>, 13> all = {
      {{"patch_embed.proj.weight", "(D, C, P, P)"},
       {"cls_token", "(1, 1, D)"},
       {"pos_embed", "(1, T, D)"},
       {"qkv.weight", "(3 D, D)"},
       {"qkv.bias", "(3 D)"},
       {"attn.proj.weight", "(D, D)"},
       {"fc1.weight", "(M, D)"},
       {"fc1.bias", "(M)"},
       {"fc2.weight", "(D, M)"},
       {"head.weight", "(K, D)"},
       {"head.bias", "(K)"},
       {"weight", "(D)"},
       {"bias", "(D)"}}};
  const auto found = std::find_if(all.begin(), all.end(),
                                  [name](const auto& row) { return name.ends_with(row.first); });
  return found == all.end() ? "" : found->second;
}

Json about_weights(Explorer& e) {
  const VisionTransformer& model = e.there();
  const ViTConfig& c = model.config;
  Json config = parse_json(c.to_json());
  config["N"] = c.N();
  config["T"] = c.T();
  config["D_h"] = c.D_h();
  Json parameters = Json::array();
  for (const NamedParameter& p : named_parameters(model)) {
    parameters.push_back(tensor(p.name, symbols_of(p.name), p.tensor.value()));
  }
  e.similarity = inspect::position_similarity(model);
  return {{"config", config},
          {"mean", e.mean},
          {"std", e.std},
          {"count", c.parameters()},
          {"step", e.trainer ? e.trainer->step() : 0},
          {"parameters", parameters},
          {"similarity", tensor("similarity", "(gh, gw, gh, gw)", e.similarity)}};
}

Json open(Explorer& e, std::span<const char> bytes) {
  const MemorySource source(bytes, "the weights", Exit::checkpoint);
  const TensorFile file =
      read_safetensors(std::shared_ptr<const ByteSource>(std::shared_ptr<void>(), &source));
  const auto config = file.metadata.find("config");
  if (config == file.metadata.end()) {
    fail(
        "the weights do not say their model's sizes: a file that `vitruvian train` or `vitruvian "
        "convert` wrote does");
  }
  const ViTConfig c = ViTConfig::from_json(config->second);
  check_takes_picture(c);
  constexpr std::uint64_t little = 4096;
  if (c.parameters() / 2 > file.size() + little) {
    fail("the weights hold {} numbers, but a model of their config has {}", file.size(),
         c.parameters());
  }
  auto model = std::make_unique<VisionTransformer>(undrawn(c));
  load(*model, file);
  const std::vector<double> mean = numbers_of(file.metadata, "mean");
  const std::vector<double> std = numbers_of(file.metadata, "std");
  check_makes_sense(*model, mean.front(), std.front());
  e.mean = mean;
  e.std = std;
  e.trainer.reset();
  e.model = std::move(model);
  return about_weights(e);
}

Json create(Explorer& e, const Json& settings) {
  check_fields(settings, {"P", "D", "L", "h", "M", "dropout", "seed", "images", "batch",
                          "optimizer", "learning_rate", "weight_decay", "warmup"});
  ViTConfig c;
  c.D = 32;
  c.L = 2;
  c.h = 4;
  for (const auto& [name, size] : {std::pair{"P", &c.P}, {"D", &c.D}, {"L", &c.L}, {"h", &c.h}}) {
    *size = field(settings, name, std::uint64_t{*size});
  }
  c.M = field(settings, "M", std::uint64_t{2 * c.D});
  c.dropout = field(settings, "dropout", c.dropout);
  c.validate();
  constexpr std::uint64_t most = 5'000'000;  // whose training takes some 100 MB
  if (c.parameters() > most || c.T() > 200) {
    fail("a model of {} parameters and {} tokens is too large for a page: at most {} and 200",
         c.parameters(), c.T(), most);
  }
  const TrainerSettings s = TrainerSettings::of(settings);
  auto model = std::make_unique<VisionTransformer>(c, Rng(s.seed).fork("model"));
  auto trainer = std::make_unique<Trainer>(*model, s);
  const Dataset digits = empty_digit_dataset("digits", c.H, c.W);
  e.mean = digits.mean;
  e.std = digits.std;
  e.trainer = std::move(trainer);
  e.model = std::move(model);
  return about_weights(e);
}

Array image_of(const Explorer& e) {
  Dataset data = as_dataset(e.picture.pixels);
  data.mean = e.mean;
  data.std = e.std;
  Array image = zeros({1, 1, data.height, data.width});
  const std::size_t first = 0;
  normalised_images(data, {&first, 1}, image.data());
  return image;
}

Json tensors_of(const Trace& trace, const std::vector<Array>& gradients = {}) {
  Json tensors = Json::array();
  for (std::size_t i = 0; i < trace.entries().size(); ++i) {
    const auto& [name, symbols, value] = trace.entries()[i];
    tensors.push_back(
        tensor(name, symbols, value.value(), i < gradients.size() ? &gradients[i] : nullptr));
  }
  return tensors;
}

Json forward(Explorer& e) {
  const VisionTransformer& model = e.there();
  const ViTConfig& c = model.config;
  const NoGrad no_grad;
  const Composed every_intermediate;
  auto& [trace, probabilities, lens, rollout] = e.forward;
  trace.clear();
  const Tensor image(image_of(e));
  trace.add("images", "(B, C, H, W)", image);
  const Tensor logits = model(image, {.trace = &trace});
  probabilities = softmax(logits).value();
  lens = inspect::logit_lens(model, trace);
  inspect::Attention attention{c, {}, logits.value()};
  for (std::size_t l = 0; l < c.L; ++l) {
    attention.probs.push_back(trace.at(fmt::format("blocks.{}.attn.probs", l)).value());
  }
  rollout = inspect::shares_of_patches(inspect::rollout(attention), c);
  return {{"tensors", tensors_of(trace)},
          {"probabilities", tensor("probabilities", "(B, K)", probabilities)},
          {"guess", inspect::most_probable(logits.value()).front()},
          {"lens", tensor("lens", "(L + 1, B, K)", lens)},
          {"rollout", tensor("rollout", "(B, gh, gw)", rollout)}};
}

void check_label(const ViTConfig& c, std::size_t label) {
  if (label >= c.K) fail("the label is a digit, 0 to {}; got {}", c.K - 1, label);
}

double norm_of(const Array& x) {
  double squares = 0;
  for (const float v : x) squares += static_cast<double>(v) * static_cast<double>(v);
  return std::sqrt(squares);
}

Json backward(Explorer& e, std::size_t label) {
  const VisionTransformer& model = e.there();
  check_label(model.config, label);
  auto& [trace, gradients, saliency, gradient_rollout] = e.backward;
  trace.clear();
  const Tensor image(image_of(e), true);
  const std::vector<NamedParameter> parameters = named_parameters(model);
  double loss = 0;
  {
    const Composed every_intermediate;
    const Making mistake(e.mistake);
    trace.add("images", "(B, C, H, W)", image);
    const Tensor cost = cross_entropy(model(image, {.trace = &trace}), {label});
    std::vector<Tensor> all;
    for (const Trace::Entry& entry : trace.entries()) all.push_back(entry.tensor);
    for (const NamedParameter& p : parameters) all.push_back(p.tensor);
    loss = static_cast<double>(cost.item());
    gradients = grad(cost, all);
  }
  const std::size_t stages = trace.entries().size();
  Json about_parameters = Json::array();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    about_parameters.push_back(tensor(parameters[i].name, symbols_of(parameters[i].name),
                                      parameters[i].tensor.value(), &gradients[stages + i]));
  }
  Json walk = Json::array();
  for (std::size_t i = stages; i-- > 0;) {
    const Trace::Entry& entry = trace.entries()[i];
    walk.push_back(
        {{"name", entry.name}, {"op", entry.tensor.node().op}, {"norm", norm_of(gradients[i])}});
  }
  saliency = inspect::saliency(inspect::input_gradient(model, image.value(), {label}));
  gradient_rollout = inspect::shares_of_patches(
      inspect::gradient_rollout(model, image.value(), {label}), model.config);
  return {{"loss", loss},
          {"tensors", tensors_of(trace, gradients)},
          {"parameters", about_parameters},
          {"walk", walk},
          {"saliency", tensor("saliency", "(B, H, W)", saliency)},
          {"gradient_rollout", tensor("gradient_rollout", "(B, gh, gw)", gradient_rollout)}};
}

// The ops of the graph below a tensor, in their order, with how many inputs each has.
std::map<std::string, std::size_t> ops_below(const Tensor& root) {
  std::map<std::string, std::size_t> ops;
  std::unordered_set<const Node*> seen{&root.node()};
  std::vector<const Node*> next{&root.node()};
  while (!next.empty()) {
    const Node* const node = next.back();
    next.pop_back();
    if (node->vjp) ops[node->op] = std::max(ops[node->op], node->inputs.size());
    for (const Node::Input& input : node->inputs) {
      if (input.node && seen.insert(input.node.get()).second) next.push_back(input.node.get());
    }
  }
  return ops;
}

Json fault(Explorer& e, const Json& request) {
  check_fields(request, {"op", "kind", "input"});
  const VisionTransformer& model = e.there();
  const Composed from_primitive_ops;
  const auto ops = ops_below(cross_entropy(model(Tensor(image_of(e), true)), {0}));
  std::optional<Mistake> mistake;
  if (!request.empty()) {
    mistake.emplace();
    mistake->op = field(request, "op", std::string());
    const auto op = ops.find(mistake->op);
    if (op == ops.end()) fail("the model has no op '{}'", mistake->op);
    mistake->kind = Fault::kind_named(field(request, "kind", std::string("flip_sign")));
    mistake->input = field(request, "input", std::uint64_t{0});
    if (mistake->input >= op->second) {
      fail("{} has {} inputs; there is no input {}", op->first, op->second, mistake->input);
    }
  }
  e.mistake = mistake;
  Json json = Json::array();
  for (const auto& [op, inputs] : ops) json.push_back({{"op", op}, {"inputs", inputs}});
  return {{"ops", json}};
}

Json train(Explorer& e, std::size_t steps) {
  Trainer& trainer = e.in_training();
  const Making mistake(e.mistake);
  return trainer.train(steps);
}

Json learn(Explorer& e, std::size_t label) {
  Trainer& trainer = e.in_training();
  check_label(e.model->config, label);
  const Making mistake(e.mistake);
  return trainer.learn(e.picture.pixels, label);
}

Json check(Explorer& e, const Json& request) {
  check_fields(request, {"parameter", "label", "entries", "seed"});
  CheckRequest asked;
  asked.config = e.there().config;
  for (const NamedParameter& p : named_parameters(e.there())) {
    asked.parameters.emplace_back(p.tensor.value().begin(), p.tensor.value().end());
  }
  const Array image = image_of(e);
  asked.image.assign(image.begin(), image.end());
  asked.label = field(request, "label", std::uint64_t{0});
  asked.parameter = field(request, "parameter", std::string());
  asked.entries = field(request, "entries", std::uint64_t{asked.entries});
  asked.seed = field(request, "seed", asked.seed);
  if (asked.entries == 0 || asked.entries > 1000) {
    fail("entries: expected 1 to 1000, got {}", asked.entries);
  }
  const Making mistake(e.mistake);
  const CheckResult found = check_gradient(asked);
  return {{"name", asked.parameter},       {"passed", found.passed},
          {"relative_error", found.error}, {"tolerance", CheckResult::tolerance},
          {"index", found.index},          {"analytic", found.analytic},
          {"numeric", found.numeric},      {"checked", found.checked}};
}

}  // namespace
}  // namespace vitruvian::web

using vitruvian::web::answer;
using vitruvian::web::here;
using vitruvian::web::parsed;

const char* explorer_open(const unsigned char* safetensors, size_t bytes) {
  return answer([&] { return open(here(), {reinterpret_cast<const char*>(safetensors), bytes}); });
}
const char* explorer_create(const char* settings) {
  return answer([&] { return create(here(), parsed(settings)); });
}
const char* explorer_weights() {
  return answer([] { return about_weights(here()); });
}
unsigned char* explorer_pixels() { return here().picture.pixels.data(); }
const char* explorer_draw(const char* request) {
  return answer([&] { return here().picture.draw(parsed(request)); });
}
const char* explorer_sample(const char* request) {
  return answer([&] { return here().picture.sample(parsed(request)); });
}
const char* explorer_forward() {
  return answer([] { return forward(here()); });
}
const char* explorer_backward(size_t label) {
  return answer([&] { return backward(here(), label); });
}
const char* explorer_fault(const char* request) {
  return answer([&] { return fault(here(), parsed(request)); });
}
const char* explorer_check(const char* request) {
  return answer([&] { return check(here(), parsed(request)); });
}
const char* explorer_train(size_t steps) {
  return answer([&] { return train(here(), steps); });
}
const char* explorer_learn(size_t label) {
  return answer([&] { return learn(here(), label); });
}
const char* explorer_score(size_t images) {
  return answer([&] { return vitruvian::web::score(here().there(), images); });
}
