// PyTorch's numbers: of every switch of the config alone (golden_switches.py), and of torchvision's
// models. All pairs of switches by what must not change a number.

#include "tests/folder.hpp"
#include "tests/vit/vit_testing.hpp"
#include "vitruvian/core/composed.hpp"
#include "vitruvian/nn/safetensors.hpp"

using namespace vitruvian;
using golden::difference;

namespace {

constexpr double exactly = in_double ? 1e-12 : 1e-4;

// Every field that is no size, at every value that is not its default.
std::vector<Turned> settings() {
  std::vector<Turned> all = options_of(ViTConfig());
  for (const double eps : {1e-12, 0.1}) {
    all.push_back({"eps", fmt::format("eps {}", eps), [eps](ViTConfig& c) { c.eps = eps; }});
  }
  all.push_back({"dropout", "dropout", [](ViTConfig& c) { c.dropout = 0.5; }});
  all.push_back({"attention", "attention", [](ViTConfig& c) { c.attention_dropout = 0.5; }});
  return all;
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
    // The bias of k's norm adds one number to all scores of a query, which softmax does not see:
    // its gradient is zero but for rounding.
    const double rounding = in_double ? 1e-9 : 1e-5;
    if (largest(b[i]) > rounding) {
      CHECK(difference(a[i], b[i]) < 10 * exactly);
    } else {
      CHECK(largest(a[i]) < 10 * rounding);
    }
  }
}

// Equation 4 written out, with every row of every block.
Tensor whole_blocks(const VisionTransformer& model, const Tensor& images) {
  const ViTConfig& c = model.config;
  Tensor z = model.embed(images);
  for (const Block& block : model.blocks) z = block(z);
  Tensor y;
  if (c.distilled) {
    const Tensor both = model.norm(z);
    const Tensor one = select(both, 1, 0), other = select(both, 1, 1);
    if (c.head == Head::none) return (one + other) / real(2);
    return (model.head(one) + model.head_dist(other)) / real(2);
  }
  if (!c.mean_pooling) {
    y = model.norm(select(z, 1, 0));
  } else {
    const Tensor patches =
        slice(z, 1, static_cast<std::ptrdiff_t>(c.registers), static_cast<std::ptrdiff_t>(c.T()));
    y = c.norm_after_pooling ? model.norm(mean(patches, {1})) : mean(model.norm(patches), {1});
  }
  if (c.head == Head::tanh) y = tanh(model.pre_logits(y));
  return c.head == Head::none ? y : model.head(y);
}

// torchvision's name for one of our parameters. Shapes are the same.
std::string torchvisions_name(std::string name) {
  const auto replace = [&name](const std::string& from, const std::string& to) {
    if (const auto at = name.find(from); at != std::string::npos) name.replace(at, from.size(), to);
  };
  if (name == "cls_token") return "class_token";
  if (name == "pos_embed") return "encoder.pos_embedding";
  if (name.starts_with("norm.")) return "encoder.ln" + name.substr(4);
  if (name.starts_with("head.")) return "heads." + name;
  replace("patch_embed.proj", "conv_proj");
  replace("blocks.", "encoder.layers.encoder_layer_");
  replace(".norm1.", ".ln_1.");
  replace(".norm2.", ".ln_2.");
  replace(".attn.qkv.", ".self_attention.in_proj_");
  replace(".attn.proj.", ".self_attention.out_proj.");
  replace(".mlp.fc1.", ".mlp.0.");
  replace(".mlp.fc2.", ".mlp.3.");
  return name;
}

// The images that golden_torchvision.images makes.
Array torchvisions_images(std::size_t B, std::size_t side) {
  return array({B, 3, side, side}, golden::numbers(0, B * 3 * side * side));
}

double norm(const Array& a) {
  double squares = 0;
  for (const real x : a) squares += static_cast<double>(x) * static_cast<double>(x);
  return std::sqrt(squares);
}

}  // namespace

TEST_CASE("each switch alone, and each rate by given masks: PyTorch's logits, loss, gradients") {
  const golden::Json json = golden::read("switches.json");
  const Tensor images = golden::tensor(json["images"]);
  const std::vector<double> pool = json["pool"]["values"];
  const std::vector<std::size_t> labels = json["labels"];
  CHECK(json["cases"].size() == 51);
  for (const golden::Json& c : json["cases"]) {
    CAPTURE(c["name"].get<std::string>());
    const VisionTransformer model(ViTConfig::from_json(c["config"].dump()), Rng(1));
    fill(named_parameters(model), pool);
    const Rng rng(c["seed"].is_null() ? 0 : c["seed"].get<std::uint64_t>());
    check_golden(model, images, labels, c, exactly, 10 * exactly,
                 c["seed"].is_null() ? nullptr : &rng);
  }
}

