// Looking inside: filters, positions, attention, distance, rollout against PyTorch's numbers and
// closed forms.

#include "vitruvian/vit/inspect/inspect.hpp"
#include "tests/vit/vit_testing.hpp"
#include "vitruvian/vit/inspect/graph.hpp"

using namespace vitruvian;
using golden::difference;

namespace {

// 8 x 12 pixels in patches of 4 x 2: a grid of 2 x 6, nothing square about it.
ViTConfig oblong(bool mean_pooling = false) {
  ViTConfig config = tiny_vit();
  config.W = 12, config.P_w = 2, config.mean_pooling = mean_pooling;
  return config;
}

// Attention that is the same row for all queries, images, heads and layers of a config.
inspect::Attention with_maps(const ViTConfig& config, std::size_t B, const Array& map) {
  inspect::Attention result;
  result.config = config;
  const std::size_t T = config.T();
  for (std::size_t l = 0; l < config.L; ++l) {
    Array probs = empty({B, config.h, T, T});
    for (std::size_t i = 0; i < probs.size(); ++i) probs.data()[i] = map.data()[i % (T * T)];
    result.probs.push_back(std::move(probs));
  }
  return result;
}

Array identity(std::size_t T) {
  Array I = zeros({T, T});
  for (std::size_t t = 0; t < T; ++t) I.data()[t * T + t] = 1;
  return I;
}

// The mean distance of all ordered pairs of patches.
double mean_of_all_pairs(const ViTConfig& c) {
  const std::size_t N = c.N(), across = c.grid_width();
  double sum = 0;
  for (std::size_t n = 0; n < N * N; ++n) {
    const std::size_t i = n / N, k = n % N;
    sum += std::hypot((double(i / across) - double(k / across)) * double(c.patch_height()),
                      (double(i % across) - double(k % across)) * double(c.patch_width()));
  }
  return sum / double(N * N);
}

}  // namespace

TEST_CASE("what is found inside is what PyTorch finds") {
  const GoldenVit vit;
  const inspect::Attention seen = inspect::attention(vit.model, vit.images);
  CHECK(difference(seen.logits, golden::tensor(vit.json.at("logits"))) < golden_tolerance);

  const auto pca = inspect::principal_components(inspect::filters(vit.model), 8);
  const auto variances = vit.inside.at("variances").get<std::vector<double>>();
  const auto seven =
      [](const Array& components) {  // of eight about their mean: the last is nothing
        return slice(reshape(Tensor(components), {8, 32}), 0, 0, 7).value();
      };
  CHECK(difference(seven(pca.components), seven(golden::tensor(vit.inside.at("components")))) <
        golden_tolerance);
  for (std::size_t k = 0; k < 7; ++k) {
    CHECK(std::abs(pca.variances[k] - variances[k]) < golden_tolerance * variances[0]);
  }
  CHECK(std::abs(pca.variances[7]) < 1e-12);
  CHECK(std::abs(pca.total - std::accumulate(variances.begin(), variances.end(), 0.0)) <
        golden_tolerance * pca.total);

  const Array similarity = inspect::position_similarity(vit.model);
  CHECK(vit.off("similarity", similarity) < golden_tolerance);

  const inspect::Heads heads = inspect::heads(seen);
  CHECK(vit.off("distance", heads.distance) < golden_tolerance);
  CHECK(vit.off("on_class_token", heads.on_class_token) < golden_tolerance);
  CHECK(vit.off("entropy", heads.entropy) < golden_tolerance);
  CHECK(vit.off("rollout", inspect::rollout(seen)) < golden_tolerance);
}

TEST_CASE("inspection says nothing different from the fused model") {
  for (const Switched& s : every_switch()) {
    INFO(s.name);
    const VisionTransformer model = of_order_one(s.config, Rng(7));
    const Tensor images = images_for(s.config, 2, 8);
    const inspect::Attention seen = inspect::attention(model, images.value());
    CHECK(difference(seen.logits, model(images).value()) < (in_double ? 1e-12 : 1e-4));
    const Array sums = sum(Tensor(seen.probs[1]), {-1}).value();
    CHECK(difference(sums, full(sums.shape(), 1)) < (in_double ? 1e-14 : 1e-5));
    const Array map = inspect::shares_of_patches(inspect::rollout(seen), s.config);
    CHECK(map.shape() == Shape{2, s.config.grid_height(), s.config.grid_width()});
    CHECK(std::abs(sum(Tensor(map)).item() - 2) < 1e-5);
  }
}

