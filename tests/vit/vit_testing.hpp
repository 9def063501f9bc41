#pragma once

#include "tests/golden.hpp"
#include "vitruvian/core/check/gradcheck.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/nn/init.hpp"
#include "vitruvian/vit/fields.hpp"
#include "vitruvian/vit/model.hpp"
#include "vitruvian/vit/variants.hpp"

// What the tests of the model share: a tiny ViT with every switch of the config turned once, and
// the models that PyTorch knows.

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

struct Switched {
  std::string name;
  ViTConfig config;
};

/// One option at another value.
struct Turned {
  std::string field;
  std::string name;
  std::function<void(ViTConfig&)> set;
};

/// Every option of a config at every value that is not its own. One that is new is among them.
inline std::vector<Turned> options_of(const ViTConfig& usual) {
  std::vector<Turned> all;
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
      add("2", key == "stem" ? 1 : 2);
    } else {
      add("0.5", 0.5);  // a rate
    }
  });
  return all;
}

/// Each switch of the config alone, as switches.json has them, and some together.
inline std::vector<Switched> every_switch() {
  std::vector<Switched> all;
  for (const golden::Json& c : golden::read("switches.json")["cases"]) {
    if (!c["seed"].is_null()) continue;  // a rate
    all.push_back({c["name"].get<std::string>(), ViTConfig::from_json(c["config"].dump())});
  }
  const auto add = [&](const char* name, auto change) {
    ViTConfig config = tiny_vit();
    change(config);
    all.push_back({name, config});
  };
  add("square", [](ViTConfig&) {});
  add("flat patches", [](ViTConfig& c) { c.P = 2, c.P_w = 4, c.W = 12, c.C = 1; });
  add("tall patches", [](ViTConfig& c) { c.P = 4, c.P_w = 2, c.H = 12, c.C = 5; });
  add("flat convolution", [](ViTConfig& c) { c.P = 2, c.P_w = 4, c.conv_patches = true; });
  add("flat, relative", [](ViTConfig& c) { c.P_w = 2, c.positions = Positions::relative; });
  add("flat, by rows and columns",
      [](ViTConfig& c) { c.P_w = 2, c.positions = Positions::learned_2d; });
  add("a stem, flat patches", [](ViTConfig& c) { c.P = 2, c.P_w = 4, c.W = 12, c.stem = 1; });
  add("a stem, places of 2 x 2", [](ViTConfig& c) { c.P = 8, c.stem = 2, c.conv_patches = true; });
  add("eps 1e-12", [](ViTConfig& c) { c.eps = 1e-12; });
  add("all at once", [](ViTConfig& c) {
    c.patch_bias = c.proj_bias = false;
    c.conv_patches = c.per_head_qkv = c.post_norm = c.mean_pooling = c.gelu_tanh = true;
    c.positions = Positions::relative, c.head = Head::tanh;
    c.qk_norm = true, c.layer_scale = 1, c.registers = 2;
  });
  return all;
}

/// With every parameter of order one, so that nothing hides (see tiny_vit_of_order_one).
inline VisionTransformer of_order_one(const ViTConfig& config, const Rng& rng) {
  VisionTransformer model(config, rng);
  for (const NamedParameter& p : named_parameters(model)) {
    init::normal(p.tensor, rng.fork(p.name), 1,
                 p.role == Role::norm && p.name.ends_with("weight") ? 1 : 0);
  }
  return model;
}

/// Values of the parameters as golden_switches.py draws them, from number `at` of the pool on.
inline void fill(std::vector<NamedParameter> parameters, const std::vector<double>& pool,
                 std::size_t at = 0) {
  std::sort(parameters.begin(), parameters.end(),
            [](const NamedParameter& a, const NamedParameter& b) { return a.name < b.name; });
  for (const NamedParameter& p : parameters) {
    const double mean = p.name.find("norm") != std::string::npos && p.name.ends_with("weight");
    const WriteGuard guard = p.tensor.mutable_value();
    Array& value = *guard;
    for (std::size_t i = 0; i < value.size(); ++i) {
      value.data()[i] = static_cast<real>(0.4 * pool[at++ % pool.size()] + mean);
    }
  }
}

