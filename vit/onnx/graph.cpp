#include "vitruvian/vit/onnx/graph.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/vit/fields.hpp"
#include "vitruvian/vit/waves.hpp"
#include "vitruvian/vit/weights/written_out.hpp"

#include <cmath>
#include <set>
#include <type_traits>
#include <utility>

namespace vitruvian {
namespace {

using Name = std::string;  // of a tensor of the graph
using Lengths = std::vector<std::int64_t>;

std::int64_t length(std::size_t n) { return static_cast<std::int64_t>(n); }

// What becomes of each option of a config: it is in the graph below, or it says nothing of a
// forward pass. One that somebody adds to vit/fields.hpp is refused until it stands here.
constexpr std::string_view known_options =
    " P_w embedding_dropout projection_dropout mlp_dropout patch_bias qkv_bias proj_bias "
    "conv_patches per_head_qkv post_norm mean_pooling norm_after_pooling gelu_tanh positions head "
    "init stochastic_depth stem layer_scale swiglu qk_norm distilled registers ";

std::vector<std::string_view> unknown_options(const ViTConfig& config) {
  std::vector<std::string_view> names;
  const ViTConfig usual;
  for_each_option(config, [&](const char* name, const auto& value) {
    if (known_options.find(fmt::format(" {} ", name)) != known_options.npos) return;
    for_each_option(usual, [&](const char* other, const auto& usual_value) {
      if constexpr (std::is_same_v<decltype(value), decltype(usual_value)>) {
        if (std::string_view(name) == other && value != usual_value) names.emplace_back(name);
      }
    });
  });
  return names;
}

class Builder {
 public:
  explicit Builder(const VitWeights& weights) : config_(weights.config), file_(weights.tensors) {
    const ViTConfig& c = config_;
    const bool has_head = c.head != Head::none;
    graph_ = {
        file_.source, {c.C, c.H, c.W}, has_head ? "logits" : "features", has_head ? c.K : c.D};
  }

  OnnxGraph build() {
    Name z = embedded("images");
    for (std::size_t l = 0; l < config_.L; ++l) z = block(fmt::format("blocks.{}", l), z);
    const Name y = output(z);
    add("Identity", graph_.output, {classified(y)});
    check_complete();
    return std::move(graph_);
  }

 private:
  Name add(const char* op, const Name& output, std::vector<Name> inputs,
           std::vector<OnnxAttribute> attributes = {}) {
    graph_.nodes.push_back({op, output, std::move(inputs), std::move(attributes)});
    return output;
  }

  // --- what does not depend on the images
  Name constant(StoredTensor tensor) {
    const Name name = tensor.name;
    if (constants_.insert(name).second) graph_.weights.push_back(std::move(tensor));
    return name;
  }
  const StoredTensor& tensor(const Name& name, const std::vector<std::size_t>& shape) {
    const StoredTensor& tensor = file_.at(name);
    if (tensor.shape != shape) {
      fail(Exit::checkpoint, "{}: '{}' of shape {} should be {}", file_.source, name,
           shape_text(tensor.shape), shape_text(shape));
    }
    used_.insert(name);
    return tensor;
  }
  Name weight(const Name& name, const std::vector<std::size_t>& shape) {
    return constant(tensor(name, shape));
  }
  // W^T of a matrix W.
  Name transposed(const Name& name, std::size_t out, std::size_t in) {
    StoredTensor W_T = permuted(tensor(name, {out, in}), {1, 0});
    W_T.name = name + "^T";
    return constant(std::move(W_T));
  }
  Name number(const Name& name, double value) { return constant(stored(name, {}, {value})); }
  Name integers(const Name& name, const Lengths& shape, const Lengths& values) {
    if (constants_.insert(name).second) graph_.integers.push_back({name, shape, values});
    return name;
  }
  // A shape, or a list of lengths; 0 stands for the input's own length at that axis.
  Name lengths(const Name& name, const Lengths& values) {
    return integers(name, {length(values.size())}, values);
  }