TEST_CASE("mimetic initial values: the products are numpy's, and split evenly") {
  const golden::Json json = golden::read("switches.json");
  const golden::Json& expected = json["mimetic"];
  ViTConfig c = ViTConfig::from_json(json["cases"][0]["config"].dump());
  c.init = Init::mimetic;
  const VisionTransformer model(c, Rng(expected["seed"].get<std::uint64_t>()));
  for (std::size_t l = 0; l < c.L; ++l) {
    CAPTURE(l);
    const Array& qkv = model.blocks[l].attn.qkv.weight.value();
    const auto part = [&](std::size_t first, std::size_t rows) {
      return slice(Tensor(qkv), 0, static_cast<std::ptrdiff_t>(first),
                   static_cast<std::ptrdiff_t>(first + rows));
    };
    for (std::size_t i = 0; i < c.h; ++i) {
      CAPTURE(i);
      const Tensor q = part(i * c.D_h(), c.D_h());
      const Tensor k = part(c.D + i * c.D_h(), c.D_h());
      const Tensor golden = select(Tensor(golden::tensor(expected["qk"][l])), 0, i);
      CHECK(difference(matmul(transpose(q), k).value(), golden.value()) < exactly);
      // S^(1/2) U^T and S^(1/2) V^T: the same lengths, at right angles.
      const Array lengths = matmul(q, transpose(q)).value();
      CHECK(difference(matmul(k, transpose(k)).value(), lengths) < exactly);
      for (std::size_t r = 0; r < c.D_h(); ++r) {
        for (std::size_t s = 0; s < r; ++s) CHECK(std::abs(lengths(r, s)) < exactly);
        CHECK(lengths(r, r) > 0);
      }
    }
    const Tensor v = part(2 * c.D, c.D);
    const Tensor proj(model.blocks[l].attn.proj.weight.value());
    const Array product = matmul(transpose(v), transpose(proj)).value();
    CHECK(difference(product, golden::tensor(expected["v_proj"][l])) < exactly);
    CHECK(difference(matmul(v, transpose(v)).value(), matmul(transpose(proj), proj).value()) <
          exactly);
  }
  ViTConfig waves = c;
  waves.positions = Positions::sincos_2d;
  CHECK(difference(model.pos_embed.table.value(),
                   VisionTransformer(waves, Rng(1)).pos_embed.waves.value()) == 0);
  c.per_head_qkv = true;
  const VisionTransformer apart(c, Rng(expected["seed"].get<std::uint64_t>()));
  const Tensor joint = reshape(model.blocks[1].attn.qkv.weight, {3, 2, 4, 8});
  for (std::size_t i = 0; i < 2; ++i) {
    const Tensor own = reshape(apart.blocks[1].attn.head_qkv[i].weight, {3, 4, 8});
    CHECK(own.value() == select(joint, 1, static_cast<std::ptrdiff_t>(i)).value());
  }
  c.D = 6;  // waves come by fours
  CHECK(difference(VisionTransformer(c, Rng(1)).pos_embed.table.value(), zeros({1, c.T(), 6})) > 0);
}

TEST_CASE("what is not said is the paper's model, with an eps of 1e-6 and no dropout") {
  const ViTConfig c;
  CHECK(c.eps == 1e-6);
  CHECK(LayerNorm({3}).eps == 1e-6);
  CHECK(c.dropout == 0);
  CHECK(c.attention_dropout == 0);
  CHECK(c.stochastic_depth == 0);
  CHECK(c.stem == 0);
  CHECK((!c.embedding_dropout && !c.projection_dropout && !c.mlp_dropout));
  CHECK((c.patch_bias && c.qkv_bias && c.proj_bias));
  CHECK_FALSE((c.post_norm || c.mean_pooling || c.norm_after_pooling || c.gelu_tanh));
  CHECK_FALSE((c.swiglu || c.qk_norm || c.distilled || c.registers != 0 || c.layer_scale != 0));
  CHECK(c.positions == Positions::learned);
  CHECK(c.head == Head::linear);
  CHECK(c.init == Init::jax);
}

TEST_CASE("all pairs of switches: traced, composed, whole blocks, nothing random: one number") {
  const std::vector<double> pool = golden::read("switches.json")["pool"]["values"];
  const std::vector<Turned> all = settings();
  CHECK(all.size() == 35);
  std::size_t pairs = 0, refused = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (all[i].field == all[j].field) continue;
      INFO("all[i].name ", all[i].name, ", all[j].name ", all[j].name);
      ViTConfig config = tiny_vit();
      config.W = 12;  // not square
      all[i].set(config);
      all[j].set(config);
      if (failure_of([&] { config.validate(); }).exit == Exit::usage) {
        ++refused;
        continue;
      }
      ++pairs;
      const VisionTransformer model(config, Rng(1));
      fill(named_parameters(model), pool, 31 * i + j);
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
  CHECK(pairs == 574);
  CHECK(refused == 3);  // distilled with mean_pooling or head tanh, swiglu with gelu_tanh
}

TEST_CASE("a reduced model of each of torchvision's builders: logits, loss and every gradient") {
  for (const char* builder : {"vit_b_16", "vit_b_32", "vit_l_16", "vit_l_32", "vit_h_14"}) {
    CAPTURE(builder);
    const golden::Json json = golden::read("torchvision.json")["builders"][builder];
    const VisionTransformer model = golden_model(ViTConfig::from_json(json["config"].dump()),
                                                 json["parameters"], torchvisions_name);
    const auto labels = json.at("labels").get<std::vector<std::size_t>>();
    check_golden(model, torchvisions_images(labels.size(), model.config.H), labels, json,
                 in_double ? 1e-13 : 1e-6, in_double ? 1e-11 : 1e-5, nullptr, torchvisions_name);
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
  std::vector<NamedParameter> parameters = named_parameters(model);
  for (NamedParameter& p : parameters) p.name = torchvisions_name(p.name);
  CHECK(parameters.size() == 152);
  load(parameters, read_safetensors(path + ".safetensors"));
  const golden::Json truth = golden::Json::read(path + ".json");
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
    const Array& golden = gradients[i].tensor.value();
    const double error = norm(*parameters[i].tensor.grad() - golden) / norm(golden);
    CHECK(error <= 1e-5);
    worst_gradient = std::max(worst_gradient, error);
  }
  MESSAGE("logits " << logits_error << " of the largest, loss " << loss_error << ", worst gradient "
                    << worst_gradient << " of its norm");
}
