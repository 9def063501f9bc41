#include "lessons/experiments/exhibits.hpp"
#include "lessons/telling/lesson.hpp"
#include "lessons/telling/source.hpp"
#include "vitruvian/nn/tensor_file.hpp"
#include "vitruvian/vit/model.hpp"

using namespace vitruvian::lessons;

const Lesson about = {
    .title = "Weights from elsewhere",
    .equation = "timm = torchvision = ours",
    .minutes = 10,
    .rows = "1-22",
    .breaks = {{"eps", "layer norms with ε = 1e-5",
                "the tokens here are of ordinary size, and still the fourth digit moves."},
               {"another-order", "the model gets k, q, v in place of q, k, v",
                "every shape fits, and who asks is taken for who answers."},
               {"patch-order", "the model gets JAX's kernel reshaped in place of permuted",
                "(P, P, C) and (C, P, P) hold as many numbers, in another order."}},
    .play = {"From which ε on does a layer norm of others read as another model?",
             {{"ε, power of ten", -8, -1, -5, 0.25}, {"image", 0, 2, 0, 1}}},
};

constexpr std::size_t B = 3, D = 8, h = 2, L = 2, M = 12, K = 3, P = 4, C = 3;

// [region names]
// torchvision's name of a tensor in timm's words, which are ours.
std::string ours(std::string name) {
  const char* const words[][2] = {{"encoder.layers.encoder_layer_", "blocks."},
                                  {"encoder.pos_embedding", "pos_embed"},
                                  {"encoder.ln.", "norm."},
                                  {"class_token", "cls_token"},
                                  {"conv_proj.", "patch_embed.proj."},
                                  {"self_attention.in_proj_", "attn.qkv."},
                                  {"self_attention.out_proj.", "attn.proj."},
                                  {"ln_1.", "norm1."},
                                  {"ln_2.", "norm2."},
                                  {"mlp.0.", "mlp.fc1."},
                                  {"mlp.3.", "mlp.fc2."},
                                  {"heads.head.", "head."}};
  for (const auto& [from, to] : words) {
    const std::size_t at = name.find(from);
    if (at != std::string::npos) name.replace(at, std::string_view(from).size(), to);
  }
  return name;
}
// [end]

Array array_of(const StoredTensor& t) {
  return array({t.shape.begin(), t.shape.end()}, t.values());
}

// [region load]
// Every tensor of the file goes to the parameter of its name and shape.
std::size_t load_torchvision(const VisionTransformer& model, const TensorFile& file) {
  std::size_t loaded = 0;
  for (const NamedParameter& p : named_parameters(model)) {
    for (const StoredTensor& t : file.tensors) {
      if (ours(t.name) != p.name || array_of(t).shape() != p.tensor.shape()) continue;
      p.tensor.mutable_value() = array_of(t), ++loaded;
    }
  }
  return loaded;
}
// [end]

ViTConfig config(double eps) {
  return {.C = C, .H = 8, .W = 8, .P = P, .D = D, .L = L, .h = h, .M = M, .K = K, .eps = eps};
}

// [region three matrices]
// Hugging Face and JAX keep q, k and v apart; we want them one above another, in this order.
Tensor fused(const Tensor& q, const Tensor& k, const Tensor& v) { return concat({q, k, v}, 0); }
Tensor in_another_order(const Tensor& q, const Tensor& k, const Tensor& v) {
  return concat({k, q, v}, 0);
}

// [region kernels]
// JAX's patch kernel is (P, P, C, D): ours has D first and C before the rows.
Tensor from_jax(const Tensor& kernel) { return permute(kernel, {3, 2, 0, 1}); }
// The same numbers in the order in which they lie: the shape fits as well.
Tensor reshaped(const Tensor& kernel) {
  return reshape(transpose(reshape(kernel, {P * P * C, D})), {D, C, P, P});
}

// [end]

