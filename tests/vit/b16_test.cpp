// The whole of torchvision's vit_b_16, in float32, against PyTorch's float64. Opt-in: the files
// come from tests/golden/golden_torchvision.py, and VITRUVIAN_B16 says where they are.

#include "tests/skip.hpp"
#include "tests/vit/vit_testing.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/nn/safetensors.hpp"
#include "vitruvian/vit/model.hpp"
#include "vitruvian/vit/variants.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>

using namespace vitruvian;

namespace {

std::string folder() {
  const char* const path = std::getenv("VITRUVIAN_B16");
  return path == nullptr ? "" : path;
}

std::vector<NamedParameter> under_torchvisions_names(std::vector<NamedParameter> parameters) {
  for (NamedParameter& p : parameters) p.name = torchvisions_name(p.name);
  return parameters;
}

double norm(const std::vector<double>& x) {
  double squares = 0;
  for (const double v : x) squares += v * v;
  return std::sqrt(squares);
}

}  // namespace

TEST_CASE("torchvision's vit_b_16: logits, loss and all 152 gradients in float32") {
  if (folder().empty()) {
    return skip("VITRUVIAN_B16 is not set");
  }
  const ViTConfig& config = variant("vit_b_16").config;
  const VisionTransformer model = undrawn(config);
  const auto parameters = under_torchvisions_names(named_parameters(model));
  CHECK(parameters.size() == 152);
  load(parameters, read_safetensors(folder() + "/vit_b_16.safetensors"));
  const Json truth = Json::read(folder() + "/vit_b_16.json");
  const auto labels = truth.at("labels").get<std::vector<std::size_t>>();

  const Tensor logits = model(torchvisions_images(labels.size(), config.H));
  double largest = 0;
  double worst = 0;
  for (std::size_t b = 0; b < labels.size(); ++b) {
    for (std::size_t k = 0; k < config.K; ++k) {
      const double golden = truth.at("logits")[b][k].get<double>();
      largest = std::max(largest, std::abs(golden));
      worst = std::max(
          worst, std::abs(static_cast<double>(logits.value().data()[b * config.K + k]) - golden));
    }
  }
  CHECK(worst <= 3e-6 * largest);
  const Tensor loss = cross_entropy(logits, labels);
  const double loss_error =
      std::abs(static_cast<double>(loss.item()) - truth.at("loss").get<double>());
  CHECK(loss_error <= 1e-6);
  loss.backward();

  std::vector<NamedParameter> gradients = parameters;
  for (NamedParameter& g : gradients) g.tensor = Tensor(zeros(g.tensor.shape()));
  load(gradients, read_safetensors(folder() + "/vit_b_16_gradients.safetensors"));
  double worst_gradient = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    CAPTURE(parameters[i].name);
    REQUIRE(parameters[i].tensor.grad() != nullptr);
    const Array& ours = *parameters[i].tensor.grad();
    const Array& golden = gradients[i].tensor.value();
    std::vector<double> difference;
    std::vector<double> right;
    for (std::size_t j = 0; j < ours.size(); ++j) {
      difference.push_back(static_cast<double>(ours.data()[j]) -
                           static_cast<double>(golden.data()[j]));
      right.push_back(static_cast<double>(golden.data()[j]));
    }
    // The key's bias is a third of U_qkv's and has no gradient: what stands there is rounding,
    // which the norm of the whole judges.
    const double error = norm(difference) / norm(right);
    CHECK(error <= 1e-5);
    worst_gradient = std::max(worst_gradient, error);
  }
  MESSAGE("logits " << worst / largest << " of the largest, loss " << loss_error
                    << ", worst gradient " << worst_gradient << " of its norm");
}
