// torchvision's Vision Transformers in float64, against ours: a small one of each builder's kind,
// twenty steps of training; and vit_b_16 as a whole.

#include "tests/skip.hpp"
#include "tests/vit/vit_testing.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/nn/optim.hpp"
#include "vitruvian/nn/safetensors.hpp"
#include "vitruvian/vit/model.hpp"
#include "vitruvian/vit/variants.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

using namespace vitruvian;
using golden::difference;

namespace {

VisionTransformer stored_model(const golden::Json& json) {
  return golden_model(ViTConfig::from_json(json["config"].dump()), json["parameters"],
                      torchvisions_name);
}

double norm(const Array& a) {
  double squares = 0;
  for (const real x : a) squares += static_cast<double>(x) * static_cast<double>(x);
  return std::sqrt(squares);
}

// |ours - golden| / |golden|
double off(const Array& ours, const Array& golden) {
  REQUIRE(ours.shape() == golden.shape());
  return norm(ours - golden) / norm(golden);
}

void check_builder(const std::string& builder) {
  CAPTURE(builder);
  const golden::Json json = golden::read("torchvision.json")["builders"][builder];
  const VisionTransformer model = stored_model(json);
  const auto labels = json.at("labels").get<std::vector<std::size_t>>();
  const Tensor logits = model(torchvisions_images(labels.size(), model.config.H));
  CHECK(difference(logits.value(), golden::tensor(json.at("logits"))) < (in_double ? 1e-12 : 3e-6));
  const Tensor loss = cross_entropy(logits, labels);
  const double golden_loss = json.at("loss").get<double>();
  CHECK(std::abs(static_cast<double>(loss.item()) - golden_loss) < (in_double ? 1e-13 : 1e-6));
  loss.backward();
  for (const NamedParameter& p : named_parameters(model)) {
    CAPTURE(p.name);
    const Array golden = golden::tensor(json.at("gradients").at(torchvisions_name(p.name)));
    CHECK(off(*p.tensor.grad(), golden) < (in_double ? 1e-11 : 1e-5));
  }
}

std::vector<NamedParameter> under_torchvisions_names(std::vector<NamedParameter> parameters) {
  for (NamedParameter& p : parameters) p.name = torchvisions_name(p.name);
  return parameters;
}

}  // namespace

TEST_CASE("a reduced model of each of torchvision's builders: logits, loss and every gradient") {
  for (const char* builder : {"vit_b_16", "vit_b_32", "vit_l_16", "vit_l_32", "vit_h_14"}) {
    check_builder(builder);
  }
}

TEST_CASE(
    "twenty steps of training follow PyTorch: AdamW, warm-up and cosine, clipping, smoothing") {
  const golden::Json json = golden::read("torchvision.json")["training"];
  const VisionTransformer model = stored_model(json);
  const auto count = [&](const char* key) { return json.at(key).get<std::size_t>(); };
  const auto number = [&](const char* key) { return json.at(key).get<double>(); };
  const std::size_t B = count("batch");
  const std::size_t side = model.config.H;
  AdamWOptions options;
  options.weight_decay = number("weight_decay");
  options.undecayed = all_but_weights;
  AdamW adamw(named_parameters(model), options);
  for (std::size_t step = 0; step < count("steps"); ++step) {
    CAPTURE(step);
    const Array x = torchvisions_images(B, side, step % 2 * B * 3 * side * side);
    const auto labels = json.at("labels")[step].get<std::vector<std::size_t>>();
    const Tensor loss = cross_entropy(model(x), labels, number("label_smoothing"));
    CHECK(std::abs(static_cast<double>(loss.item()) - json.at("losses")[step].get<double>()) <
          (in_double ? 1e-9 : 2e-6));
    adamw.zero_grad();
    loss.backward();
    const double golden_norm = json.at("norms")[step].get<double>();
    CHECK(std::abs(clip_grad_norm(adamw.parameters(), number("clip")) - golden_norm) <
          (in_double ? 1e-9 : 1e-4) * golden_norm);
    const double lr = number("base_lr") * cosine_schedule(step, count("steps"), count("warmup"));
    CHECK(std::abs(lr - json.at("lr")[step].get<double>()) < 1e-14);
    adamw.step(lr);
  }
}

// Opt-in: golden_torchvision.py writes the files.
TEST_CASE("vit_b_16 as a whole: logits, loss and all 152 gradients in float32") {
  if (in_double) return skip("one precision will do");
  const char* const folder = std::getenv("VITRUVIAN_B16");
  if (folder == nullptr) return skip("VITRUVIAN_B16 is not set");
  const std::string path = folder + std::string("/vit_b_16");
  const ViTConfig& config = variant("vit_b_16").config;
  const VisionTransformer model = undrawn(config);
  const auto parameters = under_torchvisions_names(named_parameters(model));
  CHECK(parameters.size() == 152);
  load(parameters, read_safetensors(path + ".safetensors"));
  const Json truth = Json::read(path + ".json");
  const auto labels = truth.at("labels").get<std::vector<std::size_t>>();

  const Tensor logits = model(torchvisions_images(labels.size(), config.H));
  const std::size_t K = config.K;
  Array golden_logits = empty({labels.size(), K});
  for (std::size_t i = 0; i < golden_logits.size(); ++i) {
    golden_logits.data()[i] = truth["logits"][i / K][i % K].get<real>();
  }
  const double logits_error = difference(logits.value(), golden_logits);
  CHECK(logits_error <= 3e-6);
  const Tensor loss = cross_entropy(logits, labels);
  const double loss_error =
      std::abs(static_cast<double>(loss.item()) - truth.at("loss").get<double>());
  CHECK(loss_error <= 1e-6);
  loss.backward();

  std::vector<NamedParameter> gradients = parameters;
  for (NamedParameter& g : gradients) g.tensor = Tensor(zeros(g.tensor.shape()));
  load(gradients, read_safetensors(path + "_gradients.safetensors"));
  double worst_gradient = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    CAPTURE(parameters[i].name);
    // The key's bias is a third of U_qkv's and has no gradient: what stands there is rounding,
    // which the norm of the whole judges.
    const double error = off(*parameters[i].tensor.grad(), gradients[i].tensor.value());
    CHECK(error <= 1e-5);
    worst_gradient = std::max(worst_gradient, error);
  }
  MESSAGE("logits " << logits_error << " of the largest, loss " << loss_error << ", worst gradient "
                    << worst_gradient << " of its norm");
}
