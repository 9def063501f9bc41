#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace vitruvian {

/// What tells the encoder where a patch was: E_pos of Equation 1, or another way (appendix D.4).
enum class Positions {
  none,        ///< a bag of patches
  learned,     ///< one vector for each token, in raster order: the paper's choice
  learned_2d,  ///< one half for each column of the grid, the other for each row
  sincos,      ///< fixed waves of the place in the sequence (Vaswani et al. 2017)
  sincos_2d,   ///< one half the waves of the column, the other those of the row
  relative,    ///< a learned number for each head and offset, added to the scores of every block
};

/// What makes the logits of y.
enum class Head {
  linear,
  tanh,  ///< the paper's for pre-training: tanh of a hidden layer of width D, then linear
  none,  ///< the model's output is y
};

/// Whose initial values: see initialise().
enum class Init { jax, torchvision, timm, hf, mimetic };

/// The sizes, switches and rates of a Vision Transformer, in the symbols of the paper (Dosovitskiy
/// et al., "An Image is Worth 16x16 Words", arXiv 2010.11929). The defaults of the switches are the
/// paper's model. It knows nothing of precision, and everything below is computed before anything
/// is allocated.
struct ViTConfig {
  std::size_t C = 1;    ///< channels of the image
  std::size_t H = 28;   ///< height of the image
  std::size_t W = 28;   ///< width of the image
  std::size_t P = 7;    ///< side of a patch
  std::size_t D = 64;   ///< width: the length of a token
  std::size_t L = 4;    ///< depth: encoder blocks
  std::size_t h = 4;    ///< attention heads
  std::size_t M = 256;  ///< hidden width of the MLP
  std::size_t K = 10;   ///< classes
  std::size_t P_w = 0;  ///< width of a patch where it is not square (P is the height then), or 0
  /// The paper's hybrid (section 3.1): so many 3 x 3 convolutions of stride 2 before E. P stays
  /// what a token covers in pixels: E takes P / 2^stem places of the last feature map.
  std::size_t stem = 0;

  double eps = 1e-6;   ///< of every layer norm
  double dropout = 0;  ///< after the position embeddings and after every dense layer but qkv
  double attention_dropout = 0;  ///< of the attention probabilities
  // Another rate than `dropout` at one of its three places.
  std::optional<double> embedding_dropout = {};   ///< after the position embeddings
  std::optional<double> projection_dropout = {};  ///< after U_msa
  std::optional<double> mlp_dropout = {};         ///< after each of the MLP's layers
  /// The rate at which training skips the two branches of block L for an image; block l's is
  /// (l - 1) / (L - 1) of it.
  double stochastic_depth = 0;
  /// LayerScale (arXiv 2103.17239): each branch is multiplied, number by number, by a learned
  /// vector of length D, whose entries begin as this. 0: there is none.
  double layer_scale = 0;

  bool patch_bias = true;           ///< of the patch embedding E
  bool qkv_bias = true;             ///< of U_qkv
  bool proj_bias = true;            ///< of U_msa and of the MLP's two layers
  bool conv_patches = false;        ///< E as a strided convolution instead of unfold + linear
  bool per_head_qkv = false;        ///< one U_qkv for each head instead of one for all
  bool post_norm = false;           ///< LN(f(z) + z), as the Transformer of 2017, not f(LN(z)) + z
  bool mean_pooling = false;        ///< y is the mean over the patches; there is no class token
  bool norm_after_pooling = false;  ///< y = LN(mean z_L) instead of mean LN(z_L)
  bool gelu_tanh = false;           ///< GELU by its tanh approximation, as the original JAX code
  bool swiglu = false;   ///< MLP(x) = (silu(x W_a) * (x W_b)) W_2 (arXiv 2002.05202), of width M
  bool qk_norm = false;  ///< a layer norm of each head's q, and one of its k (arXiv 2302.05442)
  /// A second learned token after the class token, with a head of its own: DeiT's (arXiv
  /// 2012.12877), which learns from a teacher. The logits are the mean of both heads'.
  bool distilled = false;
  /// So many learned tokens more, which have no position and of which nothing is read
  /// (arXiv 2309.16588).
  std::size_t registers = 0;

  Positions positions = Positions::learned;
  Head head = Head::linear;
  Init init = Init::jax;

