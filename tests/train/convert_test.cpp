// `convert` refuses or completes: what each project's model can hold, and that a file which was
// written computes what the one before it did.

#include "vitruvian/train/convert.hpp"
#include "tests/folder.hpp"
#include "tests/golden.hpp"
#include "vitruvian/core/check/gradcheck.hpp"
#include "vitruvian/nn/init.hpp"
#include "vitruvian/nn/safetensors_file.hpp"
#include "vitruvian/train/weights.hpp"
#include "vitruvian/vit/fields.hpp"
#include "vitruvian/vit/variants.hpp"
#include "vitruvian/vit/weights/held.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

// What the projects' sources say, typed by hand.
bool can_hold(const ViTConfig& c, Scheme scheme) {
  if (scheme == Scheme::vitruvian) return true;
  if (c.post_norm || c.positions == Positions::relative) return false;
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
  for_each_option(c, [&](const char*, auto& value) {
    using Value = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, bool>) {
      if (one_of(6) == 0) value = !value;
    } else if constexpr (std::is_enum_v<Value>) {
      if (one_of(3) == 0) value = static_cast<Value>(one_of(names_of(value).size()));
    } else if constexpr (std::is_same_v<Value, std::size_t>) {
      if (one_of(c.W == 12 ? 2 : 6) == 0) value = c.W == 12 ? 6 : 2;  // 2 x 2 patches, or 2 x 4
    } else {
      if (one_of(6) == 0) value = 0.1;
    }
  });
  return c;
}

// A model of this config with every parameter of order one, as a file of the given width.
void write_model(const ViTConfig& config, const Rng& rng, Dtype dtype, const std::string& path) {
  const VisionTransformer model(config, rng);
  for (const NamedParameter& p : named_parameters(model)) {
    init::normal(p.tensor, rng.fork(p.name), 0.5, p.role == Role::norm ? 1 : 0);
  }
  save_weights(model, {}, path);
  TensorFile file = read_safetensors(path);
  for (StoredTensor& t : file.tensors) t = stored(t.name, t.shape, t.values(), dtype);
  write_safetensors(path, file.tensors, file.metadata);
}

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
  std::size_t completed = 0, said_themselves = 0, of_a_tanh = 0, of_oblong_patches = 0;
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
    ConvertOptions options;
    options.from = from;
    options.to = to;
    options.scheme = scheme;
    if (!can_hold(config, scheme)) {
      const Failure failure = failure_of([&] { static_cast<void>(convert(options)); });
      CHECK(failure.exit == Exit::usage);
      CHECK(failure.message.find("vitruvian can hold this model") != std::string::npos);
      for (const std::string& other : scheme_names()) {
        const bool named = failure.message.find(other + " or") != std::string::npos;
        if (other != "vitruvian") CHECK(named == can_hold(config, scheme_of(other)));
      }
      CHECK_FALSE(std::filesystem::exists(to));
      continue;
    }
    ++completed;
    const Converted converted = convert(options);
    const Tensor images(random_normal({2, config.C, config.H, config.W}, i));
    const Array expected = logits_of(from, images);
    CHECK(golden::difference(logits_of(to, images), expected) == 0);
    const TensorFile file = read_safetensors(to);
    CHECK(detect_scheme(file) == (scheme == Scheme::vitruvian ? Scheme::timm : scheme));
    if (scheme == Scheme::vitruvian) CHECK(converted.config == config);
    if (!says_itself(config, scheme)) continue;
    ++said_themselves;  // what anyone reads who knows nothing of our config
    if (config.head == Head::tanh) ++of_a_tanh;
    if (config.W == 12) ++of_oblong_patches;
    write_safetensors(to, file.tensors, {});
    const WeightsRequest how{.scheme = scheme, .heads = config.h};
    CHECK(golden::difference(logits_of(to, images, how), expected) <
          (config.per_head_qkv ? (sizeof(real) == 8 ? 1e-12 : 1e-5) : 1e-30));
  }
  CHECK(completed > 150);
  CHECK(completed < 250);
  CHECK(said_themselves > 25);
  CHECK(of_a_tanh > 5);
  CHECK(of_oblong_patches > 3);
}