TEST_CASE("patches come in raster order, each as (C, P, P)") {
  const ViTConfig c = oblong();
  const VisionTransformer model(c, Rng(1));
  Array images = empty({2, c.C, c.H, c.W});
  std::iota(images.data(), images.data() + images.size(), real(0));
  const Array x = inspect::patches(model, images);
  CHECK(x.shape() == Shape{2, 12, 2, 4, 2});
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t dx = i % 2, dy = i / 2 % 4, channel = i / 8 % 2, n = i / 16 % 12, b = i / 192;
    const std::size_t y = n / 6 * 4 + dy, left = n % 6 * 2 + dx;
    REQUIRE(x.data()[i] == real(((b * 2 + channel) * 8 + y) * 12 + left));
  }
  CHECK_FAILS_WITH(inspect::patches(model, zeros({1, 2, 8, 8})), "takes (B, 2, 8, 12)");
}

TEST_CASE("behind a stem the filters are those of its first convolution") {
  ViTConfig c = tiny_vit();
  c.stem = 2, c.D = 16;
  const VisionTransformer model = of_order_one(c, Rng(1));
  CHECK(inspect::filters(model).shape() == Shape{8, 2, 3, 3});
  CHECK(difference(inspect::filters(model),
                   model.patch_embed.stem.convolutions[0].weight.value()) == 0);
  const auto pca = inspect::principal_components(inspect::filters(model));
  CHECK(pca.components.shape() == Shape{18, 2, 3, 3});
  CHECK(inspect::patches(model, zeros({1, 2, 8, 8})).shape() == Shape{1, 4, 2, 4, 4});
}

TEST_CASE("principal components of filters that are known") {
  // Two orthogonal patterns, mixed with weights (+-3, +-1): variances 9 and 1, and a mean.
  Array filters = full({4, 1, 2, 2}, real(0.5));
  const double a[4] = {0.5, 0.5, 0.5, 0.5}, b[4] = {-0.5, 0.5, -0.5, 0.5};
  for (std::size_t d = 0; d < 4; ++d) {
    for (std::size_t i = 0; i < 4; ++i) {
      filters.data()[d * 4 + i] += real((d < 2 ? 3 : -3) * a[i] + (d % 2 == 0 ? 1 : -1) * b[i]);
    }
  }
  const auto pca = inspect::principal_components(filters);
  CHECK(pca.components.shape() == Shape{4, 1, 2, 2});  // no more than there are
  CHECK(pca.variances[0] == doctest::Approx(9));
  CHECK(pca.variances[1] == doctest::Approx(1));
  CHECK(std::abs(pca.variances[2]) < 1e-6);
  const real* const first = pca.components.data();
  CHECK(std::abs(std::inner_product(first, first + 4, first + 4, 0.0)) < 1e-6);
  for (std::size_t i = 0; i < 4; ++i) CHECK(pca.components.data()[i] == doctest::Approx(0.5));
  filters.data()[5] = NAN;
  CHECK_FAILS_WITH(inspect::principal_components(filters), "NaN or infinite");
}

TEST_CASE("positions whose similarity is known") {
  ViTConfig c = oblong();
  c.D = 16;
  c.positions = Positions::sincos_2d;
  // [sin x f, cos x f, sin y f, cos y f]: the cosine is the mean of cos f dx and cos f dy.
  const Array s = inspect::position_similarity(VisionTransformer(c, Rng(1)));
  REQUIRE(s.shape() == Shape{2, 6, 2, 6});
  for (std::size_t i = 0; i < 12; ++i) {
    for (std::size_t k = 0; k < 12; ++k) {
      double known = 0;
      for (std::size_t j = 0; j < 4; ++j) {
        const double f = std::pow(10000.0, -double(j) / 4);
        known += (std::cos(f * (double(i % 6) - double(k % 6))) +
                  std::cos(f * (double(i / 6) - double(k / 6)))) /
                 8;
      }
      CHECK(std::abs(double(s.data()[i * 12 + k]) - known) < (in_double ? 1e-14 : 1e-6));
    }
  }
  // A position that is its row beside its column: half alike in a line, nothing elsewhere.
  Array known = zeros({12, 8});
  for (std::size_t n = 0; n < 12; ++n) known(n, n / 6) = known(n, 2 + n % 6) = 1;
  const inspect::Lines lines = inspect::lines(inspect::position_similarity(known, 6));
  CHECK(lines.line == doctest::Approx(0.5));
  CHECK(std::abs(lines.rest) < 1e-12);
  CHECK(inspect::Lines{0.3, -0.1}.ratio() == doctest::Approx(3));
  for (const Positions p : {Positions::none, Positions::relative}) {
    c.positions = p;
    const VisionTransformer model(c, Rng(1));
    CHECK_FAILS_WITH(inspect::position_similarity(model), "adds no position embeddings");
  }
}

