#include "web/engine/refusals.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/guards.hpp"
#include "vitruvian/datasets/formats/ink.hpp"
#include "web/engine/answer.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace vitruvian::web {
namespace {

bool all_finite(const Array& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](real x) { return std::isfinite(x); });
}

}  // namespace

void check_takes_picture(const ViTConfig& c) {
  constexpr std::size_t side = InkCanvas::side;
  const std::pair<bool, std::string> unlike[] = {
      {c.C != 1 || c.H != side || c.W != side,
       fmt::format("its pictures are {} x {} x {}", c.C, c.H, c.W)},
      {c.head != Head::none && c.K != 10, fmt::format("it has {}", counted(c.K, "class"))},
      {c.head == Head::none, "it has no head"},
      {c.head == Head::tanh, "its head has a hidden layer"},
      {c.mean_pooling, "it reads the mean of the patches"},
      {!c.mean_pooling && c.T() != 1 + c.N(), "it has more tokens"},
      {c.positions != Positions::learned, "its positions are of another kind"},
      {c.patch_width() != c.patch_height(), "its patches are not square"},
      {c.post_norm, "its norms stand behind the sums"},
      {c.stem != 0, "it has a stem"},
      {c.layer_scale != 0, "it has LayerScale"},
      {c.qk_norm, "it has qk_norm"},
      {c.swiglu, "it has SwiGLU"}};
  std::vector<std::string> reasons;
  for (const auto& [is, text] : unlike) {
    if (is) reasons.push_back(text);
  }
  if (reasons.empty()) return;
  fail(
      "the page shows models of 28 x 28 grey pictures and ten digits, with a class token, learned "
      "positions and a linear head, as the paper's are; not this one: {}",
      joined(reasons));
}

std::vector<double> numbers_of(const Metadata& metadata, const char* name) {
  const auto found = metadata.find(name);
  const Json json = found == metadata.end() ? Json() : parse_json(found->second, nullptr, false);
  if (!json.is_array() || json.size() != 1 || !json[0].is_number()) {
    fail("the weights do not say the {} of the pixels that they were trained on", name);
  }
  return json.get<std::vector<double>>();
}

void check_makes_sense(const VisionTransformer& model, double mean, double std) {
  if (!(std > 0)) fail("the weights say that the pixels' std is {}: expected more than 0", std);
  for (const NamedParameter& p : named_parameters(model)) {
    if (all_finite(p.tensor.value())) continue;
    fail("'{}' of the weights holds NaN or infinity: their training broke down", p.name);
  }
  const NoGrad no_grad;
  const ViTConfig& c = model.config;
  Array paper = zeros({1, c.C, c.H, c.W});
  paper.fill(static_cast<real>(-mean / std));
  if (!all_finite(model(Tensor(paper)).value())) {
    fail("the weights make NaN of a blank picture, with a mean of {} and a std of {}", mean, std);
  }
}

}  // namespace vitruvian::web