  // --- layers
  Name linear(const Name& name, const Name& x, std::size_t in, std::size_t out) {
    const Name product = add("MatMul", name + ".xW^T", {x, transposed(name + ".weight", out, in)});
    return add("Add", name, {product, weight(name + ".bias", {out})});
  }
  Name layer_norm(const Name& name, const Name& x) { return layer_norm(name, x, config_.D); }
  Name layer_norm(const Name& name, const Name& x, std::size_t width) {
    const std::vector<std::size_t> shape{width};
    return add("LayerNormalization", name,
               {x, weight(name + ".weight", shape), weight(name + ".bias", shape)},
               {{"axis", std::int64_t{-1}}, {"epsilon", config_.eps}});
  }
  // [x]_i of the first axis.
  Name part(const Name& name, const Name& x, std::int64_t i, std::int64_t axis = 0) {
    const Name index = integers(fmt::format("index {}", i), {}, {i});
    return add("Gather", name, {x, index}, {{"axis", axis}});
  }
  Name reshaped(const Name& name, const Name& x, const Lengths& shape) {
    const Name to = lengths(fmt::format("shape ({})", joined(shape)), shape);
    return add("Reshape", name, {x, to});
  }
  Name permuted_axes(const Name& name, const Name& x, const Lengths& axes) {
    return add("Transpose", name, {x}, {{"perm", axes}});
  }

  // x Phi(x) = x (1 + erf(x / sqrt 2)) / 2, or
  // x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2
  Name gelu(const Name& name, const Name& x) {
    Name inner;
    if (config_.gelu_tanh) {
      const Name cube = add("Mul", name + ".cube", {add("Mul", name + ".square", {x, x}), x});
      const Name term = add("Mul", name + ".term", {cube, number("0.044715", 0.044715)});
      const Name sum = add("Add", name + ".argument", {x, term});
      const Name scaled = add("Mul", name + ".scaled",
                              {sum, number("sqrt(2 / pi)", std::sqrt(2 / 3.14159265358979323846))});
      inner = add("Tanh", name + ".tanh", {scaled});
    } else {
      const Name scaled = add("Div", name + ".scaled", {x, number("sqrt(2)", std::sqrt(2.0))});
      inner = add("Erf", name + ".erf", {scaled});
    }
    const Name twice_phi = add("Add", name + ".twice_phi", {inner, number("1", 1)});
    const Name product = add("Mul", name + ".product", {x, twice_phi});
    return add("Mul", name, {product, number("0.5", 0.5)});
  }

  // MSA of Equations 5 to 8: A = softmax(q k^T / sqrt(D_h)), heads side by side, U_msa.
  Name attention(const Name& name, const Name& x) {
    const std::int64_t T = length(config_.T());
    const std::int64_t D_h = length(config_.D_h());
    const std::int64_t h = length(config_.h);
    const Name apart = reshaped(
        name + ".qkv_heads", linear(name + ".qkv", x, config_.D, 3 * config_.D), {0, T, 3, h, D_h});
    const Name heads = permuted_axes(name + ".heads", apart, {2, 0, 3, 1, 4});  // (3, B, h, T, D_h)
    const Name q = normed(name + ".q_norm", part(name + ".q", heads, 0));
    const Name k = normed(name + ".k_norm", part(name + ".k", heads, 1));
    const Name v = part(name + ".v", heads, 2);
    const Name scale = number("1 / sqrt(D_h)", 1 / std::sqrt(static_cast<double>(D_h)));
    const Name k_T = permuted_axes(name + ".k^T", k, {0, 1, 3, 2});
    Name scores = add("Mul", name + ".scores", {add("MatMul", name + ".qk^T", {q, k_T}), scale});
    if (config_.positions == Positions::relative) scores = with_relative_positions(name, scores);
    const Name A = add("Softmax", name + ".probs", {scores}, {{"axis", std::int64_t{-1}}});
    const Name Av =
        permuted_axes(name + ".Av^T", add("MatMul", name + ".Av", {A, v}), {0, 2, 1, 3});
    return linear(name + ".proj", reshaped(name + ".side_by_side", Av, {0, T, h * D_h}), config_.D,
                  config_.D);
  }

  // The layer norm of each head's q or k, where the model has one.
  Name normed(const Name& name, const Name& x) {
    return config_.qk_norm ? layer_norm(name, x, config_.D_h()) : x;
  }

  // A learned number for each head and way to lie to each other.
  Name with_relative_positions(const Name& name, const Name& scores) {
    const std::int64_t T = length(config_.T());
    const std::vector<std::size_t> rows = relative_rows(config_);
    const Name pairs = integers("relative_rows", {T, T}, {rows.begin(), rows.end()});
    const Name table =
        weight(name + ".relative_position_bias_table", {config_.relative_offsets(), config_.h});
    const Name of_pairs =
        add("Gather", name + ".of_pairs", {table, pairs}, {{"axis", std::int64_t{0}}});
    const Name bias = permuted_axes(name + ".relative", of_pairs, {2, 0, 1});  // (h, T, T)
    return add("Add", name + ".biased_scores", {scores, bias});
  }