TEST_CASE("attention whose distance and entropy are known") {
  for (const bool mean_pooling : {false, true}) {
    const ViTConfig c = oblong(mean_pooling);
    const std::size_t T = c.T();
    const inspect::Heads even = inspect::heads(with_maps(c, 2, full({T, T}, real(1 / double(T)))));
    const inspect::Heads self = inspect::heads(with_maps(c, 2, identity(T)));
    for (std::size_t i = 0; i < c.L * c.h; ++i) {
      CHECK(double(even.distance.data()[i]) == doctest::Approx(mean_of_all_pairs(c)));
      CHECK(double(even.entropy.data()[i]) == doctest::Approx(std::log(double(T))));
      CHECK(double(even.on_class_token.data()[i]) ==
            doctest::Approx(mean_pooling ? 0 : 1 / double(T)));
      CHECK(even.saturated.data()[i] == 0);
      CHECK(self.distance.data()[i] == 0);
      CHECK(self.entropy.data()[i] == 0);
      CHECK(self.saturated.data()[i] == doctest::Approx(1));
    }
  }
  CHECK(inspect::patch_distances(oblong())(0, 11) == doctest::Approx(std::hypot(4.0, 10.0)));
  // What the class token takes does not make a head look nearer: half of it here.
  const ViTConfig c = oblong();
  const auto with_class_token = [&](double share) {
    Array map = full({c.T(), c.T()}, real((1 - share) / 12));
    for (std::size_t t = 0; t < c.T(); ++t) map(t, 0) = real(share);
    return inspect::heads(with_maps(c, 1, map));
  };
  const inspect::Heads half = with_class_token(0.5);
  CHECK(double(half.distance(0, 0)) == doctest::Approx(mean_of_all_pairs(c)));
  CHECK(half.on_class_token(0, 0) == doctest::Approx(0.5));
  // Saturated is above 0.99 of the attention on one token.
  for (const double most : {0.95, 0.985, 0.995}) {
    CHECK(with_class_token(most).saturated(0, 0) == doctest::Approx(most > 0.99 ? 1 : 0));
  }
}

TEST_CASE("registers and a distillation token are no patches: no map, distance or place has them") {
  for (const bool mean_pooling : {false, true}) {
    ViTConfig c = oblong(mean_pooling);
    c.registers = 3, c.distilled = !mean_pooling;
    const std::size_t T = c.T(), first = T - 12;
    CHECK(first == (mean_pooling ? 3 : 5));
    const inspect::Heads even = inspect::heads(with_maps(c, 2, full({T, T}, real(1 / double(T)))));
    CHECK(double(even.distance(0, 0)) == doctest::Approx(mean_of_all_pairs(c)));
    CHECK(double(even.on_class_token(1, 1)) == doctest::Approx(double(first) / double(T)));

    const VisionTransformer model = of_order_one(c, Rng(3));
    const inspect::Attention seen = inspect::attention(model, images_for(c, 2, 4).value());
    const Array map = inspect::attention_map(seen, 1, 1, {5}, 1);
    for (std::size_t n = 0; n < 12; ++n) {
      CHECK(map.data()[n] == seen.probs[1](1, 1, first + 5, first + n));
    }
    if (mean_pooling) CHECK_FAILS_WITH(inspect::attention_map(seen, 0, 0), "no class token");

    // A rollout whose row i gives patch n the share i + n: what is read are the class tokens' rows,
    // or the patches'.
    Array R = zeros({1, T, T});
    for (std::size_t i = 0; i < T; ++i) {
      for (std::size_t n = 0; n < 12; ++n) R(0, i, first + n) = real(i + n);
    }
    const Array shares = inspect::shares_of_patches(R, c);
    const double rows = mean_pooling ? 12 : 2;
    const double of_rows = mean_pooling ? 12 * 3 + 66 : 1;  // sum of i over the rows that are read
    double sum = 0;
    for (std::size_t n = 0; n < 12; ++n) sum += of_rows + rows * double(n);
    for (std::size_t n = 0; n < 12; ++n) {
      CHECK(double(shares.data()[n]) == doctest::Approx((of_rows + rows * double(n)) / sum));
    }

    const Array positions = inspect::patch_positions(model);
    const Array& table = model.pos_embed.table.value();
    CHECK(table.shape() == Shape{1, 12 + c.class_tokens(), 8});
    for (std::size_t d = 0; d < 8; ++d)
      CHECK(positions(11, d) == table(0, 11 + c.class_tokens(), d));
    CHECK(inspect::block_graph(model, 1).nodes.back().shape == std::vector<std::size_t>{1, T, 8});
    Trace trace;
    model(images_for(c, 2, 4), {.trace = &trace});
    CHECK(inspect::logit_lens(model, trace).shape() == Shape{3, 2, 3});
    ViTConfig headless = c;
    headless.head = Head::none;
    CHECK_FAILS_WITH(inspect::logit_lens(VisionTransformer(headless, Rng(3)), trace),
                     "a model without a head has no logits");
  }
}