  [[nodiscard]] std::size_t patch_height() const { return P; }
  [[nodiscard]] std::size_t patch_width() const { return P_w == 0 ? P : P_w; }
  [[nodiscard]] std::size_t grid_height() const { return H / patch_height(); }
  [[nodiscard]] std::size_t grid_width() const { return W / patch_width(); }
  /// Patches, H W / P^2.
  [[nodiscard]] std::size_t N() const { return grid_height() * grid_width(); }
  /// Tokens whose y is read: the class token, and the distillation token.
  [[nodiscard]] std::size_t class_tokens() const {
    return (mean_pooling ? 0U : 1U) + (distilled ? 1U : 0U);
  }
  /// Tokens that have a place: those, and the patches.
  [[nodiscard]] std::size_t places() const { return class_tokens() + N(); }
  /// Tokens, in this order: class token, distillation token, registers, patches.
  [[nodiscard]] std::size_t T() const { return class_tokens() + registers + N(); }
  /// Which of them is the first patch.
  [[nodiscard]] std::size_t first_patch() const { return T() - N(); }
  /// The width of one head, D / h.
  [[nodiscard]] std::size_t D_h() const { return D / h; }
  /// The length of a flattened patch, C P^2.
  [[nodiscard]] std::size_t patch_length() const { return C * patch_height() * patch_width(); }
  /// What E takes for a patch: `embedded_channels` of P x P pixels, or of what the stem leaves.
  [[nodiscard]] std::size_t embedded_channels() const { return stem == 0 ? C : D; }
  [[nodiscard]] std::size_t embedded_height() const { return patch_height() >> stem; }
  [[nodiscard]] std::size_t embedded_width() const { return patch_width() >> stem; }
  [[nodiscard]] std::size_t embedded_length() const {
    return embedded_channels() * embedded_height() * embedded_width();
  }
  /// The feature map after convolution i of the stem, from 0: channels double up to D, sides halve.
  struct StemMap {
    std::size_t channels, height, width;
    [[nodiscard]] std::size_t size() const { return channels * height * width; }
  };
  static constexpr std::size_t deepest_stem = 16;
  [[nodiscard]] StemMap stem_map(std::size_t i) const {
    return {D >> (stem - 1 - i), H >> (i + 1), W >> (i + 1)};
  }
  /// And what that convolution takes: of the images, or of the map before.
  [[nodiscard]] std::size_t channels_into(std::size_t i) const {
    return i == 0 ? C : stem_map(i - 1).channels;
  }
  /// What two tokens can be to each other, for Positions::relative: the offsets of two patches, and
  /// with a class token its look at a patch, a patch's at it, and its at itself. Other tokens that
  /// are no patches count as the class token does.
  [[nodiscard]] std::size_t relative_offsets() const {
    return (2 * grid_height() - 1) * (2 * grid_width() - 1) + (first_patch() == 0 ? 0 : 3);
  }

  /// Throws (Exit::usage) with a sentence for the first thing that cannot be: a size of 0 or beyond
  /// reason, a patch that does not divide the image, heads that do not divide D, a rate outside
  /// [0, 1), positions that D cannot be halved for, a stem that P or D cannot be halved for,
  /// switches that exclude each other.
  void validate() const;

  /// The exact number of learned numbers, and of multiply-adds for one image's forward pass, as
  /// published counts do it: the matrix products of the patches and of the encoder.
  [[nodiscard]] std::uint64_t parameters() const;
  [[nodiscard]] std::uint64_t macs() const;
  /// About how many bytes a training step with AdamW takes: weights, gradients, two moments, and
  /// what the forward pass of `batch` images keeps for the backward one.
  [[nodiscard]] std::uint64_t training_bytes(std::size_t batch, std::size_t bytes_per_real) const;
  /// The same for a forward pass alone.
  [[nodiscard]] std::uint64_t forward_bytes(std::size_t batch, std::size_t bytes_per_real) const;

  /// The config as a JSON object: the sizes, eps, dropout, attention_dropout, and of the rest what
  /// is not the default.
  [[nodiscard]] std::string to_json() const;
  /// And back; what may be left out takes its default. Throws (Exit::checkpoint) on a missing,
  /// unknown or mistyped field, naming it, and on a config that is not valid.
  static ViTConfig from_json(const std::string& json);

  friend bool operator==(const ViTConfig&, const ViTConfig&) = default;
};

}  // namespace vitruvian