// The logits of one image with another ε, beside torchvision's.
void play(Narrator& say, const std::vector<double>& at) {
  static const TensorFile file =
      read_safetensors(project_path("tests/golden/other_weights.safetensors"));
  const Array images = array_of(file.at("images")), logits = array_of(file.at("logits"));
  const auto with = [&](double power) {
    const VisionTransformer model(config(std::pow(10, power)), Rng(say.seed()));
    load_torchvision(model, file);
    return model(images).value();
  };
  const auto image = std::size_t(at[1]);
  const auto error = [&](const Array& ours_now) {
    const Tensor apart = select(Tensor(ours_now) - Tensor(logits), 0, image);
    return std::max(1e-16, amax(abs(apart)).item());
  };
  const Array now = with(at[0]);
  const Series here{"this ε", {at[0]}, {error(now)}, Mark::dots};
  const Series all = graph_of("largest difference", places(-8, -1, 0.5),
                              [&](double power) { return error(with(power)); });
  say.figure(
      {"How far our logits are from torchvision's (upwards logarithmic): at its own ε, 10⁻⁶, "
       "rounding alone is left.",
       Chart{.x_label = "log₁₀ ε", .y_label = "difference", .series = {all, here}, .log_y = true}});
  Rows rows;
  for (std::size_t k = 0; k < K; ++k) {
    rows.push_back(
        row(k, fmt::format("{:.8f}", logits(image, k)), fmt::format("{:.8f}", now(image, k))));
  }
  say.table({"class", "torchvision's logit", "ours, with this ε"}, rows);
}