  // GELU(x W_1), or silu(a) b of [a, b] = x W_1, with silu(a) = a / (1 + exp(-a)).
  Name hidden_layer(const Name& name, const Name& x) {
    if (!config_.swiglu) return gelu(name + ".act", linear(name + ".fc1", x, config_.D, config_.M));
    const Name both = linear(name + ".fc1", x, config_.D, 2 * config_.M);
    const Name apart =
        reshaped(name + ".apart", both, {0, length(config_.T()), 2, length(config_.M)});
    const Name a = part(name + ".a", apart, 0, 2);
    const Name b = part(name + ".b", apart, 1, 2);
    const Name silu = add("Mul", name + ".silu", {a, add("Sigmoid", name + ".sigmoid", {a})});
    return add("Mul", name + ".gated", {silu, b});
  }
  Name mlp(const Name& name, const Name& x) {
    return linear(name + ".fc2", hidden_layer(name, x), config_.M, config_.D);
  }

  // LayerScale: number by number times a learned vector, where the model has one.
  Name layer_scale(const Name& name, const Name& x) {
    if (config_.layer_scale == 0) return x;
    return add("Mul", name, {x, weight(name + ".gamma", {config_.D})});
  }

  // The hybrid's convolutions, each ReLU(LN(x * W)): the norm is of the channels at each place.
  Name stem(const Name& images) {
    Name x = images;
    for (std::size_t i = 0; i < config_.stem; ++i) {
      const Name name = fmt::format("patch_embed.stem.{}", i);
      const std::size_t out = config_.stem_map(i).channels;
      const Name W = weight(name + ".conv.weight", {out, config_.channels_into(i), 3, 3});
      x = add("Conv", name + ".conv", {x, W},
              {{"kernel_shape", Lengths{3, 3}},
               {"strides", Lengths{2, 2}},
               {"pads", Lengths{1, 1, 1, 1}}});
      x = permuted_axes(name + ".places", x, {0, 2, 3, 1});
      x = add("Relu", name + ".relu", {layer_norm(name + ".norm", x, out)});
      x = permuted_axes(name + ".map", x, {0, 3, 1, 2});
    }
    return x;
  }

  // z_0 = [x_class; x_p^1 E; ...; x_p^N E] + E_pos                                          (Eq. 1)
  Name embedded(const Name& images) {
    const ViTConfig& c = config_;
    const Lengths patch{length(c.embedded_height()), length(c.embedded_width())};
    const Name E = weight("patch_embed.proj.weight",
                          {c.D, c.embedded_channels(), c.embedded_height(), c.embedded_width()});
    const Name grid =
        add("Conv", "patch_embed.grid", {stem(images), E, weight("patch_embed.proj.bias", {c.D})},
            {{"kernel_shape", patch}, {"strides", patch}});  // (B, D, H / P, W / P)
    const Name flat = reshaped("patch_embed.flat", grid, {0, length(c.D), length(c.N())});
    Name z = permuted_axes("patches", flat, {0, 2, 1});
    // A place each: the class token, the distillation token, the patches.
    std::vector<Name> placed{z};
    if (c.distilled) placed.insert(placed.begin(), of_each(images, "dist_token", 1));
    if (!c.mean_pooling) placed.insert(placed.begin(), of_each(images, "cls_token", 1));
    if (placed.size() > 1) z = add("Concat", "tokens", placed, {{"axis", std::int64_t{1}}});
    if (c.positions != Positions::relative) {
      z = add("Add", "placed", {z, weight("pos_embed", {1, c.places(), c.D})});
    }
    if (c.registers == 0) return z;
    const Name registers = of_each(images, "reg_token", c.registers);  // they are nowhere
    std::vector<Name> all{registers, tokens("placed.patches", z, c.class_tokens(), c.N())};
    if (!c.mean_pooling) all.insert(all.begin(), tokens("placed.read", z, 0, c.class_tokens()));
    return add("Concat", "z_0", all, {{"axis", std::int64_t{1}}});
  }
  // A learned token, or several, for each image: (1, n, D) to (B, n, D).
  Name of_each(const Name& images, const Name& name, std::size_t n) {
    const ViTConfig& c = config_;
    const Name B =
        add("Shape", name + ".B", {images}, {{"start", std::int64_t{0}}, {"end", std::int64_t{1}}});
    const Lengths rest{length(n), length(c.D)};
    const Name shape = add("Concat", name + ".shape", {B, lengths(fmt::format("({}, D)", n), rest)},
                           {{"axis", std::int64_t{0}}});
    return add("Expand", name + ".of_each", {weight(name, {1, n, c.D}), shape});
  }
  // Tokens [begin, begin + n).
  Name tokens(const Name& name, const Name& z, std::size_t begin, std::size_t n) {
    return add("Slice", name,
               {z, lengths(fmt::format("from {}", begin), {length(begin)}),
                lengths(fmt::format("to {}", begin + n), {length(begin + n)}),
                lengths("axis of tokens", {1})});
  }

