// The paper's Figure 7 of a model as it is published: a file with the names and shapes of ViT-Ti/16
// for 224 x 224, whose numbers are made up here and in golden_figure7.py, which computes the figure
// by numpy.

#include "tests/vit/weights_testing.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/vit/inspect/inspect.hpp"
#include "vitruvian/vit/variants.hpp"

using namespace vitruvian;

namespace {

// Numbers 0 to n - 1 of stream k, in [-1, 1): splitmix64.
std::vector<double> uniform(std::uint64_t k, std::size_t n) {
  std::vector<double> u(n);
  for (std::uint64_t i = 0; i < n; ++i) {
    std::uint64_t z = ((k << 32U) + 1 + i) * 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    z = z ^ (z >> 31U);
    u[i] = static_cast<double>(z >> 11U) / 4503599627370496.0 - 1;  // 2^52
  }
  return u;
}

// Position n's entry d has more, by its row and column in a grid of 14: after the class token's.
void shape_positions(std::vector<double>& E, std::size_t D) {
  for (std::size_t i = D; i < E.size(); ++i) {
    const std::size_t n = i / D - 1;
    E[i] += static_cast<double>((n % 14 * (i % D) + 3 * (n / 14)) % 5) - 2;
  }
}

TensorFile made_up(const golden::Json& layout) {
  TensorFile file{"f", {}, {}};
  for (std::size_t k = 0; k < layout.size(); ++k) {
    const golden::Json& row = layout[k];
    const std::vector<std::size_t> shape = row["shape"];
    std::size_t n = 1;
    for (const std::size_t length : shape) n *= length;
    std::vector<double> values = uniform(k, n);
    for (double& x : values) x = row["offset"].get<double>() + row["scale"].get<double>() * x;
    const std::string name = row["name"];
    if (name.ends_with("pos_embedding")) shape_positions(values, shape[2]);
    file.tensors.push_back(stored(name, shape, std::move(values), Dtype::f64));
  }
  return file;
}

// The entries of `a` at these places along its first axis, all others as they are.
Array some_of(const Array& a, const std::vector<std::size_t>& places) {
  return index_select(Tensor(a), 0, places).value();
}

}  // namespace

TEST_CASE("Figure 7 of a published layout at its own size: numpy's numbers") {
  const golden::Json json = golden::read("figure7.json");
  const double tolerance = in_double ? 1e-10 : 3e-4;
  const VitWeights weights = opened(made_up(json["tensors"]), {});
  CHECK(name_of(weights.scheme) == "jax");
  CHECK(weights.config == variant("vit_ti_16").config);
  const VisionTransformer model = model_of(weights);

  // Left: the filters' principal components.
  const auto pca = inspect::principal_components(inspect::filters(model));
  const Array variances = golden::tensor(json["variances"]);
  REQUIRE(pca.variances.size() == 28);
  CHECK(golden::difference(array({28}, pca.variances), variances) < tolerance);
  CHECK(std::abs(pca.total / json["total"].get<double>() - 1) < tolerance);
  CHECK(golden::difference(some_of(pca.components, json["which"]),
                           golden::tensor(json["components"])) < tolerance);

  // Centre: how alike the positions are.
  const Array similarity = reshape(Tensor(inspect::position_similarity(model)), {196, 196}).value();
  CHECK(golden::difference(some_of(similarity, json["of"]), golden::tensor(json["similarity"])) <
        tolerance);

  // Right: how far each head looks.
  const Array picture = array({1, 3, 224, 224}, uniform(1U << 31U, std::size_t{3} * 224 * 224));
  const inspect::Attention seen = inspect::attention(model, picture);
  const inspect::Heads heads = inspect::heads(seen);
  CHECK(golden::difference(heads.distance, golden::tensor(json["distance"])) < tolerance);
  CHECK(golden::difference(heads.on_class_token, golden::tensor(json["on_class_token"])) <
        tolerance);
  Array logits = empty({10});
  for (std::size_t i = 0; i < 10; ++i) logits(i) = seen.logits(0, 100 * i);
  CHECK(golden::difference(logits, golden::tensor(json["logits"])) < tolerance);
}
