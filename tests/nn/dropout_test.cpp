// Dropout in layers: whose mask depends on what.

#include "tests/expect.hpp"
#include "vitruvian/core/check/gradcheck.hpp"
#include "vitruvian/nn/layers.hpp"

using namespace vitruvian;

TEST_CASE(
    "dropout is the identity without a generator, and a function of path and stream with one") {
  const Dropout drop{0.5};
  const Tensor x(random_normal({40, 50}, 1));
  CHECK(drop(x).node_ptr() == x.node_ptr());

  const Rng rng(3);
  const auto at = [&](const char* name) {
    return Array(under(name, drop, x, Pass{.rng = &rng}).value());
  };
  CHECK(at("a") == at("a"));
  CHECK(at("a") == dropout(x, 0.5, rng.fork("a")).value());
  CHECK_FALSE(at("a") == at("b"));
  const Rng other(4);
  CHECK_FALSE(at("a") == under("a", drop, x, Pass{.rng = &other}).value());

  std::size_t kept = 0;
  const Array y = at("a");
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (y.data()[i] == 0) continue;
    ++kept;
    REQUIRE(y.data()[i] == 2 * x.value().data()[i]);
  }
  CHECK(kept > 900);  // 1,000 expected, standard deviation 22
  CHECK(kept < 1100);
}

TEST_CASE("the dropouts of an Mlp and of attention do something, each its own mask") {
  const Rng rng(3);
  const Tensor x(random_normal({2, 5, 8}, 1));
  const Mlp mlp(8, 8, Rng(1), 0.5);
  CHECK_FALSE(mlp(x).value() == mlp(x, {.rng = &rng}).value());
  CHECK(mlp(x, {.rng = &rng}).value() == mlp(x, {.rng = &rng}).value());
  for (Dropout Mlp::*const off : {&Mlp::drop1, &Mlp::drop2}) {
    Mlp half(8, 8, Rng(1), 0.5);
    (half.*off).p = 0;
    CHECK_FALSE(half(x).value() == half(x, {.rng = &rng}).value());
    CHECK_FALSE(half(x, {.rng = &rng}).value() == mlp(x, {.rng = &rng}).value());
  }
  for (const auto& [attn_drop, proj_drop] : {std::pair{0.5, 0.0}, std::pair{0.0, 0.5}}) {
    const MultiHeadSelfAttention attn(8, 2, Rng(1),
                                      {.attn_drop = attn_drop, .proj_drop = proj_drop});
    CHECK_FALSE(attn(x).value() == attn(x, {.rng = &rng}).value());
    CHECK(attn(x, {.rng = &rng}).value() == attn(x, {.rng = &rng}).value());
  }
}

TEST_CASE(
    "in one pass no two dropouts share a mask, outside of `under` or in a module used twice") {
  const Rng rng(3);
  const Tensor ones(full({40, 50}, 1));
  const Dropout drop1{0.5}, drop2{0.5};
  const auto masks = [&] {  // four uses of one path, two of another
    const Pass pass{.rng = &rng};
    std::vector<Array> all;
    for (const Dropout* drop : {&drop1, &drop2, &drop1, &drop2}) {
      all.push_back((*drop)(ones, pass).value());
    }
    for (int use = 0; use < 2; ++use) all.push_back(under("a", drop1, ones, pass).value());
    return all;
  };
  const std::vector<Array> first = masks();
  const std::vector<Array> second = masks();
  for (std::size_t i = 0; i < first.size(); ++i) {
    CHECK(first[i] == second[i]);  // another pass of the same stream draws them again
    for (std::size_t j = 0; j < i; ++j) {
      INFO("i ", i, ", j ", j);
      std::size_t agree = 0;
      for (std::size_t k = 0; k < ones.size(); ++k)
        agree += first[i].data()[k] == first[j].data()[k];
      CHECK(agree > 880);  // 1,000 of 2,000 expected, standard deviation 22
      CHECK(agree < 1120);
    }
  }

  // A shared module: attention's own dropout too.
  const MultiHeadSelfAttention attn(8, 2, Rng(1), {.attn_drop = 0.5});
  const Tensor x(random_normal({2, 5, 8}, 1));
  const Pass pass{.rng = &rng};
  const Array once = under("attn", attn, x, pass).value();
  CHECK_FALSE(once == under("attn", attn, x, pass).value());
  CHECK(once == under("attn", attn, x, Pass{.rng = &rng}).value());
}
