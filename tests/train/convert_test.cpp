// `convert` refuses or completes: what each project's model can hold, and that a file which was
// written computes what the one before it did.

#include "vitruvian/train/convert.hpp"
#include "tests/golden.hpp"
#include "tests/train/small.hpp"
#include "vitruvian/core/check/gradcheck.hpp"
#include "vitruvian/core/kernels/kernels.hpp"
#include "vitruvian/nn/tensor_file.hpp"
#include "vitruvian/vit/fields.hpp"
#include "vitruvian/vit/variants.hpp"
#include "vitruvian/vit/weights/held.hpp"

using namespace vitruvian;

namespace {

// What the projects' sources say, typed by hand.
bool can_hold(const ViTConfig& c, Scheme scheme) {
  if (scheme == Scheme::vitruvian) return true;
  if (c.post_norm || c.stem != 0 || c.positions == Positions::relative) return false;
  if (c.distilled && c.registers != 0) return false;
  const bool timms = c.swiglu || c.qk_norm || c.registers != 0;
  if (timms && scheme != Scheme::timm) return false;
  if (c.distilled && scheme != Scheme::timm && scheme != Scheme::hf) return false;
  const bool square = c.H == c.W && c.patch_height() == c.patch_width();
  switch (scheme) {
    case Scheme::torchvision:
      return !c.gelu_tanh && !c.mean_pooling && square;
    case Scheme::hf:
      return !c.mean_pooling && c.head != Head::tanh;
    case Scheme::jax:
      return !(c.mean_pooling && c.norm_after_pooling) && c.eps == 1e-6;
    default:
      return true;
  }
}

// Whether the tensors alone say which model it is.
bool says_itself(const ViTConfig& c, Scheme scheme) {
  return scheme != Scheme::vitruvian && !c.gelu_tanh && !c.mean_pooling && c.head != Head::none &&
         c.eps == (scheme == Scheme::hf ? 1e-12 : 1e-6) && c.grid_height() == c.grid_width();
}

ViTConfig drawn_config(const Rng& rng) {
  std::uint64_t draw = 0;
  const auto one_of = [&](std::size_t n) { return rng.below(n, draw++); };
  ViTConfig c = tiny_vit();
  c.C = one_of(2) == 0 ? 3 : 1;
  c.L = 1 + one_of(2);
  c.h = 1U << one_of(3);
  if (one_of(3) == 0) c.W = 12;
  c.eps = std::array{1e-6, 1e-12, 1e-3}.at(one_of(5) < 3 ? 0 : 1 + one_of(2));
  for_each_option(c, [&](const std::string& name, auto& value) {
    using Value = std::decay_t<decltype(value)>;
    if (std::string_view("swiglu qk_norm distilled registers layer_scale").find(name) !=
            std::string_view::npos &&
        one_of(4) != 0) {
      return;
    }
    if constexpr (std::is_same_v<Value, bool>) {
      if (one_of(6) == 0) value = !value;
    } else if constexpr (std::is_enum_v<Value>) {
      if (one_of(3) == 0) value = static_cast<Value>(one_of(names_of(value).size()));
    } else if constexpr (std::is_same_v<Value, std::size_t>) {
      const std::size_t patch_width = c.W == 12 ? 6 : 2;  // 2 x 2 patches, or 2 x 4
      const bool stem = name == "stem";
      if (one_of(c.W == 12 && !stem ? 2 : 6) == 0) value = stem ? 1 : patch_width;
    } else {
      if (one_of(name == "layer_scale" ? 2 : 6) == 0) value = 0.1;
    }
  });
  if (c.distilled) c.mean_pooling = false;
  if (c.distilled && c.head == Head::tanh) c.head = Head::linear;
  if (c.swiglu) c.gelu_tanh = false;
  return c;
}

// A model of this config as a file of the given width.
void write_model(const ViTConfig& config, const Rng& rng, Dtype dtype, const std::string& path) {
  save_weights(of_order_half(config, rng), {}, path);
  TensorFile file = read_safetensors(path);
  for (StoredTensor& t : file.tensors) t = stored(t.name, t.shape, t.values(), dtype);
  write_safetensors(path, file.tensors, file.metadata);
}

// A tiny model in a file, and how it is to be converted.
struct Conversion {
  Folder folder;
  ConvertOptions options;
  explicit Conversion(
      const std::string& scheme,
      const std::function<void(ViTConfig&)>& change = [](ViTConfig&) {}) {
    ViTConfig config = tiny_vit();
    change(config);
    options.from = folder.file("w");
    options.to = folder.file("out");
    options.scheme = scheme_of(scheme);
    options.request.heads = config.h;
    write_model(config, Rng(1), Dtype::f32, options.from);
  }
  [[nodiscard]] TensorFile written() const {
    static_cast<void>(convert(options));
    return read_safetensors(options.to);
  }
  [[nodiscard]] std::string refusal(Exit exit = Exit::usage) const {
    std::string message = error_of(exit, [&] { return convert(options); });
    CHECK_FALSE(std::filesystem::exists(options.to));
    return message;
  }
};

Array logits_of(const std::string& path, const Tensor& images, const WeightsRequest& how = {}) {
  const NoGrad no_grad;
  return load_weights(path, how).model(images).value();
}

std::string cell_text(const HeldRow::Cell& cell) {
  if (cell.held == Held::no) return "no";
  if (cell.held == Held::written) return fmt::format("as {}", cell.how);
  if (cell.how.empty()) return "yes";
  const bool code = cell.how.find('=') != std::string_view::npos;
  return code ? fmt::format("`{}`", cell.how) : fmt::format("yes; {}", cell.how);
}

}  // namespace