inline Tensor images_for(const ViTConfig& config, std::size_t B, std::uint64_t seed) {
  return Tensor(random_normal({B, config.C, config.H, config.W}, seed));
}

using golden::largest;

/// Logits, then every gradient of sum(logits * c), c random.
inline std::vector<Array> logits_and_gradients(const VisionTransformer& model, const Tensor& images,
                                               const Pass& pass = {}) {
  const Tensor y = model(images, pass);
  std::vector<Array> result =
      grad(y, trainable(named_parameters(model)), random_normal(y.shape(), 13));
  result.insert(result.begin(), y.value());
  return result;
}

/// Holds the logits and gradients of one way against those of another, of which none is zero.
inline void check_same(const std::vector<Array>& a, const std::vector<Array>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CAPTURE(i);
    CHECK(largest(b[i]) > 1e-9);
    CHECK(golden::difference(a[i], b[i]) < (in_double ? 1e-11 : 1e-3));
  }
}

// --- golden numbers ------------------------------------------------------------------------------

using NameOf = std::string(std::string);
inline std::string our_name(std::string name) { return name; }

/// The model of this config with golden parameters, which have names of their own perhaps.
inline VisionTransformer golden_model(const ViTConfig& config, const golden::Json& parameters,
                                      NameOf* name_of = our_name) {
  VisionTransformer model(config, Rng(1));
  REQUIRE(named_parameters(model).size() == parameters.size());
  for (const NamedParameter& p : named_parameters(model)) {
    CAPTURE(p.name);
    p.tensor.mutable_value() = golden::tensor(parameters[name_of(p.name)]);
  }
  return model;
}

/// Holds what `backward` has left at the parameters against PyTorch's gradients.
inline void check_gradients(const std::vector<NamedParameter>& parameters,
                            const golden::Json& golden, double tolerance,
                            NameOf* name_of = our_name) {
  CHECK(parameters.size() == golden.size());
  for (const NamedParameter& p : parameters) {
    CAPTURE(p.name);
    REQUIRE(p.tensor.grad());
    const Array expected = golden::tensor(golden[name_of(p.name)]);
    // What shifts a query's scores alike, as k_norm's bias does, has no gradient but rounding.
    if (largest(expected) < 1e-14) {
      CHECK(largest(*p.tensor.grad()) < tolerance);
    } else {
      CHECK(golden::difference(*p.tensor.grad(), expected) < tolerance);
    }
  }
}

/// Holds the logits, the mean cross entropy and every gradient of it against PyTorch's.
inline void check_golden(const VisionTransformer& model, const Tensor& images,
                         const std::vector<std::size_t>& labels, const golden::Json& c,
                         double tolerance, double gradient_tolerance, const Rng* rng = nullptr,
                         NameOf* name_of = our_name) {
  const Tensor logits = model(images, {.rng = rng});
  CHECK(golden::difference(logits.value(), golden::tensor(c["logits"])) < tolerance);
  const Tensor loss = cross_entropy(logits, labels);
  CHECK(std::abs(static_cast<double>(loss.item()) - c["loss"].get<double>()) < tolerance);
  loss.backward();
  check_gradients(named_parameters(model), c["gradients"], gradient_tolerance, name_of);
}

inline constexpr double golden_tolerance = in_double ? 1e-10 : 5e-5;

/// The ViT whose numbers and whose inside PyTorch knows.
struct GoldenVit {
  golden::Json json = golden::read("vit.json");
  golden::Json inside = json["inside"];
  VisionTransformer model = golden_model(tiny_vit(), json["parameters"]);
  Array images = golden::tensor(json.at("images"));
  std::vector<std::size_t> labels = json.at("labels").get<std::vector<std::size_t>>();
  std::vector<std::size_t> targets = inside.at("targets").get<std::vector<std::size_t>>();

  /// How far `ours` is from the golden numbers of this name, read in our shape.
  [[nodiscard]] double off(const std::string& name, const Array& ours) const {
    Array theirs = golden::tensor(inside.at(name));
    if (theirs.size() == ours.size()) theirs.reshape(ours.shape());
    return golden::difference(ours, theirs);
  }
};

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
