// Every switch of the config by its value: each alone against PyTorch's numbers
// (golden_switches.py), and all pairs of them by what must not change a number.

#include "tests/vit/vit_testing.hpp"
#include "vitruvian/core/composed.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/vit/fields.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <type_traits>

using namespace vitruvian;
using golden::difference;

namespace {

constexpr double exactly = in_double ? 1e-12 : 1e-4;

struct Setting {
  std::string field;  // two of one field do not meet
  std::string name;
  std::function<void(ViTConfig&)> set;
};

// Every field that is no size, at every value that is not its default.
std::vector<Setting> settings() {
  std::vector<Setting> all;
  const ViTConfig usual;
  for_each_option(usual, [&](const char* field, const auto& value) {
    using Value = std::decay_t<decltype(value)>;
    const std::string key = field;
    const auto add = [&](const std::string& name, const Value& other) {
      all.push_back({key, key + " " + name, [key, other](ViTConfig& c) {
                       for_each_option(c, [&](const char* name_of_field, auto& x) {
                         if constexpr (std::is_same_v<std::decay_t<decltype(x)>, Value>) {
                           if (key == name_of_field) x = other;
                         }
                       });
                     }});
    };
    if constexpr (std::is_same_v<Value, bool>) {
      add("", !value);
    } else if constexpr (std::is_enum_v<Value>) {
      for (std::size_t i = 0; i < names_of(value).size(); ++i) {
        if (const auto other = static_cast<Value>(i); other != value) {
          add(std::string(names_of(value)[i]), other);
        }
      }
    } else if constexpr (std::is_same_v<Value, std::size_t>) {
      add("2", 2);
    } else {
      add("0.5", 0.5);  // a rate
    }
  });
  for (const double eps : {1e-12, 0.1}) {
    all.push_back({"eps", fmt::format("eps {}", eps), [eps](ViTConfig& c) { c.eps = eps; }});
  }
  all.push_back({"dropout", "dropout", [](ViTConfig& c) { c.dropout = 0.5; }});
  all.push_back({"attention", "attention", [](ViTConfig& c) { c.attention_dropout = 0.5; }});
  return all;
}

ViTConfig not_square() {
  ViTConfig config = tiny_vit();
  config.W = 12;
  return config;
}

ViTConfig without_randomness(ViTConfig config) {
  config.dropout = config.attention_dropout = config.stochastic_depth = 0;
  config.embedding_dropout = config.projection_dropout = config.mlp_dropout = std::nullopt;
  return config;
}

void check_close(const std::vector<Array>& a, const std::vector<Array>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CAPTURE(i);
    REQUIRE(a[i].shape() == b[i].shape());
    if (largest(b[i]) > 1e-9) CHECK(difference(a[i], b[i]) < 10 * exactly);
  }
}

// Equation 4 written out, with every row of every block.
Tensor whole_blocks(const VisionTransformer& model, const Tensor& images) {
  const ViTConfig& c = model.config;
  Tensor z = model.embed(images);
  for (const Block& block : model.blocks) z = block(z);
  Tensor y;
  if (!c.mean_pooling) {
    y = model.norm(select(z, 1, 0));
  } else {
    y = c.norm_after_pooling ? model.norm(mean(z, {1})) : mean(model.norm(z), {1});
  }
  if (c.head == Head::tanh) y = tanh(model.pre_logits(y));
  return c.head == Head::none ? y : model.head(y);
}

}  // namespace

TEST_CASE("each switch alone, and each rate by given masks: PyTorch's logits, loss, gradients") {
  const golden::Json json = golden::read("switches.json");
  const Tensor images = golden::tensor(json["images"]);
  const std::vector<double> pool = json["pool"]["values"];
  const std::vector<std::size_t> labels = json["labels"];
  CHECK(json["cases"].size() == 37);
  for (const golden::Json& c : json["cases"]) {
    CAPTURE(c["name"].get<std::string>());
    const VisionTransformer model(ViTConfig::from_json(c["config"].dump()), Rng(1));
    fill(model, pool);
    const Rng rng(c["seed"].is_null() ? 0 : c["seed"].get<std::uint64_t>());
    check_golden(model, images, labels, c, exactly, 10 * exactly,
                 c["seed"].is_null() ? nullptr : &rng);
  }
}

TEST_CASE("what is not said is the paper's model, with an eps of 1e-6 and no dropout") {
  const ViTConfig c;
  CHECK(c.eps == 1e-6);
  CHECK(LayerNorm({3}).eps == 1e-6);
  CHECK(c.dropout == 0);
  CHECK(c.attention_dropout == 0);
  CHECK(c.stochastic_depth == 0);
  CHECK((!c.embedding_dropout && !c.projection_dropout && !c.mlp_dropout));
  CHECK((c.patch_bias && c.qkv_bias && c.proj_bias));
  CHECK_FALSE((c.post_norm || c.mean_pooling || c.norm_after_pooling || c.gelu_tanh));
  CHECK(c.positions == Positions::learned);
  CHECK(c.head == Head::linear);
  CHECK(c.init == Init::jax);
}

TEST_CASE("all pairs of switches: traced, composed, whole blocks, nothing random: one number") {
  const std::vector<double> pool = golden::read("switches.json")["pool"]["values"];
  const std::vector<Setting> all = settings();
  CHECK(all.size() == 28);
  std::size_t pairs = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (all[i].field == all[j].field) continue;
      CAPTURE(all[i].name);
      CAPTURE(all[j].name);
      ViTConfig config = not_square();
      all[i].set(config);
      all[j].set(config);
      config.validate();
      ++pairs;
      const VisionTransformer model(config, Rng(1));
      fill(model, pool, 31 * i + j);
      CHECK(count_parameters(model) == config.parameters());
      CHECK(ViTConfig::from_json(config.to_json()) == config);
      const Tensor images = images_for(config, 2, 3);
      const Rng rng(4);
      for (const Rng* const random : {static_cast<const Rng*>(nullptr), &rng}) {
        const std::vector<Array> plain = logits_and_gradients(model, images, {.rng = random});
        Trace trace;
        check_close(logits_and_gradients(model, images, {.rng = random, .trace = &trace}), plain);
        CHECK(trace.at("blocks.1.z").shape() == Shape{2, config.T(), config.D});
        const Composed textbook;
        check_close(logits_and_gradients(model, images, {.rng = random}), plain);
      }
      const Array plain = model(images).value();
      CHECK(difference(whole_blocks(model, images).value(), plain) < exactly);
      // Rates do nothing at inference; training with none of them is inference, to the bit.
      const VisionTransformer still(without_randomness(config), Rng(1));
      copy_parameters(model, still);
      CHECK(difference(still(images).value(), plain) == 0);
      CHECK(difference(still(images, {.rng = &rng}).value(), plain) == 0);
    }
  }
  CHECK(pairs == 363);
}