TEST_CASE("300 models and schemes: a refusal, or a file with the same logits to the bit") {
  const Folder folder;
  const std::string from = folder.file("from");
  const std::string to = folder.file("to");
  std::size_t completed = 0, said_themselves = 0, of_a_tanh = 0, of_oblong_patches = 0, folds = 0;
  for (std::uint64_t i = 0; i < 300; ++i) {
    const Rng rng = Rng(5).fork("convert", {i});
    const ViTConfig config = drawn_config(rng);
    const auto scheme = static_cast<Scheme>(i % scheme_names().size());
    const Dtype dtype = i % 2 == 0 ? Dtype::f32 : Dtype::f64;
    CAPTURE(i);
    CAPTURE(config.to_json());
    CAPTURE(name_of(scheme));
    write_model(config, rng, dtype, from);
    std::filesystem::remove(to);
    const ConvertOptions options{from, to, scheme, {}};
    if (!can_hold(config, scheme)) {
      const std::string message = error_of(Exit::usage, [&] { return convert(options); });
      CHECK(says(message, "vitruvian can hold this model"));
      for (const std::string& other : scheme_names()) {
        if (other == "vitruvian") continue;
        CHECK(says(message, other + " or") == can_hold(config, scheme_of(other)));
      }
      CHECK_FALSE(std::filesystem::exists(to));
      continue;
    }
    ++completed;
    const Converted converted = convert(options);
    const Tensor images(random_normal({2, config.C, config.H, config.W}, i));
    const Array expected = logits_of(from, images);
    // LayerScale is multiplied into other layers where it has no name of its own.
    const bool folded =
        config.layer_scale != 0 && scheme != Scheme::timm && scheme != Scheme::vitruvian;
    const double of_a_fold = in_double && dtype == Dtype::f64 ? 1e-11 : 3e-5;
    CHECK(golden::difference(logits_of(to, images), expected) <= (folded ? of_a_fold : 0));
    if (folded) ++folds;
    const TensorFile file = read_safetensors(to);
    CHECK(detect_scheme(file) == (scheme == Scheme::vitruvian ? Scheme::timm : scheme));
    if (scheme == Scheme::vitruvian) CHECK(converted.config == config);
    if (!says_itself(config, scheme)) continue;
    ++said_themselves;  // what anyone reads who knows nothing of our config
    if (config.head == Head::tanh) ++of_a_tanh;
    if (config.W == 12) ++of_oblong_patches;
    write_safetensors(to, file.tensors, {});
    const WeightsRequest how{.scheme = scheme, .heads = config.h};
    // Heads of their own are summed in another order, and OpenBLAS does not promise the same bits.
    const bool same_bits =
        !config.per_head_qkv && kernels::gemm_backend() != kernels::GemmBackend::cblas;
    const double rounding = same_bits ? 1e-30 : in_double ? 1e-12 : 1e-5;
    CHECK(golden::difference(logits_of(to, images, how), expected) <
          (folded ? of_a_fold : rounding));
  }
  CHECK(completed > 150);
  CHECK(completed < 250);
  CHECK(said_themselves > 25);
  CHECK(of_a_tanh > 5);
  CHECK(of_oblong_patches > 3);
  CHECK(folds > 3);
}