TEST_CASE("what convert cannot put into the tensors, and what it wrote out, it says") {
  const Folder folder;
  const auto notes = [&](const std::string& scheme, auto change) {
    ViTConfig config = tiny_vit();
    config.C = 3;
    change(config);
    write_model(config, Rng(1), Dtype::f32, folder.file("w"));
    ConvertOptions options;
    options.from = folder.file("w");
    options.to = folder.file("out");
    options.scheme = scheme_of(scheme);
    return convert(options).notes;
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
  const Folder folder;
  const auto normalised_by = [&](const std::string& scheme, std::size_t channels,
                                 const Metadata& said) {
    ViTConfig config = tiny_vit();
    config.C = channels;
    write_model(config, Rng(1), Dtype::f32, folder.file("w"));
    ConvertOptions options;
    options.from = folder.file("w");
    options.to = folder.file("of the project");
    options.scheme = scheme_of(scheme);
    static_cast<void>(convert(options));
    write_safetensors(options.to, read_safetensors(options.to).tensors, said);
    options.from = options.to;
    options.to = folder.file("out");
    options.scheme = Scheme::vitruvian;
    options.request.heads = config.h;
    static_cast<void>(convert(options));
    const DataConfig data = load_weights(options.to).data;
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
  const Folder folder;
  const auto has = [&](const std::string& name, auto change) {
    ViTConfig config = tiny_vit();
    change(config);
    write_model(config, Rng(1), Dtype::f32, folder.file("w"));
    ConvertOptions options;
    options.from = folder.file("w");
    options.to = folder.file("out");
    options.scheme = Scheme::timm;
    static_cast<void>(convert(options));
    return read_safetensors(options.to).find(name) != nullptr;
  };
  const auto tanh = [](ViTConfig& c) { c.head = Head::tanh; };
  const auto pooled = [](ViTConfig& c) { c.mean_pooling = c.norm_after_pooling = true; };
  CHECK(has("pre_logits.fc.weight", tanh));
  CHECK(has("pre_logits.fc.bias", tanh));
  CHECK(has("norm.weight", tanh));
  CHECK(has("fc_norm.weight", pooled));
  CHECK(has("fc_norm.bias", pooled));
  CHECK_FALSE(has("norm.weight", pooled));
}

TEST_CASE("what convert refuses, it names, with the schemes that could") {
  const Folder folder;
  const auto refusal = [&](const std::string& scheme, auto change) {
    ViTConfig config = tiny_vit();
    change(config);
    write_model(config, Rng(1), Dtype::f32, folder.file("w"));
    ConvertOptions options;
    options.from = folder.file("w");
    options.to = folder.file("out");
    options.scheme = scheme_of(scheme);
    std::string message = failure_of([&] { static_cast<void>(convert(options)); }).message;
    CHECK_FALSE(std::filesystem::exists(options.to));
    return message.substr(options.from.size());
  };
  CHECK(
      refusal("torchvision", [](ViTConfig& c) { c.post_norm = c.gelu_tanh = true; }) ==
      ": torchvision's ViT has no such thing as gelu_tanh, post_norm; --scheme vitruvian can hold "
      "this model");
  CHECK(refusal("hf", [](ViTConfig& c) { c.mean_pooling = true; }) ==
        ": Hugging Face's ViT has no such thing as mean_pooling; --scheme timm or jax or vitruvian "
        "can hold this model");
}

TEST_CASE("convert does not write tensors that are not those of their config") {
  const Folder folder;
  write_model(tiny_vit(), Rng(1), Dtype::f32, folder.file("w"));
  TensorFile file = read_safetensors(folder.file("w"));
  file.tensors.pop_back();
  write_safetensors(folder.file("w"), file.tensors, file.metadata);
  for (const std::string& scheme : scheme_names()) {
    ConvertOptions options;
    options.from = folder.file("w");
    options.to = folder.file("out");
    options.scheme = scheme_of(scheme);
    const Failure failure = failure_of([&] { static_cast<void>(convert(options)); });
    CHECK(failure.exit == Exit::checkpoint);
    CHECK(failure.message.find("but a model of its config has") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(options.to));
  }
  // Nor places of another grid, where there is no way to resize them.
  for (const Positions positions : {Positions::learned_2d, Positions::relative}) {
    ViTConfig config = tiny_vit();
    config.positions = positions;
    write_model(config, Rng(1), Dtype::f32, folder.file("w"));
    ConvertOptions options;
    options.from = folder.file("w");
    options.to = folder.file("out");
    options.scheme = Scheme::vitruvian;
    options.request.height = options.request.width = 12;
    const Failure failure = failure_of([&] { static_cast<void>(convert(options)); });
    CHECK(failure.exit == Exit::usage);
    CHECK(failure.message.find("cannot be resized") != std::string::npos);
  }
}

TEST_CASE("docs/weights.md holds the table of what each project's model can hold") {
  std::ifstream page(std::string(VITRUVIAN_TEST_DATA) + "/../docs/weights.md");
  std::stringstream text;
  text << page.rdbuf();
  std::string table = "| | torchvision | timm | hf | jax |\n|---|---|---|---|---|\n";
  for (const HeldRow& row : held_rows()) {
    table += fmt::format("| {} |", row.name);
    for (const HeldRow::Cell& cell : row.cells) table += fmt::format(" {} |", cell_text(cell));
    table += "\n";
  }
  CHECK_MESSAGE(text.str().find(table) != std::string::npos, "it should hold:\n" << table);
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
