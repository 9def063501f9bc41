// torchvision's Vision Transformers in float64, against ours: a small one of each builder's kind,
// and twenty steps of training.

#include "tests/vit/vit_testing.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/nn/optim.hpp"
#include "vitruvian/vit/model.hpp"

#include <doctest/doctest.h>

#include <cmath>

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
    REQUIRE(p.tensor.grad() != nullptr);
    const Array& ours = *p.tensor.grad();
    REQUIRE(ours.shape() == golden.shape());
    double squares = 0;
    for (std::size_t i = 0; i < ours.size(); ++i) {
      squares += std::pow(static_cast<double>(ours.data()[i] - golden.data()[i]), 2);
    }
    CHECK(std::sqrt(squares) < (in_double ? 1e-11 : 1e-5) * norm(golden));
  }
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
