#include "vitruvian/vit/weights/written_out.hpp"

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

void add_zeros(TensorFile& file, const std::string& name, const std::vector<std::size_t>& shape) {
  file.tensors.push_back(stored_zeros(name, shape, dtype_of(file)));
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
      sort_by_name(file.tensors);
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
  const StoredTensor none = stored_zeros("pos_embed", {c.registers, c.D}, E.dtype);
  const std::size_t read = c.class_tokens();
  std::vector<StoredTensor> parts{none, rows(E, read, c.places())};
  if (read != 0) parts.insert(parts.begin(), rows(E, 0, read));
  replace(file, reshaped(concatenated(parts), {1, c.T(), c.D}));
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

}  // namespace

void replace(TensorFile& file, StoredTensor tensor) {
  const auto place = std::lower_bound(
      file.tensors.begin(), file.tensors.end(), tensor,
      [](const StoredTensor& a, const StoredTensor& b) { return a.name < b.name; });
  if (place != file.tensors.end() && place->name == tensor.name) {
    *place = std::move(tensor);
  } else {
    file.tensors.insert(place, std::move(tensor));
  }
}

void check_size(const VitWeights& weights) {
  const TensorFile& file = weights.tensors;
  if (file.size() != weights.config.parameters()) {
    fail(Exit::checkpoint, "{}: holds {} numbers, but a model of its config has {}", file.source,
         file.size(), weights.config.parameters());
  }
}

VitWeights written_out(VitWeights weights) {
  check_size(weights);
  write_positions(weights.tensors, weights.config);
  sort_by_name(weights.tensors.tensors);
  if (weights.config.per_head_qkv) join_heads(weights.tensors, weights.config);
  write_biases(weights.tensors, weights.config);
  sort_by_name(weights.tensors.tensors);
  return weights;
}

VitWeights written_for(Scheme scheme, VitWeights weights) {
  const ViTConfig config = weights.config;
  weights = written_out(std::move(weights));
  if (scheme == Scheme::timm) {
    give_registers_places(weights.tensors, config);
    for (const auto& [ours, theirs] : names_of_timm(config)) rename(weights.tensors, ours, theirs);
  } else {
    fold_layer_scale(weights.tensors, weights.config);
  }
  sort_by_name(weights.tensors.tensors);
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
  replace(file, moved);
  replace(file, reshaped(rest, {1, places, D}));
}

TensorFile as_config_says(TensorFile file, const ViTConfig& config) {
  for (const auto& [ours, theirs] : names_of_timm(config)) rename(file, theirs, ours);
  add_places_to_registers(file, config.class_tokens(), config.places());
  if (config.per_head_qkv) split_heads(file, config);
  sort_by_name(file.tensors);
  return file;
}

}  // namespace vitruvian