TEST_CASE("what convert cannot put into the tensors, and what it wrote out, it says") {
  const auto notes = [&](const char* scheme, const std::function<void(ViTConfig&)>& change) {
    const Conversion c(scheme, [&](ViTConfig& config) { config.C = 3, change(config); });
    return convert(c.options).notes;
  };
  using Notes = std::vector<std::string>;
  CHECK(notes("timm", [](ViTConfig&) {}) == Notes{});
  CHECK(notes("jax", [](ViTConfig&) {}) ==
        Notes{"in JAX's ViT: its own code computes the tanh form, and other logits by some 1e-3"});
  CHECK(notes("jax", [](ViTConfig& c) { c.gelu_tanh = true; }) == Notes{});
  CHECK(notes("hf", [](ViTConfig& c) { c.positions = Positions::none, c.qkv_bias = false; }) ==
        Notes{"in Hugging Face's ViT: layer_norm_eps=1e-6",
              "written out: no qkv_bias as a bias of zeros; positions none as positions of zeros"});
}

TEST_CASE("weights that say nothing of their images get what their project publishes") {
  const auto normalised_by = [&](const std::string& scheme, std::size_t channels,
                                 const Metadata& said) {
    Conversion c(scheme, [&](ViTConfig& config) { config.C = channels; });
    write_safetensors(c.options.from, c.written().tensors, said);
    c.options.scheme = Scheme::vitruvian;
    static_cast<void>(convert(c.options));
    const DataConfig data = load_weights(c.options.to).data;
    return std::pair{data.mean, data.std};
  };
  using V = std::vector<double>;
  const V halves(3, 0.5);
  CHECK(normalised_by("torchvision", 3, {}) ==
        std::pair{V{0.485, 0.456, 0.406}, V{0.229, 0.224, 0.225}});
  for (const char* scheme : {"timm", "hf", "jax"}) {
    CHECK(normalised_by(scheme, 3, {}) == std::pair{halves, halves});
  }
  CHECK(normalised_by("torchvision", 1, {}) == std::pair{V{}, V{}});
  CHECK(normalised_by("torchvision", 1, {{"mean", "[0.1]"}, {"std", "[0.2]"}}) ==
        std::pair{V{0.1}, V{0.2}});
}

TEST_CASE("timm's own names for what it alone calls otherwise") {
  const TensorFile tanh = Conversion("timm", [](ViTConfig& c) { c.head = Head::tanh; }).written();
  const TensorFile pooled = Conversion("timm", [](ViTConfig& c) {
                              c.mean_pooling = c.norm_after_pooling = true;
                            }).written();
  for (const char* name : {"pre_logits.fc.weight", "pre_logits.fc.bias", "norm.weight"}) {
    CHECK(tanh.find(name) != nullptr);
  }
  for (const char* name : {"fc_norm.weight", "fc_norm.bias"}) CHECK(pooled.find(name) != nullptr);
  CHECK(pooled.find("norm.weight") == nullptr);
}

TEST_CASE("what convert refuses, it names, with the schemes that could") {
  const Conversion torchvision("torchvision",
                               [](ViTConfig& c) { c.post_norm = c.gelu_tanh = true; });
  CHECK(torchvision.refusal() ==
        torchvision.options.from +
            ": torchvision's ViT has no such thing as gelu_tanh, post_norm; --scheme vitruvian can "
            "hold this model");
  const Conversion hf("hf", [](ViTConfig& c) { c.mean_pooling = true; });
  CHECK(hf.refusal() ==
        hf.options.from +
            ": Hugging Face's ViT has no such thing as mean_pooling; --scheme timm or jax or "
            "vitruvian can hold this model");
}

TEST_CASE("convert does not write tensors that are not those of their config") {
  for (const std::string& scheme : scheme_names()) {
    const Conversion c(scheme);
    TensorFile file = read_safetensors(c.options.from);
    file.tensors.pop_back();
    write_safetensors(c.options.from, file.tensors, file.metadata);
    CHECK(says(c.refusal(Exit::checkpoint), "but a model of its config has"));
  }
  // Nor places of another grid, where there is no way to resize them.
  for (const Positions positions : {Positions::learned_2d, Positions::relative}) {
    Conversion c("vitruvian", [&](ViTConfig& config) { config.positions = positions; });
    c.options.request.height = c.options.request.width = 12;
    CHECK(says(c.refusal(), "cannot be resized"));
  }
}

TEST_CASE("docs/weights.md holds the table of what each project's model can hold") {
  const std::string page = content(VITRUVIAN_TEST_DATA "/../docs/weights.md");
  std::string table = "| | torchvision | timm | hf | jax |\n|---|---|---|---|---|\n";
  for (const HeldRow& row : held_rows()) {
    table += fmt::format("| {} |", row.name);
    for (const HeldRow::Cell& cell : row.cells) table += fmt::format(" {} |", cell_text(cell));
    table += "\n";
  }
  CHECK_MESSAGE(says(page, table), "it should hold:\n" << table);
}
