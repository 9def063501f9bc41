#include "vitruvian/vit/weights/naming_table.hpp"

#include <algorithm>

namespace vitruvian {
namespace {

constexpr std::array<std::string_view, 3> qkv_names{"query", "key", "value"};

// A name in its two parts: those of a block's tensors begin with the block's, "{}" being its
// number.
struct Pattern {
  std::string_view block, rest;
};

Pattern pattern_of(const TensorRow& row, Scheme scheme) {
  const std::array<Pattern, 4> patterns{{{"encoder.layers.encoder_layer_{}.", row.torchvision},
                                         {"blocks.{}.", row.timm},
                                         {"vit.encoder.layer.{}.", row.hf},
                                         {"Transformer/encoderblock_{}/", row.jax}}};
  const auto [block, rest] = patterns.at(static_cast<std::size_t>(scheme));
  return {row.in_block ? block : "", rest};
}

void replace(std::string& text, std::string_view what, std::string_view by) {
  if (const auto at = text.find(what); at != std::string::npos) text.replace(at, what.size(), by);
}

// Whether the name begins with the pattern, a number and a part filled in; takes it off.
bool consume(std::string_view& name, std::string_view pattern, Place& place) {
  constexpr std::size_t longest_number = 4;
  while (!pattern.empty()) {
    if (pattern.starts_with("{}")) {
      const std::size_t n = std::min(name.find_first_not_of("0123456789"), name.size());
      if (n == 0 || n > longest_number || (n > 1 && name.front() == '0')) return false;
      place.block = 0;
      for (const char c : name.substr(0, n)) {
        place.block = 10 * place.block + static_cast<std::size_t>(c - '0');
      }
      name.remove_prefix(n);
      pattern.remove_prefix(2);
    } else if (pattern.starts_with("[qkv]")) {
      const auto part = std::find_if(qkv_names.begin(), qkv_names.end(),
                                     [name](std::string_view q) { return name.starts_with(q); });
      if (part == qkv_names.end()) return false;
      place.part = static_cast<std::size_t>(part - qkv_names.begin());
      name.remove_prefix(part->size());
      pattern.remove_prefix(5);
    } else {
      if (name.empty() || name.front() != pattern.front()) return false;
      name.remove_prefix(1);
      pattern.remove_prefix(1);
    }
  }
  return true;
}

bool matches(std::string_view name, const Pattern& pattern, Place& place) {
  return !pattern.rest.empty() && consume(name, pattern.block, place) &&
         consume(name, pattern.rest, place) && name.empty();
}

}  // namespace

std::size_t parts_of(const TensorRow& row, Scheme scheme) {
  return pattern_of(row, scheme).rest.find("[qkv]") == std::string_view::npos ? 1 : 3;
}

bool has_name(const TensorRow& row, Scheme scheme) { return !pattern_of(row, scheme).rest.empty(); }

std::string name_in(const TensorRow& row, Scheme scheme, std::size_t block, std::size_t part) {
  const Pattern pattern = pattern_of(row, scheme);
  std::string name = std::string(pattern.block) + std::string(pattern.rest);
  replace(name, "{}", std::to_string(block));
  replace(name, "[qkv]", qkv_names.at(part));
  return name;
}

std::optional<Place> find_place(const std::string& name, Scheme scheme) {
  // Hugging Face's DeiT and DINOv2 are its ViT under other names.
  for (const std::string_view prefix : {"deit.", "dinov2.", "dinov2_with_registers."}) {
    if (scheme != Scheme::hf || !name.starts_with(prefix)) continue;
    return find_place("vit." + name.substr(prefix.size()), scheme);
  }
  for (std::size_t row = 0; row < tensor_rows.size(); ++row) {
    const TensorRow& r = tensor_rows.at(row);
    Place place{row};
    if (matches(name, pattern_of(r, scheme), place)) return place;
    for (const Spelling& spelling : spellings) {
      if (spelling.scheme != scheme || !r.timm.starts_with(spelling.timm)) continue;
      const std::string rest =
          std::string(spelling.name).append(r.timm.substr(spelling.timm.size()));
      const Pattern other{pattern_of(r, scheme).block, rest};
      if (matches(name, other, place)) return place;
    }
  }
  // Hugging Face's ViTModel, the net without its head, goes without the prefix.
  if (scheme != Scheme::hf || name.starts_with("vit.")) return std::nullopt;
  return find_place("vit." + name, scheme);
}

std::vector<std::size_t> jax_shape(const std::vector<std::size_t>& s, Layout layout,
                                   std::size_t heads) {
  const std::size_t h = std::max<std::size_t>(heads, 1);
  if (layout == Layout::matrix) return {s[1], s[0]};
  if (layout == Layout::image) return {s[2], s[3], s[1], s[0]};
  if (layout == Layout::qkv) return {s[1], h, s[0] / h};
  if (layout == Layout::qkv_bias) return {h, s[0] / h};
  if (layout == Layout::proj) return {h, s[1] / h, s[0]};
  return s;
}

StoredTensor to_jax(const StoredTensor& t, Layout layout, std::size_t heads) {
  const bool transposed =
      layout == Layout::matrix || layout == Layout::qkv || layout == Layout::proj;
  if (layout == Layout::image) return permuted(t, {2, 3, 1, 0});
  return reshaped(transposed ? permuted(t, {1, 0}) : t, jax_shape(t.shape, layout, heads));
}

StoredTensor from_jax(const StoredTensor& t, Layout layout) {
  const std::vector<std::size_t>& s = t.shape;
  if (layout == Layout::matrix) return permuted(t, {1, 0});
  if (layout == Layout::image) return permuted(t, {3, 2, 0, 1});
  if (layout == Layout::qkv) return permuted(reshaped(t, {s[0], s[1] * s[2]}), {1, 0});
  if (layout == Layout::qkv_bias) return reshaped(t, {s[0] * s[1]});
  if (layout == Layout::proj) return permuted(reshaped(t, {s[0] * s[1], s[2]}), {1, 0});
  return t;
}

}  // namespace vitruvian
