#include "vitruvian/vit/weights/held.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/vit/waves.hpp"

#include <algorithm>
#include <utility>

namespace vitruvian {
namespace {

// The numbers of tensors that are made here.
Dtype dtype_of(const TensorFile& file) {
  return file.tensors.empty() ? Dtype::f32 : file.tensors.front().dtype;
}

void sort(TensorFile& file) {
  std::sort(file.tensors.begin(), file.tensors.end(),
            [](const StoredTensor& a, const StoredTensor& b) { return a.name < b.name; });
}

void add_zeros(TensorFile& file, const std::string& name, const std::vector<std::size_t>& shape) {
  std::size_t n = 1;
  for (const std::size_t length : shape) n *= length;
  file.tensors.push_back(stored(name, shape, std::vector<double>(n), dtype_of(file)));
}

void erase(TensorFile& file, const std::string& name) {
  std::erase_if(file.tensors, [&name](const StoredTensor& t) { return t.name == name; });
}

// E[(y, x)] = [columns_x, rows_y], below the class token's row of zeros.
StoredTensor table_of(const TensorFile& file, const ViTConfig& c) {
  const StoredTensor& rows = file.at("pos_embed_rows");
  const StoredTensor& columns = file.at("pos_embed_columns");
  const std::size_t half = c.D / 2;
  const std::size_t height = c.grid_height();
  const std::size_t width = c.grid_width();
  using S = std::vector<std::size_t>;
  if (rows.shape != S{height, half} || columns.shape != S{width, half}) {
    fail(Exit::checkpoint, "{}: '{}' {} and '{}' {} are not those of {} x {} patches", file.source,
         rows.name, shape_text(rows.shape), columns.name, shape_text(columns.shape), height, width);
  }
  const std::vector<double> y = rows.values();
  const std::vector<double> x = columns.values();
  std::vector<double> E(c.class_tokens() * c.D, 0.0);
  for (std::size_t n = 0; n < c.N(); ++n) {
    for (const auto& [table, place] : {std::pair{&x, n % width}, std::pair{&y, n / width}}) {
      const auto from = table->begin() + static_cast<std::ptrdiff_t>(place * half);
      E.insert(E.end(), from, from + static_cast<std::ptrdiff_t>(half));
    }
  }
  return stored("pos_embed", {1, c.places(), c.D}, std::move(E), rows.dtype);
}

// What is added to the tokens, as a table of learned positions.
void write_positions(TensorFile& file, ViTConfig& c) {
  if (c.positions == Positions::learned || c.positions == Positions::relative) return;
  if (c.positions == Positions::none) {
    add_zeros(file, "pos_embed", {1, c.places(), c.D});
  } else if (c.positions == Positions::learned_2d) {
    StoredTensor table = table_of(file, c);
    erase(file, "pos_embed_rows");
    erase(file, "pos_embed_columns");
    file.tensors.push_back(std::move(table));
  } else {
    // In double precision: so it is what either precision computes.
    file.tensors.push_back(
        stored("pos_embed", {1, c.places(), c.D}, fixed_positions(c), Dtype::f64));
  }
  c.positions = Positions::learned;
}

// Rows of one U_qkv: q of every head, k of every head, v of every head.
void join_heads(TensorFile& file, const ViTConfig& c) {
  for (std::size_t l = 0; l < c.L; ++l) {
    for (const char* const kind : {"weight", "bias"}) {
      if (!c.qkv_bias && kind == std::string_view("bias")) continue;
      std::vector<StoredTensor> heads;
      for (std::size_t i = 0; i < c.h; ++i) {
        heads.push_back(file.at(fmt::format("blocks.{}.attn.qkv.{}.{}", l, i, kind)));
        if (heads[i].shape.empty() || heads[i].shape[0] != 3 * c.D_h()) {
          fail(Exit::checkpoint, "{}: '{}' of shape {} should have {} rows", file.source,
               heads[i].name, shape_text(heads[i].shape), 3 * c.D_h());
        }
      }
      std::vector<StoredTensor> parts;
      for (std::size_t third = 0; third < 3; ++third) {
        for (const StoredTensor& head : heads) {
          parts.push_back(rows(head, third * c.D_h(), (third + 1) * c.D_h()));
        }
      }
      for (const StoredTensor& head : heads) erase(file, head.name);
      parts[0] = concatenated(parts);
      parts[0].name = fmt::format("blocks.{}.attn.qkv.{}", l, kind);
      file.tensors.push_back(std::move(parts[0]));
      sort(file);
    }
  }
}

// The way back.
void split_heads(TensorFile& file, const ViTConfig& c) {
  std::vector<StoredTensor> heads;
  std::erase_if(file.tensors, [&](const StoredTensor& t) {
    const bool bias = t.name.ends_with(".attn.qkv.bias");
    if (!bias && !t.name.ends_with(".attn.qkv.weight")) return false;
    if (t.shape.empty() || t.shape[0] != 3 * c.D) return false;  // the model will say so
    for (std::size_t i = 0; i < c.h; ++i) {
      std::vector<StoredTensor> thirds;
      for (std::size_t third = 0; third < 3; ++third) {
        const std::size_t from = third * c.D + i * c.D_h();
        thirds.push_back(rows(t, from, from + c.D_h()));
      }
      heads.push_back(concatenated(thirds));
      const std::string block = t.name.substr(0, t.name.rfind('.'));
      heads.back().name = fmt::format("{}.{}.{}", block, i, bias ? "bias" : "weight");
    }
    return true;
  });
  file.tensors.insert(file.tensors.end(), heads.begin(), heads.end());
}

void write_biases(TensorFile& file, ViTConfig& c) {
  if (!c.patch_bias) add_zeros(file, "patch_embed.proj.bias", {c.D});
  for (std::size_t l = 0; l < c.L; ++l) {
    const auto add = [&](const char* name, std::size_t n) {
      add_zeros(file, fmt::format("blocks.{}.{}.bias", l, name), {n});
    };
    if (!c.qkv_bias) add("attn.qkv", 3 * c.D);
    if (c.proj_bias) continue;
    add("attn.proj", c.D);
    add("mlp.fc1", (c.swiglu ? 2 : 1) * c.M);
    add("mlp.fc2", c.D);
  }
  c.patch_bias = c.qkv_bias = c.proj_bias = true;
}

// Row i times number i.
StoredTensor scaled(const StoredTensor& tensor, const StoredTensor& by) {
  if (tensor.shape.empty() || by.shape != std::vector<std::size_t>{tensor.shape[0]}) {
    fail(Exit::checkpoint, "'{}' {} is no LayerScale of '{}' {}", by.name, shape_text(by.shape),
         tensor.name, shape_text(tensor.shape));
  }
  StoredTensor result = tensor;
  result.read = [tensor, by] {
    std::vector<double> x = tensor.values();
    const std::vector<double> g = by.values();
    for (std::size_t i = 0; i < x.size(); ++i) x[i] *= g[i / (x.size() / g.size())];
    return stored(tensor.name, tensor.shape, std::move(x), tensor.dtype).read();
  };
  return result;
}

// gamma (W x + b) = (gamma W) x + gamma b: what LayerScale multiplies, the layer before computes.
void fold_layer_scale(TensorFile& file, ViTConfig& c) {
  for (std::size_t l = 0; c.layer_scale != 0 && l < c.L; ++l) {
    for (const auto& [scale, layer] :
         {std::pair{"ls1", "attn.proj"}, std::pair{"ls2", "mlp.fc2"}}) {
      const StoredTensor by = file.at(fmt::format("blocks.{}.{}.gamma", l, scale));
      erase(file, by.name);
      for (StoredTensor& t : file.tensors) {
        if (t.name.starts_with(fmt::format("blocks.{}.{}.", l, layer))) t = scaled(t, by);
      }
    }
  }
  c.layer_scale = 0;
}

// timm's registers have positions: zeros, here.
void give_registers_places(TensorFile& file, const ViTConfig& c) {
  if (c.registers == 0) return;
  const StoredTensor E = reshaped(file.at("pos_embed"), {c.places(), c.D});
  const StoredTensor none =
      stored("none", {c.registers, c.D}, std::vector<double>(c.registers * c.D), E.dtype);
  const std::size_t read = c.class_tokens();
  std::vector<StoredTensor> parts{none, rows(E, read, c.places())};
  if (read != 0) parts.insert(parts.begin(), rows(E, 0, read));
  StoredTensor all = reshaped(concatenated(parts), {1, c.T(), c.D});
  all.name = "pos_embed";
  erase(file, "pos_embed");
  file.tensors.push_back(std::move(all));
}

// What timm alone calls otherwise than we do.
std::vector<std::pair<std::string, std::string>> names_of_timm(const ViTConfig& c) {
  std::vector<std::pair<std::string, std::string>> names{{"pre_logits.", "pre_logits.fc."}};
  if (c.mean_pooling && c.norm_after_pooling) names.emplace_back("norm.", "fc_norm.");
  return names;
}

void rename(TensorFile& file, const std::string& from, const std::string& to) {
  for (StoredTensor& t : file.tensors) {
    const std::string rest = t.name.starts_with(from) ? t.name.substr(from.size()) : "";
    if (rest == "weight" || rest == "bias") t.name = to + rest;
  }
}

void check_held(Scheme scheme, const ViTConfig& config, const std::string& source) {
  const auto refused = [&config](Scheme by) {
    std::vector<std::string_view> names;
    for (const HeldRow& row : held_rows()) {
      if (row.on(config) && row.cells.at(static_cast<std::size_t>(by)).held == Held::no) {
        names.push_back(row.name);
      }
    }
    return names;
  };
  const std::vector<std::string_view> names = refused(scheme);
  if (names.empty()) return;
  std::vector<std::string> able;
  for (const std::string& name : scheme_names()) {
    const Scheme other = scheme_of(name);
    if (other == Scheme::vitruvian || refused(other).empty()) able.push_back(name);
  }
  fail(Exit::usage, "{}: {} ViT has no such thing as {}; --scheme {} can hold this model", source,
       names_of(scheme), fmt::join(names, ", "), fmt::join(able, " or "));
}

void check_size(const VitWeights& weights) {
  const TensorFile& file = weights.tensors;
  if (file.size() != weights.config.parameters()) {
    fail(Exit::checkpoint, "{}: holds {} numbers, but a model of its config has {}", file.source,
         file.size(), weights.config.parameters());
  }
}

}  // namespace

VitWeights written_out(VitWeights weights) {
  check_size(weights);
  write_positions(weights.tensors, weights.config);
  sort(weights.tensors);
  if (weights.config.per_head_qkv) join_heads(weights.tensors, weights.config);
  write_biases(weights.tensors, weights.config);
  sort(weights.tensors);
  return weights;
}

VitWeights held_by(Scheme scheme, VitWeights weights) {
  const ViTConfig config = weights.config;
  check_size(weights);
  if (scheme == Scheme::vitruvian) return weights;
  check_held(scheme, config, weights.tensors.source);
  std::vector<std::string> arguments;
  std::vector<std::string> written;
  for (const HeldRow& row : held_rows()) {
    const HeldRow::Cell& cell = row.cells.at(static_cast<std::size_t>(scheme));
    if (!row.on(config) || cell.how.empty()) continue;
    if (cell.held == Held::yes) arguments.emplace_back(cell.how);
    if (cell.held == Held::written) written.push_back(fmt::format("{} as {}", row.name, cell.how));
  }
  if (!arguments.empty()) {
    weights.notes.push_back(
        fmt::format("in {} ViT: {}", names_of(scheme), fmt::join(arguments, "; ")));
  }
  if (!written.empty()) {
    weights.notes.push_back(fmt::format("written out: {}", fmt::join(written, "; ")));
  }
  weights = written_out(std::move(weights));
  if (scheme == Scheme::timm) {
    give_registers_places(weights.tensors, config);
    for (const auto& [ours, theirs] : names_of_timm(config)) rename(weights.tensors, ours, theirs);
  } else {
    fold_layer_scale(weights.tensors, weights.config);
  }
  sort(weights.tensors);
  return weights;
}

void add_places_to_registers(TensorFile& file, std::size_t read, std::size_t places) {
  const StoredTensor* const registers = file.find("reg_token");
  const StoredTensor* const table = file.find("pos_embed");
  if (registers == nullptr || registers->shape.size() != 3 || table == nullptr ||
      table->shape.size() != 3 || table->shape[1] != places + registers->shape[1] ||
      table->shape[2] != registers->shape[2]) {
    return;  // there is nothing to add; or the model will say what does not fit
  }
  const std::size_t D = table->shape[2];
  const std::size_t R = registers->shape[1];
  const StoredTensor E = reshaped(*table, {places + R, D});
  StoredTensor moved = *registers;
  moved.read = [token = *registers, added = rows(E, read, read + R)] {
    std::vector<double> x = token.values();
    const std::vector<double> y = added.values();
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
    return stored(token.name, token.shape, std::move(x), token.dtype).read();
  };
  StoredTensor rest = rows(E, read + R, places + R);
  if (read != 0) rest = concatenated({rows(E, 0, read), rest});
  rest = reshaped(rest, {1, places, D});
  for (StoredTensor& t : file.tensors) {
    if (t.name == "reg_token") t = moved;
    if (t.name == "pos_embed") t = rest, t.name = "pos_embed";
  }
}

TensorFile as_config_says(TensorFile file, const ViTConfig& config) {
  for (const auto& [ours, theirs] : names_of_timm(config)) rename(file, theirs, ours);
  add_places_to_registers(file, config.class_tokens(), config.places());
  if (config.per_head_qkv) split_heads(file, config);
  sort(file);
  return file;
}

namespace {

// What follows was read in torchvision 0.14 to 0.20 (models/vision_transformer.py), timm 1.0
// (models/vision_transformer.py), transformers 4.40 (models/vit/modeling_vit.py) and
// google-research/vision_transformer (vit_jax/models_vit.py).

using Cell = HeldRow::Cell;

constexpr Cell yes{};
constexpr Cell no{Held::no};
constexpr Cell by(std::string_view how) { return {Held::yes, how}; }
constexpr Cell as(std::string_view how) { return {Held::written, how}; }
constexpr std::array<Cell, 4> all(Cell cell) { return {cell, cell, cell, cell}; }

constexpr Cell learned = as("learned positions");
constexpr Cell zero = as("a bias of zeros");
constexpr Cell folded = as("factors of the layers before it");

bool pools_norms(const ViTConfig& c) { return c.mean_pooling && !c.norm_after_pooling; }

}  // namespace

const std::vector<HeldRow>& held_rows() {
  using C = const ViTConfig&;
  static const std::vector<HeldRow> rows{
      {"exact GELU",
       [](C c) { return !c.gelu_tanh; },
       {yes, yes, yes, by("its own code computes the tanh form, and other logits by some 1e-3")}},
      {"gelu_tanh",
       [](C c) { return c.gelu_tanh; },
       {no, by("act_layer='gelu_tanh'"), by("hidden_act='gelu_new'"), yes}},
      {"eps 1e-6", [](C c) { return c.eps == 1e-6; }, {yes, yes, by("layer_norm_eps=1e-6"), yes}},
      {"another eps",
       [](C c) { return c.eps != 1e-6; },
       {by("norm_layer=partial(LayerNorm, eps=...)"), by("norm_layer=partial(LayerNorm, eps=...)"),
        by("layer_norm_eps=..."), no}},
      {"no patch_bias", [](C c) { return !c.patch_bias; }, all(zero)},
      {"no qkv_bias", [](C c) { return !c.qkv_bias; }, all(zero)},
      {"no proj_bias", [](C c) { return !c.proj_bias; }, all(as("biases of zeros"))},
      {"conv_patches", [](C c) { return c.conv_patches; }, all(yes)},
      {"stem", [](C c) { return c.stem != 0; }, all(no)},
      {"per_head_qkv", [](C c) { return c.per_head_qkv; }, all(as("one U_qkv"))},
      {"post_norm", [](C c) { return c.post_norm; }, all(no)},
      {"mean_pooling",
       pools_norms,
       {no, by("class_token=False, global_pool='avg', fc_norm=False"), no, by("classifier='gap'")}},
      {"norm_after_pooling",
       [](C c) { return c.mean_pooling && c.norm_after_pooling; },
       {no, by("class_token=False, global_pool='avg'"), no, no}},
      {"layer_scale",
       [](C c) { return c.layer_scale != 0; },
       {folded, by("init_values=..."), folded, folded}},
      {"swiglu",
       [](C c) { return c.swiglu; },
       {no, by("mlp_layer=SwiGLUPacked, mlp_ratio=2 * M / D"), no, no}},
      {"qk_norm", [](C c) { return c.qk_norm; }, {no, by("qk_norm=True"), no, no}},
      {"distilled",
       [](C c) { return c.distilled; },
       {no, by("its class is VisionTransformerDistilled"),
        by("its class is DeiTForImageClassificationWithTeacher"), no}},
      {"registers", [](C c) { return c.registers != 0; }, {no, by("reg_tokens=R"), no, no}},
      {"registers of a distilled model", [](C c) { return c.distilled && c.registers != 0; },
       all(no)},
      {"positions none", [](C c) { return c.positions == Positions::none; },
       all(as("positions of zeros"))},
      {"positions learned_2d", [](C c) { return c.positions == Positions::learned_2d; },
       all(learned)},
      {"positions sincos", [](C c) { return c.positions == Positions::sincos; }, all(learned)},
      {"positions sincos_2d", [](C c) { return c.positions == Positions::sincos_2d; },
       all(learned)},
      {"positions relative", [](C c) { return c.positions == Positions::relative; }, all(no)},
      {"head tanh",
       [](C c) { return c.head == Head::tanh; },
       {by("representation_size=D"), by("representation_size=D, up to timm 0.6"), no,
        by("representation_size=D")}},
      {"head none",
       [](C c) { return c.head == Head::none; },
       {by("heads = nn.Identity()"), by("num_classes=0"), by("num_labels=0"),
        by("num_classes=None")}},
      {"patches that are not square",
       [](C c) { return c.patch_width() != c.patch_height(); },
       {no, by("patch_size=(height, width)"), by("patch_size=(height, width)"),
        by("patches.size=(height, width)")}},
      {"images that are not square",
       [](C c) { return c.H != c.W; },
       {no, by("img_size=(height, width)"), by("image_size=(height, width)"), yes}},
      {"channels other than 3",
       [](C c) { return c.C != 3; },
       {by("conv_proj = nn.Conv2d(C, D, P, P)"), by("in_chans=C"), by("num_channels=C"), yes}},
      {"dropout and stochastic_depth, init", [](C) { return false; }, all(yes)},
  };
  return rows;
}

}  // namespace vitruvian