TEST_CASE("a map is the row it is asked for") {
  const ViTConfig c = oblong();
  const VisionTransformer model = of_order_one(c, Rng(3));
  const inspect::Attention seen = inspect::attention(model, images_for(c, 2, 4).value());
  const Array of_class = inspect::attention_map(seen, 1, 0, {}, 1);
  const Array of_patch = inspect::attention_map(seen, 1, 1, {5}, 1);
  const Array mean = inspect::attention_map(seen, 1, {}, {5}, 1);
  CHECK(of_class.shape() == Shape{2, 6});
  for (std::size_t n = 0; n < 12; ++n) {
    CHECK(of_class.data()[n] == seen.probs[1](1, 0, 0, n + 1));
    CHECK(of_patch.data()[n] == seen.probs[1](1, 1, 6, n + 1));
    const double both =
        double(seen.probs[1](1, 0, 6, n + 1)) + double(seen.probs[1](1, 1, 6, n + 1));
    CHECK(std::abs(double(mean.data()[n]) - both / 2) < 1e-6);
  }
  CHECK_FAILS_WITH(inspect::attention_map(seen, 2, 0), "layer 2: there are 2, from 0 to 1");
  CHECK_FAILS_WITH(inspect::attention_map(seen, 0, 2), "head 2: there are 2");
  CHECK_FAILS_WITH(inspect::attention_map(seen, 0, 0, {12}), "patch 12: there are 12");
  CHECK_FAILS_WITH(inspect::attention_map(seen, 0, 0, {}, 2), "image 2: there are 2");
  const inspect::Attention of_none = inspect::attention(model, images_for(c, 0, 4).value());
  CHECK_FAILS_WITH(inspect::attention_map(of_none, 0, 0), "image 0: there is none");
  const auto without = with_maps(oblong(true), 1, identity(12));
  CHECK_FAILS_WITH(inspect::attention_map(without, 0, 0), "no class token");
}

TEST_CASE("rollout of attention that is known") {
  const ViTConfig c = oblong();
  const std::size_t T = c.T();
  const Array I = identity(T);
  const auto rolled = [&](const Array& map) {
    return reshape(inspect::rollout(with_maps(c, 1, map)), {T, T}).value();
  };
  CHECK(difference(rolled(I), I) < 1e-6);
  // Even attention U = 1 / T: each layer keeps one half, R = 2^-L I + (1 - 2^-L) U.
  const Array U = full({T, T}, real(1 / double(T)));
  const Array known = (Tensor(I) * real(0.25) + Tensor(U) * real(0.75)).value();
  CHECK(difference(rolled(U), known) < (in_double ? 3e-15 : 3e-6));
}

TEST_CASE("the gain on ink: even maps gain nothing, a map on the strokes all there is") {
  Array ink = zeros({3, 1, 8, 12});
  for (std::size_t b = 0; b < 2; ++b) ink(b, 0, 5, 7) = ink(b, 0, 2, 0) = 200;
  ink(1, 0, 0, 11) = 100;  // not enough to be ink
  Array map = full({3, 2, 6}, real(1.0 / 12));
  for (std::size_t n = 0; n < 12; ++n) map.data()[12 + n] = n == 9 || n == 0 ? real(0.5) : 0;
  const auto gains = inspect::gain_on_ink(map, ink, 127);
  CHECK(gains[0] == doctest::Approx(1));
  CHECK(gains[1] == doctest::Approx(6));  // two patches of twelve
  CHECK(std::isnan(gains[2]));
}