void lesson(Narrator& say) {
  say.heading("What we want to know");
  say.text(
      "Is what reads your digits a ViT, or something that resembles one? If it is one, the "
      "models that others trained on millions of pictures run in it, and you need not train "
      "them. Put the numbers of a model that others wrote into ours, show both the same images, "
      "and compare the logits.");
  say.symbols({{"B", B}, {"C", C}, {"P", P}, {"D", D}, {"h", h}, {"L", L}, {"M", M}, {"K", K}});
  say.text("The others: torchvision 0.14.1, in float64, as tiny as their class allows, with "
           "weights that `tests/golden/other_weights.py` drew.");
  const TensorFile content =
      read_safetensors(project_path("tests/golden/other_weights.safetensors"));
  const Array images = array_of(content.at("images")), logits = array_of(content.at("logits"));
  shapes(say, "images (B, C, 8, 8)", images, "logits (B, K)", logits);

  say.heading("The same things by other names");
  say.code("names");
  Rows names;
  for (const std::string name : {"class_token", "conv_proj.weight", "encoder.pos_embedding",
                                 "self_attention.in_proj_weight", "mlp.3.bias"})
    names.push_back({name, ours(name)});
  say.table({"torchvision", "here, and in timm"}, names);
  say.code("load");
  const VisionTransformer model(config(say.broken("eps") ? 1e-5 : 1e-6), Rng(say.seed()));
  const Narrator::Value expected = {"12 L + 8", 12 * L + 8};
  const auto loaded = double(load_torchvision(model, content));
  say.check("tensors that found their place", {"loaded", loaded}, expected, 0);
  const auto all = double(content.tensors.size() - 2);
  say.check("tensors of the file, less images and logits", {"in the file", all}, expected, 0);
  say.text("For ViT-B/16 these are the 152 tensors that torchvision and timm list. Hugging Face "
           "keeps q, k and v apart, four more in every block: 200.");

  say.heading("The same answer");
  say.equation(
      R"(f_{\text{ours}}(x; \theta_{\text{theirs}}) = f_{\text{theirs}}(x; \theta_{\text{theirs}}))",
      "ours(x; their θ) = theirs(x; their θ)");
  say.in_words("same numbers in, same images in, same logits out, to rounding.");
  check_equal(say, "logits of three images", "here", model(images), "torchvision", logits, 1e-12);
  Rows rows;
  const auto entries = [](const Tensor& t) { return entries_text(t.value(), 6); };
  for (const int b : {0, 1, 2})
    rows.push_back(row(b, entries(select(model(images), 0, b)), entries(select(logits, 0, b))));
  say.table({"image", "here", "torchvision"}, rows);

  say.heading("Other ways to store it");
  say.text("The same layers as Hugging Face and JAX store them:");
  say.code("three matrices");
  const Tensor qkv = model.blocks[0].attn.qkv.weight;
  const std::vector<Tensor> parts = split(qkv, {D, D, D}, 0);
  shapes(say, "qkv (3 D, D)", qkv, "q (D, D)", parts[0]);
  const auto join = say.broken("another-order") ? in_another_order : fused;
  const Tensor joined = join(parts[0], parts[1], parts[2]);
  check_equal(say, "q, k and v joined", "joined", joined, "torchvision's", qkv, 0);
  say.code("kernels");
  const Tensor weight = model.patch_embed.weight;
  const Tensor jax = permute(weight, {2, 3, 1, 0});
  shapes(say, "JAX's kernel (P, P, C, D)", jax);
  const Tensor back = say.broken("patch-order") ? reshaped(jax) : from_jax(jax);
  check_equal(say, "patch weights from JAX's", "permuted", back, "torchvision's", weight, 0);
  using Values = std::vector<std::pair<std::string, Tensor>>;
  const auto answer = [&](double eps, const Values& values) {
    const VisionTransformer other(config(eps), Rng(say.seed()));
    load_torchvision(other, content);
    for (const NamedParameter& p : named_parameters(other)) {
      for (const auto& [name, value] : values)
        if (p.name == name) p.tensor.mutable_value() = value.value();
    }
    return other(images).value();
  };
  say.text("A model that gets both tensors from there says:");
  const char* const of_patches = "patch_embed.proj.weight";
  const char* const of_first_block = "blocks.0.attn.qkv.weight";
  const Tensor elsewhere = answer(1e-6, {{of_first_block, joined}, {of_patches, back}});
  rows.clear();
  for (const int b : {0, 1, 2})
    rows.push_back(row(b, entries(select(elsewhere, 0, b)), entries(select(logits, 0, b))));
  say.table({"image", "its logits", "torchvision's"}, rows);
  check_equal(say, "logits of three images", "from there", elsewhere, "torchvision", logits, 1e-12);

  say.heading("What goes wrong");
  say.text("All of these load without a word, because every shape fits. Only the answer tells.");
  say.sources_disagree(
      "B 10",
      "ε = 1e-5, PyTorch's default, for weights trained with 1e-6. It is no rounding: kornia had "
      "to change it before published weights gave published results (pull request 2786).");
  const Array other_eps = answer(1e-5, {});
  check_differs(say, "logits with ε = 1e-5", "1e-5", other_eps, "1e-6", logits, 1e-7);
  say.sources_disagree("B 16", "Patches flattened as (P, P, C), as in the paper and JAX, with "
                               "weights for (C, P, P), as PyTorch's convolutions have them.");
  const Array scrambled = answer(1e-6, {{of_patches, reshaped(jax)}});
  check_differs(say, "logits", "kernel reshaped", scrambled, "permuted", logits, 1e-2);
  say.sources_disagree("", "q, k and v in another order. torchvision and timm: q, k, v, and inside "
                           "each of them one head after the other.");
  const Array crossed =
      answer(1e-6, {{of_first_block, in_another_order(parts[0], parts[1], parts[2])}});
  check_differs(say, "logits", "k, q, v", crossed, "q, k, v", logits, 1e-3);
  say.bars(
      "How far each mistake moves the logits, against the largest of them (each step to the right "
      "is a power of ten). None is loud.",
      {{"ε = 1e-5", rounded(distance(other_eps, logits), 2)},
       {"k, q, v", rounded(distance(crossed, logits), 2)},
       {"kernel reshaped", rounded(distance(scrambled, logits), 2)}},
      true);

  say.pytorch("`model.load_state_dict(state)` refuses names and shapes that do not fit, not an "
              "order or an ε. Published weights take the same path; we do not "
              "download them here.");
  say.question(
      "Here k and q were exchanged in one block, and the logits changed. When would they not?",
      "When the scores are symmetric, as for a single token: k qᵀ is q kᵀ transposed, and softmax "
      "runs along rows.");
}

int main(int argc, char** argv) { return tell(about, {lesson, play}, argc, argv); }
