// Weights under four naming schemes: models written as each project writes them give their own
// logits here, every scheme converts to every other and back bit for bit, and a tensor that is
// missing, unknown, misshapen or there twice is named.

#include "vitruvian/vit/weights/naming.hpp"
#include "tests/vit/weights_testing.hpp"

using namespace vitruvian;

namespace {

const golden::Json& document() {
  static const golden::Json json = golden::read("naming.json");
  return json;
}

constexpr Scheme schemes[] = {Scheme::torchvision, Scheme::timm, Scheme::hf, Scheme::jax};

// The model of the golden file under a scheme, as if it had been read.
TensorFile golden_file(const std::string& scheme) {
  TensorFile file{"f", {}, {}};
  for (const auto& [name, json] : document()[scheme]["parameters"].items()) {
    file.tensors.push_back(stored(name, json["shape"], json["values"], Dtype::f64));
  }
  return file;
}

void prefix(TensorFile& file, const std::string& by) {
  for (StoredTensor& t : file.tensors) t.name = by + t.name;
}

void erase_all(TensorFile& file, const std::string& beginning) {
  std::erase_if(file.tensors, [&](const auto& t) { return t.name.starts_with(beginning); });
}

bool same(const TensorFile& a, const TensorFile& b) {
  return std::equal(a.tensors.begin(), a.tensors.end(), b.tensors.begin(), b.tensors.end(),
                    [](const StoredTensor& x, const StoredTensor& y) {
                      return x.name == y.name && x.shape == y.shape && x.dtype == y.dtype &&
                             x.read() == y.read();
                    });
}

TEST_CASE("a model written as each project writes it gives that project's logits here") {
  const Tensor images = golden::tensor(document()["images"]);
  for (const std::string scheme : {"torchvision", "hf", "jax"}) {
    CAPTURE(scheme);
    const VitWeights weights = opened(golden_file(scheme));
    CHECK(name_of(weights.scheme) == scheme);
    CHECK_FALSE(weights.ours);
    ViTConfig expected{.C = 3, .H = 8, .W = 8, .P = 4, .D = 8, .L = 2, .h = 2, .M = 12, .K = 3};
    expected.eps = scheme == "hf" ? 1e-12 : 1e-6;
    CHECK(weights.config == expected);
    const Array logits = golden::tensor(document()[scheme]["logits"]);
    CHECK(golden::difference(model_of(weights)(images).value(), logits) <
          (in_double ? 1e-12 : 1e-5));
  }
}

TEST_CASE("every scheme converts to every other and back, bit for bit") {
  for (const std::string first : {"torchvision", "hf", "jax"}) {
    const TensorFile file = golden_file(first);
    const TensorFile ours = to_timm(file, scheme_of(first)).file;
    CHECK(same(to_timm(ours, Scheme::timm).file, ours));
    for (const Scheme second : schemes) {
      CAPTURE(first);
      CAPTURE(name_of(second));
      const TensorFile there = from_timm(ours, second, 2);
      CHECK(detect_scheme(there) == second);
      CHECK(same(to_timm(there, second).file, ours));
      CHECK(same(from_timm(to_timm(there, second).file, scheme_of(first), 2), file));
    }
  }
}

TEST_CASE("every way of being wrong is named, with the scheme that the names look like") {
  const auto failure = [](const std::string& scheme, const auto& change) {
    TensorFile file = golden_file(scheme);
    change(file.tensors);
    sort_by_name(file.tensors);
    return error_of(Exit::checkpoint, [&] { return to_timm(file, detect_scheme(file)); });
  };
  using Tensors = std::vector<StoredTensor>;
  const auto find = [](Tensors& tensors, const std::string& name) {
    const auto found = std::find_if(tensors.begin(), tensors.end(),
                                    [&name](const StoredTensor& t) { return t.name == name; });
    REQUIRE(found != tensors.end());
    return found;
  };
  CHECK(
      failure("torchvision",
              [&](Tensors& t) { t.erase(find(t, "encoder.layers.encoder_layer_1.ln_2.bias")); }) ==
      "f: its names look like torchvision's, but it lacks "
      "'encoder.layers.encoder_layer_1.ln_2.bias'");
  CHECK(failure("hf",
                [&](Tensors& t) {
                  t.erase(find(t, "vit.encoder.layer.0.attention.attention.key.weight"));
                }) ==
        "f: its names look like Hugging Face's, but it lacks "
        "'vit.encoder.layer.0.attention.attention.key.weight'");
  CHECK(failure("jax", [&](Tensors& t) { t.push_back(stored("opt/step", {}, {1})); }) ==
        "f: its names look like JAX's, but it has 'opt/step', which no such ViT has");
  CHECK(failure("torchvision",
                [&](Tensors& t) { t.push_back(stored_zeros("encoder.ln.weights", {8})); }) ==
        "f: its names look like torchvision's, but it has 'encoder.ln.weights', which no such ViT "
        "has");
  CHECK(failure("torchvision",
                [&](Tensors& t) { find(t, "heads.head.weight")->name = "head.weight"; }) ==
        "f: its names look like torchvision's, but it lacks 'heads.head.weight', and it has "
        "'head.weight', which no such ViT has");
  CHECK(failure("jax",
                [&](Tensors& t) {
                  const auto kernel =
                      find(t, "Transformer/encoderblock_0/MlpBlock_3/Dense_0/kernel");
                  *kernel = permuted(*kernel, {1, 0});
                }) ==
        "f: its names look like JAX's, but 'Transformer/encoderblock_0/MlpBlock_3/Dense_0/kernel' "
        "is (12, 8), not (8, 12)");
  CHECK(failure("torchvision",
                [&](Tensors& t) {
                  *find(t, "conv_proj.weight") = stored_zeros("conv_proj.weight", {8, 48});
                }) ==
        "f: its names look like torchvision's, but 'conv_proj.weight' of shape (8, 48) should have "
        "4 axes");
  CHECK(failure("torchvision",
                [&](Tensors& t) {
                  t.push_back(*find(t, "encoder.layers.encoder_layer_0.mlp.0.bias"));
                  t.back().name = "encoder.layers.encoder_layer_0.mlp.linear_1.bias";
                }) ==
        "f: its names look like torchvision's, but it has both "
        "'encoder.layers.encoder_layer_0.mlp.0.bias' and "
        "'encoder.layers.encoder_layer_0.mlp.linear_1.bias', which are one tensor");
  CHECK(failure("hf",
                [&](Tensors& t) {
                  auto& key = *find(t, "vit.encoder.layer.0.attention.attention.key.bias");
                  key = stored(key.name, key.shape, key.values(), Dtype::f32);
                }) ==
        "f: its names look like Hugging Face's, but "
        "'vit.encoder.layer.0.attention.attention.query.bias' and "
        "'vit.encoder.layer.0.attention.attention.key.bias' have different dtypes");
  CHECK(failure("hf", [&](Tensors& t) { t = {stored("fc.weight", {1}, {0})}; }) ==
        "f: it holds 'fc.weight'; no ViT of torchvision, timm, Hugging Face or JAX");
  CHECK(failure("hf", [&](Tensors& t) { t.clear(); }) ==
        "f: it holds no tensors; no ViT of torchvision, timm, Hugging Face or JAX");
  CHECK_SAYS(to_timm(golden_file("hf"), Scheme::jax),
             "f: its names look like Hugging Face's, not JAX's");
}

TEST_CASE("integers that some project saves beside its weights are left out, and that is said") {
  TensorFile file = golden_file("hf");
  const auto unread = []() -> Bytes { fail(Exit::checkpoint, "asked for"); };
  file.tensors.push_back({"vit.embeddings.position_ids", Dtype::other, {1, 5}, unread});
  CHECK(same(to_timm(file, Scheme::hf).file, to_timm(golden_file("hf"), Scheme::hf).file));
  file.tensors.back().dtype = Dtype::f32;
  CHECK_SAYS(
      to_timm(file, Scheme::hf),
      "f: its names look like Hugging Face's, but it has 'vit.embeddings.position_ids', which no "
      "such ViT has");

  const Folder folder;
  write_safetensors(folder.file("w"), golden_file("hf").tensors, {});
  std::string bytes = content(folder.file("w"));
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  const std::size_t end = bytes.find_last_of('}', 7 + static_cast<std::size_t>(length));
  const std::size_t data = bytes.size() - 8 - static_cast<std::size_t>(length);
  const std::string more =
      fmt::format(R"(,"n":{{"dtype":"I64","shape":[],"data_offsets":[{},{}]}})", data, data + 8);
  bytes.insert(end, more);
  length += more.size();
  std::memcpy(bytes.data(), &length, sizeof length);
  write(folder.path / "w", bytes + "12345678");
  const VitWeights weights = open_weights(folder.file("w"), {.heads = 2});
  REQUIRE(weights.notes.size() == 1);
  CHECK(weights.notes[0] == "'n': no floating-point numbers, left out");
  CHECK(weights.tensors.find("n") == nullptr);
}

TEST_CASE("a config that another project wrote does not stop whoever names the scheme") {
  TensorFile file = golden_file("hf");
  for (const char* const config : {R"({"hidden_size":8})", "yaml: no", R"({"C":3,"H":8})"}) {
    CAPTURE(config);
    file.metadata["config"] = config;
    const VitWeights weights = opened(file, {.scheme = Scheme::hf, .heads = 2});
    CHECK_FALSE(weights.ours);
    CHECK(weights.config.D == 8);
    check_error(Exit::checkpoint, {"the model's config ", " (--from-scheme, "},
                [&] { return opened(file); });
  }
}

TEST_CASE("old and bare names are read") {
  TensorFile file = golden_file("torchvision");
  const TensorFile ours = to_timm(file, Scheme::torchvision).file;
  for (StoredTensor& t : file.tensors) {
    for (const auto& [now, old] : {std::pair{"mlp.0", "mlp.linear_1"}, {"mlp.3", "mlp.linear_2"}}) {
      if (const auto at = t.name.find(now); at != std::string::npos) t.name.replace(at, 5, old);
    }
  }
  CHECK(same(to_timm(file, Scheme::torchvision).file, ours));

  file = golden_file("hf");  // ViTModel: no head, no prefix
  erase_all(file, "classifier");
  for (StoredTensor& t : file.tensors) t.name.erase(0, 4);
  CHECK_SAYS(to_timm(file, Scheme::hf),
             "f: its names look like Hugging Face's, but it lacks 'classifier.weight', "
             "'classifier.bias'");
  CHECK(to_timm(file, Scheme::hf, {.head = true}).sizes.K == 0);
}

TEST_CASE("what wrapped a model is taken off its names") {
  const TensorFile torchvision = golden_file("torchvision");
  const TensorFile ours = opened(torchvision).tensors;
  for (const char* const by : {"module.", "model.", "module.model.", "_orig_mod.module."}) {
    CAPTURE(by);
    TensorFile file = torchvision;
    prefix(file, by);
    CHECK(same(opened(file).tensors, ours));
  }
  TensorFile deit = golden_file("hf");
  const TensorFile vit = opened(deit).tensors;
  for (StoredTensor& t : deit.tensors) {
    if (t.name.starts_with("vit.")) t.name = "deit." + t.name.substr(4);
  }
  CHECK(same(opened(deit).tensors, vit));
  prefix(deit, "model.");
  CHECK(same(opened(deit).tensors, vit));
  // Not all of them share it: then it tells something.
  TensorFile half = torchvision;
  half.tensors.front().name = "module." + half.tensors.front().name;
  CHECK(failure_of([&] { static_cast<void>(opened(half)); }).exit == Exit::checkpoint);
}

TEST_CASE("without a head the output is y, of which the golden head makes the golden logits") {
  const Tensor images = golden::tensor(document()["images"]);
  const std::string no_head =
      "there is no head: the model's output is y, what it sees; --classes K gives it one of zeros";
  const auto check = [&](const std::string& scheme, TensorFile file, const std::string& head,
                         const std::vector<std::string>& notes) {
    CAPTURE(scheme);
    const VitWeights weights = opened(file);
    CHECK(weights.config.head == Head::none);
    CHECK(weights.config.K == 8);
    CHECK(weights.notes == notes);
    const TensorFile whole = golden_file(scheme);
    const auto W = whole.at(head + "weight").values();
    const auto b = whole.at(head + "bias").values();
    const Array y = model_of(weights)(images).value();
    const Array logits = golden::tensor(document()[scheme]["logits"]);
    REQUIRE(y.size() == 2 * 8);
    for (std::size_t i = 0; i < 2; ++i) {
      for (std::size_t k = 0; k < 3; ++k) {
        double sum = b[k];
        for (std::size_t d = 0; d < 8; ++d) sum += W[8 * k + d] * double(y.data()[8 * i + d]);
        CHECK(std::abs(sum - double(logits.data()[3 * i + k])) < (in_double ? 1e-12 : 1e-5));
      }
    }
  };
  TensorFile file = golden_file("hf");  // ViTModel, alone and in something else
  erase_all(file, "classifier.");
  check("hf", file, "classifier.", {no_head});
  TensorFile pooled = file;
  pooled.tensors.push_back(stored_zeros("vit.pooler.dense.weight", {8, 8}));
  pooled.tensors.push_back(stored_zeros("vit.pooler.dense.bias", {8}));
  for (StoredTensor& t : pooled.tensors) t.name.erase(0, 4);
  check("hf", pooled, "classifier.",
        {"the layer between y and a head that is not there ('pooler' or 'pre_logits') is left out",
         no_head});
  prefix(pooled, "vit.");  // beside a classifier, which does not read it
  for (const char* of : {"classifier.weight", "classifier.bias"}) {
    pooled.tensors.push_back(golden_file("hf").at(of));
  }
  CHECK(golden::difference(model_of(opened(pooled))(images).value(),
                           golden::tensor(document()["hf"]["logits"])) <
        (in_double ? 1e-12 : 1e-5));
  file = golden_file("torchvision");
  erase_all(file, "heads.head.");
  check("torchvision", file, "heads.head.", {no_head});
  // Half of a head is damage; another number of classes gives it one.
  file = golden_file("torchvision");
  erase_all(file, "heads.head.bias");
  CHECK(error_of(Exit::checkpoint, [&] {
          return opened(file);
        }).ends_with("but it lacks 'heads.head.bias'"));
  erase_all(file, "heads.head.weight");
  const VitWeights five = opened(file, {.heads = 2, .classes = 5});
  CHECK(five.config.head == Head::linear);
  CHECK(five.config.K == 5);
  CHECK(five.tensors.at("head.weight").values() == std::vector<double>(40));
}

TEST_CASE("files without a class token, and a class token without a position") {
  const TensorFile timm = to_timm(golden_file("torchvision"), Scheme::torchvision).file;
  const std::vector<double> all = timm.at("pos_embed").values();
  const StoredTensor of_patches =
      stored("pos_embed", {1, 4, 8}, {all.begin() + 8, all.end()}, Dtype::f64);
  const auto with = [](TensorFile file, const StoredTensor& tensor) {
    erase_all(file, tensor.name);
    file.tensors.push_back(tensor);
    return file;
  };
  // timm's no_embed_class: zeros where the class token is.
  VitWeights weights = opened(with(timm, of_patches));
  CHECK(weights.notes ==
        std::vector<std::string>{"the class token has no position: its row gets zeros"});
  std::vector<double> expected(8, 0.0);
  expected.insert(expected.end(), all.begin() + 8, all.end());
  CHECK(weights.tensors.at("pos_embed").values() == expected);
  CHECK(weights.tensors.at("pos_embed").shape == std::vector<std::size_t>{1, 5, 8});
  CHECK_FALSE(weights.config.mean_pooling);
  CHECK(weights.config.H == 8);

  // The mean over the patches: of their norms, or (timm's fc_norm) the norm of their mean.
  TensorFile pooled = with(timm, of_patches);
  erase_all(pooled, "cls_token");
  weights = opened(pooled);
  CHECK(weights.config.mean_pooling);
  CHECK_FALSE(weights.config.norm_after_pooling);
  CHECK(weights.tensors.at("pos_embed").shape == std::vector<std::size_t>{1, 4, 8});
  model_of(weights);  // takes them all
  CHECK(same(opened(from_timm(pooled, Scheme::jax, 2)).tensors, weights.tensors));
  const TensorFile before = weights.tensors;
  const auto rename = [](TensorFile& file) {
    for (StoredTensor& t : file.tensors) {
      if (t.name.starts_with("norm.")) t.name = "fc_" + t.name;
    }
  };
  rename(pooled);
  weights = opened(pooled);
  CHECK(weights.config.mean_pooling);
  CHECK(weights.config.norm_after_pooling);
  CHECK(same(weights.tensors, before));

  const auto failure = [](const TensorFile& file) {
    const std::string message = error_of(Exit::checkpoint, [&] { return opened(file); });
    return message.substr(std::min(message.size(), message.find(": ") + 2));
  };
  TensorFile both = timm;
  rename(both);
  CHECK(failure(both).starts_with("by its 'fc_norm.weight' it takes the mean over the patches"));
  TensorFile lost = timm;
  erase_all(lost, "cls_token");
  CHECK(failure(lost) == "its names look like timm's, but it lacks the class token");
}

TEST_CASE("what only learning without labels needs is left out") {
  TensorFile file = to_timm(golden_file("torchvision"), Scheme::torchvision).file;
  file.tensors.push_back(stored_zeros("mask_token", {1, 1, 8}));
  file.tensors.push_back(stored_zeros("decoder_blocks.0.norm1.bias", {8}));
  CHECK(opened(file).notes ==
        std::vector<std::string>{"'decoder_blocks.0.norm1.bias', 'mask_token': only for training "
                                 "without labels, left out"});
}

TEST_CASE("a file that is another kind of model is told what it seems to be") {
  const auto seems = [](const std::string& name) {
    TensorFile file = to_timm(golden_file("torchvision"), Scheme::torchvision).file;
    file.tensors.push_back(stored(name, {1}, {0}));
    const std::string message = error_of(Exit::checkpoint, [&] { return opened(file); });
    const std::string begin = ": by its '" + name + "' it seems to be ";
    const std::size_t at = message.find(begin);
    if (at == std::string::npos) return message;
    const std::size_t from = at + begin.size();
    return message.substr(from, message.find(';') - from);
  };
  // Names as their publishers have them.
  CHECK(seems("layer1.0.conv1.weight") == "a ResNet");
  CHECK(seems("resnet.layer1.0.conv1.weight") == "a ResNet");
  CHECK(seems("patch_embed.backbone.stem.conv.weight").starts_with("the paper's hybrid"));
  CHECK(seems("layers.0.blocks.0.attn.relative_position_bias_table") == "a Swin Transformer");
  CHECK(seems("features.1.0.attn.relative_position_bias_table") == "a Swin Transformer");
  CHECK(seems("swin.encoder.layers.0.blocks.0.layernorm_before.weight") == "a Swin Transformer");
  CHECK(seems("blocks.0.attn.relative_position_bias_table") == "a BEiT");
  CHECK(seems("visual.class_embedding") == "a CLIP");
  CHECK(seems("vision_model.embeddings.class_embedding") == "a CLIP");
  CHECK(seems("vision_model.embeddings.patch_embedding.weight") == "a SigLIP");
  CHECK(seems("blocks.0.0.conv_dw.weight") == "an EfficientNet or a MobileNet");
  CHECK(seems("features.denseblock1.denselayer1.conv1.weight") == "a DenseNet");
  CHECK(seems("classifier.6.weight") == "a VGG or an AlexNet");
  CHECK(seems("bert.embeddings.word_embeddings.weight") == "a language model");
  CHECK(seems("model.embed_tokens.weight") == "a language model");
  CHECK(seems("transformer.h.0.attn.c_attn.weight") == "a language model");
  CHECK(seems("encoder.block.0.layer.0.SelfAttention.q.weight") == "a language model");
  CHECK(seems("model.diffusion_model.out.0.weight") == "a diffusion model");
  CHECK(seems("blocks.0.mlp_tokens.fc1.weight") == "an MLP-Mixer");
  CHECK(seems("blocks_token_only.0.norm1.weight") == "a CaiT");
  CHECK(says(seems("something.else"), "which no such ViT has"));
}

TEST_CASE("positions resize as the four projects' own functions do it") {
  const golden::Json cases = document()["positions"];
  CHECK(cases.size() == 10);
  for (const auto& c : cases) {
    const Grid from{c["from"][0], c["from"][1]};
    const Grid to{c["to"][0], c["to"][1]};
    for (const std::string& how : pos_resize_names()) {
      CAPTURE(how);
      CAPTURE(c["from"].dump() + c["to"].dump());
      const auto ours = resize_grid(c["values"], from, to, c["channels"], pos_resize_of(how));
      const std::vector<double> expected = c[how];
      REQUIRE(ours.size() == expected.size());
      double worst = 0;
      for (std::size_t i = 0; i < ours.size(); ++i) {
        worst = std::max(worst, std::abs(ours[i] - expected[i]));
      }
      CHECK(worst < 1e-12);
    }
  }
}

TEST_CASE("another image size and another number of classes") {
  const Folder folder;
  write_safetensors(folder.file("w"), golden_file("torchvision").tensors, {});
  WeightsRequest request{.heads = 2, .height = 12, .width = 16, .classes = 5};
  const VitWeights weights = open_weights(folder.file("w"), request);
  CHECK(weights.notes ==
        std::vector<std::string>{"the head for 3 classes is replaced by zeros for 5",
                                 "the position embeddings are resized from 2 x 2 to 3 x 4 patches, "
                                 "as torchvision does it"});
  CHECK(weights.config.K == 5);
  CHECK(weights.tensors.at("head.weight").values() == std::vector<double>(40));
  const auto old = golden_file("torchvision").at("encoder.pos_embedding").values();
  const auto resized = weights.tensors.at("pos_embed").values();
  REQUIRE(resized.size() == 13 * 8);
  CHECK(std::equal(old.begin(), old.begin() + 8, resized.begin()));  // the class token's
  const auto grid =
      resize_grid({old.begin() + 8, old.end()}, {2, 2}, {3, 4}, 8, PosResize::torchvision);
  CHECK(std::equal(grid.begin(), grid.end(), resized.begin() + 8));
  CHECK(model_of(weights)(Tensor(zeros({1, 3, 12, 16}))).shape() == Shape{1, 5});

  request.height = 13;
  CHECK(error_of(Exit::usage, [&] { return open_weights(folder.file("w"), request); }) ==
        "a patch of 4 does not divide an image of 13 x 16");
  CHECK_SAYS(
      open_weights(folder.file("w")),
      folder.file("w") + ": a width of 8 is no multiple of 64, so the heads are a guess: --heads?");
}

}  // namespace
