#include "vitruvian/vit/config.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/json.hpp"
#include "vitruvian/vit/fields.hpp"

#include <algorithm>
#include <set>
#include <string_view>

namespace vitruvian {
namespace {

// Beyond every published model a hundred times over.
constexpr std::size_t largest_size = 1'000'000;
// The counts below are exact in 64 bits while they stay under this.
constexpr double largest_count = 1e18;

std::uint64_t saturated(double count) {
  return static_cast<std::uint64_t>(std::min(count, 1.8e19));
}

void check_positions(const ViTConfig& c) {
  const bool by_axis = c.positions == Positions::learned_2d || c.positions == Positions::sincos_2d;
  const std::size_t parts = c.positions == Positions::sincos_2d ? 4 : 2;
  if ((by_axis || c.positions == Positions::sincos) && c.D % parts != 0) {
    fail(Exit::usage, "{} positions need a width D that {} divides, not {}",
         names_of(c.positions)[static_cast<std::size_t>(c.positions)], parts, c.D);
  }
}

void check_stem(const ViTConfig& c) {
  if (c.stem > ViTConfig::deepest_stem) {
    fail(Exit::usage, "a stem of {} convolutions is beyond reason (at most {})", c.stem,
         ViTConfig::deepest_stem);
  }
  const std::size_t factor = std::size_t{1} << c.stem;
  if (c.patch_height() % factor != 0 || c.patch_width() % factor != 0) {
    fail(Exit::usage,
         "a stem of {} makes the image {} times smaller, so {} must divide the patch size, {}",
         c.stem, factor, factor, c.patch_height() % factor != 0 ? c.P : c.P_w);
  }
  if (c.D % factor != 0) {
    fail(Exit::usage,
         "a stem of {} doubles its channels up to the width D, which {} must divide: not {}",
         c.stem, factor, c.D);
  }
}

// Multiply-adds of the stem and of E, in double or, where that is exact, in whole numbers.
template <class Number>
Number macs_of_patches(const ViTConfig& c) {
  Number macs = Number(c.N()) * Number(c.embedded_length()) * Number(c.D);
  for (std::size_t i = 0; i < c.stem; ++i) {
    macs += Number(9 * c.channels_into(i)) * Number(c.stem_map(i).size());
  }
  return macs;
}

void check_switches(const ViTConfig& c) {
  if (c.distilled && c.mean_pooling) {
    fail(Exit::usage,
         "distilled and mean_pooling exclude each other: a distillation token stands beside a "
         "class token");
  }
  if (c.distilled && c.head == Head::tanh) {
    fail(Exit::usage, "a distilled model has two linear heads: the head tanh excludes it");
  }
  if (c.swiglu && c.gelu_tanh) {
    fail(Exit::usage, "swiglu and gelu_tanh exclude each other: SwiGLU has no GELU");
  }
}

template <class T>
void read(const Json& json, const char* key, T& x) {
  const std::string wrong = take_value(json, x);
  if (!wrong.empty()) fail(Exit::checkpoint, "the model's config: '{}' is {}", key, wrong);
}

}  // namespace

void ViTConfig::validate() const {
  const auto reasonable = [](std::size_t n, const char* name) {
    if (n > largest_size)
      fail(Exit::usage, "the {} {} is beyond reason (at most {})", name, n, largest_size);
  };
  for_each_size(*this, [&](const char*, std::size_t n, const char* name) {
    if (n == 0) fail(Exit::usage, "the {} must not be 0", name);
    reasonable(n, name);
  });
  reasonable(P_w, "patch width");
  if (H % patch_height() != 0 || W % patch_width() != 0) {
    fail(Exit::usage, "a patch of {} does not divide an image of {} x {}",
         patch_height() == patch_width() ? std::to_string(P) : fmt::format("{} x {}", P, P_w), H,
         W);
  }
  if (D % h != 0) fail(Exit::usage, "{} heads do not divide a width D of {}", h, D);
  if (!(eps > 0 && eps < 1)) fail(Exit::usage, "an eps of {} is not between 0 and 1", eps);
  for (const double rate : {dropout, attention_dropout, embedding_dropout.value_or(0),
                            projection_dropout.value_or(0), mlp_dropout.value_or(0)}) {
    if (!(rate >= 0 && rate < 1)) fail(Exit::usage, "a dropout of {} is not in [0, 1)", rate);
  }
  if (!(stochastic_depth >= 0 && stochastic_depth < 1)) {
    fail(Exit::usage, "a stochastic depth of {} is not in [0, 1)", stochastic_depth);
  }
  if (!(layer_scale >= 0 && layer_scale <= 1)) {
    fail(Exit::usage, "a layer scale of {} is not in [0, 1]", layer_scale);
  }
  reasonable(registers, "registers");
  check_switches(*this);
  check_positions(*this);
  check_stem(*this);
  const double d = static_cast<double>(D);
  const double t = static_cast<double>(T());
  const double macs_of_a_block = t * (4 * d * d + 3 * d * static_cast<double>(M)) + 2 * t * t * d;
  if (static_cast<double>(L) * macs_of_a_block + macs_of_patches<double>(*this) > largest_count) {
    fail(Exit::usage, "a model of {} blocks, width {} and {} tokens is beyond reason", L, D, T());
  }
}

std::uint64_t ViTConfig::parameters() const {
  const std::uint64_t d = D;
  const auto if_any = [](bool there, std::uint64_t count) { return there ? count : 0; };
  std::uint64_t patches = embedded_length() * d + if_any(patch_bias, d);
  for (std::size_t i = 0; i < stem; ++i) {
    // 3 x 3, and the norm's weight and bias.
    patches += (9 * channels_into(i) + 2) * stem_map(i).channels;
  }
  const std::uint64_t E_pos =
      if_any(positions == Positions::learned, places() * d) +
      if_any(positions == Positions::learned_2d, (grid_height() + grid_width()) * (d / 2));
  const std::uint64_t embeddings = patches + (class_tokens() + registers) * d + E_pos;
  const std::uint64_t attention = (3 * d * d + if_any(qkv_bias, 3 * d)) +
                                  (d * d + if_any(proj_bias, d)) + if_any(qk_norm, 4 * D_h()) +
                                  if_any(positions == Positions::relative, relative_offsets() * h);
  const std::uint64_t hidden = swiglu ? 2 * M : M;
  const std::uint64_t mlp =
      (d * hidden + if_any(proj_bias, hidden)) + (M * d + if_any(proj_bias, d));
  const std::uint64_t norms = 4 * d + if_any(layer_scale != 0, 2 * d);
  const std::uint64_t heads = distilled ? 2 : 1;
  const std::uint64_t logits =
      if_any(head == Head::tanh, d * d + d) + if_any(head != Head::none, heads * (d * K + K));
  return embeddings + L * (attention + mlp + norms) + 2 * d + logits;
}

std::uint64_t ViTConfig::macs() const {
  const std::uint64_t d = D;
  const std::uint64_t t = T();
  const std::uint64_t mlp = (swiglu ? 3 : 2) * d * M;
  return L * (t * (4 * d * d + mlp) + 2 * t * t * d) + macs_of_patches<std::uint64_t>(*this);
}

std::uint64_t ViTConfig::forward_bytes(std::size_t batch, std::size_t bytes_per_real) const {
  // At its widest, a block holds z, its norm, and either q, k, v (several times over while heads'
  // projections are put side by side) with the scores, or the MLP's hidden layer before and after
  // GELU.
  const auto t = static_cast<double>(T());
  const auto d = static_cast<double>(D);
  const double attention =
      (per_head_qkv ? 10 : 4) * t * d + static_cast<double>(h) * t * t + (qk_norm ? 8 * t * d : 0);
  const double mlp = (swiglu ? 6 : 2) * t * static_cast<double>(M);
  const auto pixels = static_cast<double>(C * H * W);
  double widest = std::max(attention, mlp);
  double before = pixels;  // of the stem: a map, its windows, and the next map
  for (std::size_t i = 0; i < stem; ++i) {
    const auto next = static_cast<double>(stem_map(i).size());
    widest = std::max(widest, before + 9 * before / 4 + next);
    before = next;
  }
  const double patches = pixels + static_cast<double>(N() * embedded_length());
  const double image = patches + 2 * t * d + widest;
  return saturated(static_cast<double>(bytes_per_real) *
                   (static_cast<double>(parameters()) + static_cast<double>(batch) * image));
}

std::uint64_t ViTConfig::training_bytes(std::size_t batch, std::size_t bytes_per_real) const {
  // What the nodes of a block keep: two norms, q, k, v, the probabilities, the heads' output and
  // its projection, two sums, the hidden layer before and after GELU, and the MLP's output. The
  // projections of separate heads are kept before, while and after they are put side by side. Of
  // the stem: each convolution's output, with its channels last, its norm, ReLU, and channels
  // first.
  const auto t = static_cast<double>(T());
  const auto d = static_cast<double>(D);
  // Norms of q and k keep q, k and v apart, normed, and side by side again; SwiGLU keeps both
  // factors before and after they are apart, silu's value, and the product; LayerScale two
  // products.
  const double later = (qk_norm ? 8 : 0) + (layer_scale != 0 ? 2 : 0);
  const double block = ((per_head_qkv ? 22 : 10) + later) * t * d + static_cast<double>(h) * t * t +
                       (swiglu ? 6 : 2) * t * static_cast<double>(M);
  double patches = static_cast<double>(C * H * W) + static_cast<double>(N() * embedded_length());
  for (std::size_t i = 0; i < stem; ++i) patches += 5 * static_cast<double>(stem_map(i).size());
  const double image = patches + 4 * t * d + static_cast<double>(L) * block;
  return saturated(static_cast<double>(bytes_per_real) *
                   (4 * static_cast<double>(parameters()) + static_cast<double>(batch) * image));
}

std::string ViTConfig::to_json() const {
  Json json;
  for_each_size(*this, [&](const char* key, std::size_t n, const char*) { json[key] = n; });
  for_each_rate(*this, [&](const char* key, double rate) { json[key] = rate; });
  const ViTConfig usual;
  Json defaults;
  for_each_option(
      usual, [&](const char* key, const auto& value) { defaults[key] = to_value<Json>(value); });
  for_each_option(*this, [&](const char* key, const auto& value) {
    if (Json text = to_value<Json>(value); text != defaults[key]) json[key] = std::move(text);
  });
  return dump_json(json);
}

ViTConfig ViTConfig::from_json(const std::string& text) {
  const auto json = parse_json(text, nullptr, false);
  if (!json.is_object()) fail(Exit::checkpoint, "the model's config is not a JSON object");
  ViTConfig config;
  std::set<std::string_view> known;
  const auto required = [&](const char* key, auto& value) {
    known.insert(key);
    if (!json.contains(key)) fail(Exit::checkpoint, "the model's config lacks '{}'", key);
    read(json[key], key, value);
  };
  for_each_size(config, [&](const char* key, std::size_t& n, const char*) { required(key, n); });
  for_each_rate(config, required);
  for_each_option(config, [&](const char* key, auto& value) {
    known.insert(key);
    if (json.contains(key)) read(json[key], key, value);
  });
  for (const auto& [key, value] : json.items()) {
    if (!known.contains(key)) fail(Exit::checkpoint, "the model's config has an unknown '{}'", key);
  }
  try {
    config.validate();
  } catch (const Error& error) {
    fail(Exit::checkpoint, "the model's config: {}", error.what());
  }
  return config;
}

}  // namespace vitruvian
