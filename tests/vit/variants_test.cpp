// The config by itself, and the models of the paper: everything is known before anything is
// allocated. What the switches do to a model is in vit_test.cpp.

#include "vitruvian/vit/variants.hpp"
#include "tests/folder.hpp"

#include <new>

using namespace vitruvian;

namespace {

// The largest piece of memory that this program has asked for at once.
std::size_t largest_allocation = 0;

}  // namespace

// Not inlined: g++ would see `free` of what comes from `new`, and warn of just this file's intent.
// NOLINTBEGIN(cppcoreguidelines-no-malloc)
void* operator new(std::size_t bytes) {
  if (bytes > largest_allocation) largest_allocation = bytes;
  if (void* const p = std::malloc(bytes == 0 ? 1 : bytes)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
// NOLINTEND(cppcoreguidelines-no-malloc)

TEST_CASE("Table 1 of the paper to the unit, at 224 and at the size of fine-tuning") {
  struct Row {
    const char* name;
    std::uint64_t parameters;
    std::size_t other_size;
    std::uint64_t other_parameters;
    double gmacs;
  };
  for (const Row& row : {Row{"vit_b_16", 86'567'656, 384, 86'859'496, 17.56},
                         {"vit_b_32", 88'224'232, 384, 88'297'192, 4.41},
                         {"vit_l_16", 304'326'632, 384, 304'715'752, 61.55},
                         {"vit_l_16", 304'326'632, 512, 305'174'504, 61.55},
                         {"vit_l_32", 306'535'400, 384, 306'632'680, 15.38},
                         {"vit_h_14", 632'045'800, 518, 633'470'440, 167.29},
                         {"vit_s_16", 22'050'664, 224, 22'050'664, 4.60},
                         {"vit_ti_16", 5'717'416, 224, 5'717'416, 1.25},
                         {"mini_vit", 1'077'706, 224, 1'077'706, 0.23}}) {
    CAPTURE(row.name);
    const ViTConfig& config = variant(row.name).config;
    CHECK(config.parameters() == row.parameters);
    CHECK(with_image_size(config, row.other_size).parameters() == row.other_parameters);
    CHECK(std::abs(static_cast<double>(config.macs()) / 1e9 - row.gmacs) < 0.0051);
  }
}

TEST_CASE("the parts of C1: embeddings, a block, the backbone without its head") {
  const auto parts = [](const char* name) {
    ViTConfig config = variant(name).config;
    const std::uint64_t whole = config.parameters();
    config.head = Head::none;
    const std::uint64_t backbone = config.parameters();
    ++config.L;
    const std::uint64_t block = config.parameters() - backbone;
    const std::uint64_t embeddings = backbone - (config.L - 1) * block - 2 * config.D;
    CHECK(whole - backbone == config.D * 1000 + 1000);
    return std::vector<std::uint64_t>{embeddings, block, backbone};
  };
  using Parts = std::vector<std::uint64_t>;
  CHECK(parts("vit_b_16") == Parts{742'656, 7'087'872, 85'798'656});
  CHECK(parts("vit_b_32") == Parts{2'399'232, 7'087'872, 87'455'232});
  CHECK(parts("vit_l_16") == Parts{990'208, 12'596'224, 303'301'632});
  CHECK(parts("vit_l_32") == Parts{3'198'976, 12'596'224, 305'510'400});
  CHECK(parts("vit_h_14") == Parts{1'084'160, 19'677'440, 630'764'800});
}

TEST_CASE(
    "the sizes that the blog post works out: 256 patches of 768 numbers, and CIFAR's 65 x 128") {
  const ViTConfig base = with_image_size(variant("vit_b_16").config, 256);
  CHECK(base.N() == 256);
  CHECK(base.patch_length() == 768);
  const ViTConfig& cifar = variant("cifar").config;
  CHECK(cifar.N() == 64);
  CHECK(cifar.patch_length() == 48);
  CHECK(cifar.T() == 65);
  CHECK(cifar.D == 128);
  CHECK(cifar.M == 4 * 128);
  CHECK(variant("mini_vit").config.eps ==
        1e-5);  // PyTorch's own, which the notebook does not change
}

TEST_CASE("the paper's hybrid: what a stem of four convolutions costs ViT-B/16") {
  ViTConfig c = variant("vit_b_16").config;
  const ViTConfig plain = c;
  c.stem = 4;
  c.validate();
  CHECK(c.N() == 196);  // a token still covers 16 x 16 pixels
  CHECK(c.embedded_length() == 768);
  // 3 to 96 to 192 to 384 to 768 channels, each with a norm; E from 3 x 16 x 16 to 768 x 1 x 1.
  CHECK(c.parameters() - plain.parameters() ==
        9 * (3 * 96 + 96 * 192 + 192 * 384 + 384 * 768) + 2 * (96 + 192 + 384 + 768));
  CHECK(c.macs() - plain.macs() ==
        9 * (3 * 96 * 112 * 112 + 96 * 192 * 56 * 56 + 192 * 384 * 28 * 28 + 384 * 768 * 14 * 14));
  CHECK(c.training_bytes(2, 4) - c.training_bytes(1, 4) -
            (plain.training_bytes(2, 4) - plain.training_bytes(1, 4)) ==
        4 * 5 * (96 * 112 * 112 + 192 * 56 * 56 + 384 * 28 * 28 + 768 * 14 * 14));
}

TEST_CASE("published counts of the models that came after: DeiT's, DINOv2's") {
  ViTConfig deit = variant("vit_ti_16").config;  // timm's deit_tiny_distilled_patch16_224
  deit.distilled = true;
  CHECK(deit.parameters() == 5'910'800);
  deit.D = 768, deit.h = 12, deit.M = 3072;  // deit_base_distilled_patch16_224
  CHECK(deit.parameters() == 87'338'192);
  // DINOv2's ViT-S/14 at 518 pixels, without a head, whose file holds a mask's token besides.
  ViTConfig dino = variant("vit_s_16").config;
  dino.P = 14, dino.H = dino.W = 518, dino.head = Head::none, dino.layer_scale = 1e-5;
  CHECK(dino.parameters() == 22'056'576 - 384);
  dino.registers = 4;
  CHECK(dino.parameters() == 22'056'576 - 384 + 4 * 384);
  // ViT-g/14: D 1536, 40 blocks, 24 heads, SwiGLU of 4096.
  dino.registers = 0, dino.D = 1536, dino.L = 40, dino.h = 24, dino.M = 4096, dino.swiglu = true;
  CHECK(dino.parameters() == 1'136'480'768 - 1536);
}

TEST_CASE("the registry holds what Table 1 prints, and every model is valid") {
  for (const Variant& v : variants()) {
    CAPTURE(v.name);
    v.config.validate();
    CHECK(&variant(v.name) == &v);
    if (!v.paper) continue;
    CHECK(v.config.L == v.paper->L);
    CHECK(v.config.D == v.paper->D);
    CHECK(v.config.M == v.paper->M);
    CHECK(v.config.h == v.paper->h);
  }
  CHECK_THROWS_WITH_AS(variant("vit_b_61"), "there is no model 'vit_b_61'; did you mean vit_b_16?",
                       Error);
  CHECK_THROWS_WITH_AS(with_image_size(variant("vit_h_14").config, 384),
                       "a patch of 14 does not divide an image of 384 x 384", Error);
}

TEST_CASE("describing ViT-Huge allocates nothing: its sizes are known beforehand") {
  static_cast<void>(variants());
  largest_allocation = 0;
  const Variant& huge = variant("vit_h_14");
  const ViTConfig config = with_image_size(huge.config, 518);
  CHECK(config.parameters() == 633'470'440);
  CHECK(config.forward_bytes(1, 4) > 2'500'000'000);
  CHECK(config.training_bytes(1, 4) > 10'000'000'000);
  CHECK(config.macs() > 1'000'000'000'000);
  CHECK(says(to_json(huge, 1), "632045800"));
  CHECK(largest_allocation > 0);  // the JSON's text
  CHECK(largest_allocation < 10'000);
}

TEST_CASE("memory grows with the batch, and covers what must be kept at least") {
  for (const Variant& v : variants()) {
    CAPTURE(v.name);
    const ViTConfig& c = v.config;
    const std::uint64_t weights = 4 * c.parameters();
    CHECK(c.forward_bytes(1, 4) > weights);
    CHECK(c.training_bytes(1, 4) > 4 * weights);
    CHECK(c.forward_bytes(1, 8) == 2 * c.forward_bytes(1, 4));
    const std::uint64_t probabilities = 4 * c.L * c.h * c.T() * c.T();
    CHECK(c.training_bytes(2, 4) - c.training_bytes(1, 4) > probabilities);
    CHECK(c.forward_bytes(2, 4) - c.forward_bytes(1, 4) > probabilities / c.L);
  }
}

TEST_CASE("configs that cannot be are refused with a sentence") {
  const auto complaint = [](auto change) {
    ViTConfig config;
    change(config);
    const Failure failure = failure_of([&] { config.validate(); });
    CHECK(failure.exit == (failure.message.empty() ? Exit::ok : Exit::usage));
    return failure.message;
  };
  using Config = ViTConfig;
  CHECK(complaint([](Config&) {}).empty());
  CHECK(complaint([](Config& c) { c.h = 3; }) == "3 heads do not divide a width D of 64");
  CHECK(complaint([](Config& c) { c.P = 5; }) ==
        "a patch of 5 does not divide an image of 28 x 28");
  CHECK(complaint([](Config& c) { c.P_w = 5; }) ==
        "a patch of 7 x 5 does not divide an image of 28 x 28");
  CHECK(complaint([](Config& c) { c.P_w = 14; }).empty());
  CHECK(says(complaint([](Config& c) { c.P_w = 2'000'000; }), "beyond reason"));
  CHECK(complaint([](Config& c) { c.L = 0; }) == "the depth L must not be 0");
  CHECK(complaint([](Config& c) { c.dropout = 1; }) == "a dropout of 1 is not in [0, 1)");
  CHECK(complaint([](Config& c) { c.mlp_dropout = -0.5; }) == "a dropout of -0.5 is not in [0, 1)");
  CHECK(complaint([](Config& c) { c.embedding_dropout = std::nan(""); }) ==
        "a dropout of nan is not in [0, 1)");
  CHECK(complaint([](Config& c) { c.projection_dropout = 2; }) ==
        "a dropout of 2 is not in [0, 1)");
  CHECK(complaint([](Config& c) { c.eps = 0; }) == "an eps of 0 is not between 0 and 1");
  CHECK(complaint([](Config& c) { c.D = 9, c.h = 3, c.positions = Positions::sincos; }) ==
        "sincos positions need a width D that 2 divides, not 9");
  CHECK(complaint([](Config& c) { c.D = 9, c.h = 3, c.positions = Positions::learned_2d; }) ==
        "learned_2d positions need a width D that 2 divides, not 9");
  CHECK(complaint([](Config& c) { c.D = 6, c.h = 3, c.positions = Positions::sincos_2d; }) ==
        "sincos_2d positions need a width D that 4 divides, not 6");
  CHECK(complaint([](Config& c) { c.stem = 1; }) ==
        "a stem of 1 makes the image 2 times smaller, so 2 must divide the patch size, 7");
  CHECK(complaint([](Config& c) { c.stem = 2, c.P = 4, c.P_w = 14; }) ==
        "a stem of 2 makes the image 4 times smaller, so 4 must divide the patch size, 14");
  CHECK(complaint([](Config& c) { c.stem = 2, c.P = 4, c.D = 70, c.h = 5; }) ==
        "a stem of 2 doubles its channels up to the width D, which 4 must divide: not 70");
  CHECK(complaint([](Config& c) { c.stem = 2, c.P = 4; }).empty());
  CHECK(complaint([](Config& c) { c.stem = 64; }) ==
        "a stem of 64 convolutions is beyond reason (at most 16)");
  CHECK(says(complaint([](Config& c) { c.C = c.H = c.W = c.P = 1'000'000; }), "beyond reason"));
  CHECK(complaint([](Config& c) { c.layer_scale = -1e-5; }) ==
        "a layer scale of -1e-05 is not in [0, 1]");
  CHECK(complaint([](Config& c) { c.layer_scale = std::nan(""); }) ==
        "a layer scale of nan is not in [0, 1]");
  CHECK(says(complaint([](Config& c) { c.registers = 2'000'000; }), "beyond reason"));
  CHECK(complaint([](Config& c) { c.distilled = c.mean_pooling = true; }) ==
        "distilled and mean_pooling exclude each other: a distillation token stands beside a class "
        "token");
  CHECK(complaint([](Config& c) { c.distilled = true, c.head = Head::tanh; }) ==
        "a distilled model has two linear heads: the head tanh excludes it");
  CHECK(complaint([](Config& c) { c.distilled = true, c.head = Head::none; }).empty());
  CHECK(complaint([](Config& c) { c.swiglu = c.gelu_tanh = true; }) ==
        "swiglu and gelu_tanh exclude each other: SwiGLU has no GELU");
  CHECK(says(complaint([](Config& c) { c.D = c.h = 2'000'000; }), "beyond reason"));
  CHECK(says(complaint([](Config& c) { c.H = c.W = 1'000'000, c.P = 1; }), "beyond reason"));
}

TEST_CASE("a config survives JSON, and nonsense does not") {
  ViTConfig config = variant("mini_vit").config;
  config.dropout = 0.1;
  config.mlp_dropout = 0.0;
  config.positions = Positions::sincos_2d;
  config.init = Init::hf;
  config.qkv_bias = false;
  config.P_w = 32;
  config.stem = 4;
  CHECK(ViTConfig::from_json(config.to_json()) == config);
  const auto complaint = [](const std::string& json) {
    return error_of(Exit::checkpoint, [&] { ViTConfig::from_json(json); });
  };
  const std::string good = config.to_json();
  const auto with = [&](const std::string& more) {
    return good.substr(0, good.size() - 1) + "," + more + "}";
  };
  const auto with_C = [&](const std::string& C) {
    return "{\"C\":" + C + good.substr(good.find(','));
  };
  CHECK(complaint("[]") == "the model's config is not a JSON object");
  CHECK(complaint("{") == "the model's config is not a JSON object");
  CHECK(complaint("{}") == "the model's config lacks 'C'");
  CHECK(complaint(with_C("-1")) == "the model's config: 'C' is not a whole number");
  CHECK(complaint(with_C("\"3\"")) == "the model's config: 'C' is not a whole number");
  CHECK(complaint(with_C("0")) == "the model's config: the channels must not be 0");
  CHECK(complaint(with("\"more\":1")) == "the model's config has an unknown 'more'");
  CHECK(complaint(with("\"post_norm\":1")) ==
        "the model's config: 'post_norm' is neither true nor false");
  CHECK(complaint(with("\"head\":\"big\"")) ==
        "the model's config: 'head' is none of linear, tanh, none");
  CHECK(says(complaint(with("\"positions\":3")), "is none of none, learned"));
  CHECK(complaint(with("\"embedding_dropout\":\"no\"")) ==
        "the model's config: 'embedding_dropout' is not a number");
}

TEST_CASE("a config that was written before there were switches is the paper's model") {
  const std::string old =
      R"({"C":1,"H":28,"W":28,"P":7,"D":64,"L":4,"h":4,"M":256,"K":10,"eps":1e-06,"dropout":0.0,"attention_dropout":0.0})";
  CHECK(ViTConfig::from_json(old) == ViTConfig{});
  CHECK(ViTConfig{}.to_json() == old);
}
