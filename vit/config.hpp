#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace vitruvian {

/// The sizes and rates of a Vision Transformer, in the symbols of the paper (Dosovitskiy et al.,
/// "An Image is Worth 16x16 Words", arXiv 2010.11929). It knows nothing of precision, and
/// everything below is computed before anything is allocated.
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

  double eps = 1e-6;   ///< of every layer norm
  double dropout = 0;  ///< after the position embeddings and after every dense layer but qkv
  double attention_dropout = 0;  ///< of the attention probabilities

  [[nodiscard]] std::size_t grid_height() const { return H / P; }
  [[nodiscard]] std::size_t grid_width() const { return W / P; }
  /// Patches, H W / P^2.
  [[nodiscard]] std::size_t N() const { return grid_height() * grid_width(); }
  /// Tokens: the patches and the class token.
  [[nodiscard]] std::size_t T() const { return N() + 1; }
  /// The width of one head, D / h.
  [[nodiscard]] std::size_t D_h() const { return D / h; }
  /// The length of a flattened patch, C P^2.
  [[nodiscard]] std::size_t patch_length() const { return C * P * P; }

  /// Throws (Exit::usage) with a sentence for the first thing that cannot be: a size of 0 or beyond
  /// reason, a patch that does not divide the image, heads that do not divide D, a rate outside
  /// [0, 1).
  void validate() const;

  /// The exact number of learned numbers, and of multiply-adds for one image's forward pass, as
  /// published counts do it: matrix products only.
  [[nodiscard]] std::uint64_t parameters() const;
  [[nodiscard]] std::uint64_t macs() const;
  /// About how many bytes a training step with AdamW takes: weights, gradients, two moments, and
  /// what the forward pass of `batch` images keeps for the backward one.
  [[nodiscard]] std::uint64_t training_bytes(std::size_t batch, std::size_t bytes_per_real) const;
  /// The same for a forward pass alone.
  [[nodiscard]] std::uint64_t forward_bytes(std::size_t batch, std::size_t bytes_per_real) const;

  /// The config as a JSON object, and back; throws (Exit::checkpoint) on a missing, unknown or
  /// mistyped field, naming it. `from_json` validates.
  [[nodiscard]] std::string to_json() const;
  static ViTConfig from_json(const std::string& json);

  friend bool operator==(const ViTConfig&, const ViTConfig&) = default;
};

/// The demonstration of the sources: a 224 px image, P 16, D 192, two blocks of three heads, ten
/// classes; 1,077,706 parameters. Its layer norms use PyTorch's eps of 1e-5.
ViTConfig mini_vit();

}  // namespace vitruvian