  // z'_l = MSA(LN(z_{l-1})) + z_{l-1}                                                       (Eq. 2)
  // z_l = MLP(LN(z'_l)) + z'_l                                                              (Eq. 3)
  Name block(const Name& name, const Name& z) {
    const auto LN1 = [&](const Name& x) { return layer_norm(name + ".norm1", x); };
    const auto LN2 = [&](const Name& x) { return layer_norm(name + ".norm2", x); };
    const auto MSA = [&](const Name& x) {
      return layer_scale(name + ".ls1", attention(name + ".attn", x));
    };
    const auto MLP = [&](const Name& x) {
      return layer_scale(name + ".ls2", mlp(name + ".mlp", x));
    };
    const auto sum = [&](const char* what, const Name& a, const Name& b) {
      return add("Add", name + what, {a, b});
    };
    if (config_.post_norm) {
      const Name z_prime = LN1(sum(".z_prime", MSA(z), z));
      return LN2(sum(".z", MLP(z_prime), z_prime));
    }
    const Name z_prime = sum(".z_prime", MSA(LN1(z)), z);
    return sum(".z", MLP(LN2(z_prime)), z_prime);
  }

  // y = LN(z_L^0)                                                                           (Eq. 4)
  // of the class token, of both tokens of a distilled model (B, 2, D), or of the patches' mean.
  Name output(const Name& z) {
    const ViTConfig& c = config_;
    if (c.distilled) return layer_norm("norm", tokens("z_L^01", z, 0, 2));
    if (!c.mean_pooling) return layer_norm("norm", part("z_L^0", z, 0, 1));
    const Name patches = c.registers == 0 ? z : tokens("z_L.patches", z, c.registers, c.N());
    return c.norm_after_pooling ? layer_norm("norm", mean_of_tokens(patches))
                                : mean_of_tokens(layer_norm("norm", patches));
  }
  Name mean_of_tokens(const Name& z) {
    return add("ReduceMean", "mean", {z}, {{"axes", Lengths{1}}, {"keepdims", std::int64_t{0}}});
  }

  // y to logits, or to the features where there is no head: of a distilled model the mean of both.
  Name classified(const Name& y) {
    if (config_.head == Head::none) return config_.distilled ? mean_of_tokens(y) : y;
    if (config_.distilled) {
      const Name of_class = linear("head", part("y.class", y, 0, 1), config_.D, config_.K);
      const Name of_distillation =
          linear("head_dist", part("y.distillation", y, 1, 1), config_.D, config_.K);
      const Name sum = add("Add", "both_heads", {of_class, of_distillation});
      return add("Mul", "mean_of_heads", {sum, number("0.5", 0.5)});
    }
    const Name hidden = config_.head == Head::tanh
                            ? add("Tanh", "hidden", {linear("pre_logits", y, config_.D, config_.D)})
                            : y;
    return linear("head", hidden, config_.D, config_.K);
  }

  void check_complete() const {
    std::vector<std::string> left;
    for (const StoredTensor& t : file_.tensors) {
      if (!used_.contains(t.name)) left.push_back(fmt::format("'{}'", t.name));
    }
    if (left.empty()) return;
    fail(Exit::usage, "{}: the ONNX graph has no place for {}", file_.source, some_of(left));
  }

  const ViTConfig& config_;
  const TensorFile& file_;
  OnnxGraph graph_;
  std::set<Name> constants_;
  std::set<Name> used_;  // of the file's tensors
};

}  // namespace

OnnxGraph onnx_graph(VitWeights weights) {
  if (const auto names = unknown_options(weights.config); !names.empty()) {
    fail(Exit::usage,
         "{}: the ONNX graph does not compute {} yet; --scheme vitruvian can hold this model",
         weights.tensors.source, joined(names));
  }
  return Builder(written_out(std::move(weights))).build();
}

}  // namespace vitruvian
