#include "lessons/contents.hpp"

#include "vitruvian/core/error.hpp"

namespace vitruvian::lessons {

std::string Entry::id() const { return fmt::format("{:02}_{}", number, name); }
std::string Entry::source() const { return "lessons/" + id() + ".cpp"; }

const std::vector<Part>& parts() {
  static const std::vector<Part> list = {{"I. The tape", 1},
                                         {"II. Layers", 8},
                                         {"III. The Vision Transformer", 14},
                                         {"IV. Training", 22},
                                         {"V. Looking inside", 29}};
  return list;
}

const std::vector<Entry>& contents() {
  static const std::vector<Entry> list = {
      {1, "notation", "Notation, shapes, broadcasting", "(B, T, D) + (D) → (B, T, D)", 8,
       "0-2 2-3 4-1"},
      {2, "differences", "A derivative by differences", "f′(x) ≈ (f(x + h) − f(x − h)) / 2h", 10},
      {3, "chain_rule", "The chain rule on a graph of numbers", "∂L/∂x = Σ ∂L/∂y · ∂y/∂x", 10},
      {4, "tape", "A tape in forty lines", "x̄ += ȳ · ∂y/∂x", 15},
      {5, "broadcasting", "Broadcasting's adjoint is a sum", "⟨g, A x⟩ = ⟨Aᵀ g, x⟩", 10},
      {6, "matmul", "The matrix product", "Ā = g Bᵀ,  B̄ = Aᵀ g", 10},
      {7, "gradient_check", "Checking gradients so that the check can fail",
       "|a − n| / max(|a|, |n|)", 12},
      {8, "linear", "The linear layer", "y = x Wᵀ + b", 10, "0-4"},
      {9, "softmax", "Softmax and cross-entropy", "L = −log softmax(x)ₖ", 15},
      {10, "gelu", "GELU", "GELU(x) = x Φ(x)", 10, "3-8 4-11"},
      {11, "layer_norm", "Layer norm, and batch norm beside it", "y = γ (x − μ) / √(σ² + ε) + β",
       15, "1-9 1-15 4-9"},
      {12, "dropout", "Dropout", "y = m ⊙ x / (1 − p)", 8, "4-15"},
      {13, "residuals", "Residuals, pre-LN and post-LN", "z′ = f(LN(z)) + z", 12,
       "0-6 1-10 1-19 4-8"},
      {14, "patches", "Patches", "x (C, H, W) → xₚ (N, P² C)", 12,
       "0-3 1-5 1-11 1-24 1-25 2-9 3-1 3-2 4-5 4-6 4-23"},
      {15, "class_and_positions", "Class token and positions", "z₀ = [x_class; xₚ E] + E_pos", 15,
       "0-5 1-4 1-7 1-13 1-14 1-26 1-27 2-10 3-4 4-7"},
      {16, "self_attention", "Self-attention in four steps", "A = softmax(q kᵀ / √Dₕ)", 15,
       "0-9 1-16 1-17 2-5"},
      {17, "heads", "Many heads", "MSA(z) = [SA₁(z); …; SAₕ(z)] U_msa", 15,
       "0-8 0-10 1-20 1-21 1-28 2-4 2-6 3-5 4-10"},
      {18, "mlp", "The MLP", "MLP(z) = GELU(z W₁ + b₁) W₂ + b₂", 8, "0-11 1-18 2-7 3-7"},
      {19, "block", "The encoder block", "z′ = MSA(LN(z)) + z,  z = MLP(LN(z′)) + z′", 12,
       "1-5 1-29 2-8 3-7 4-8"},
      {20, "vit", "The whole Vision Transformer", "y = LN(z_L⁰)", 15,
       "0-1 0-7 1-3 1-6 1-8 1-12 2-1 2-2 2-3 2-11 2-12 4-12"},
      {21, "every_parameter", "Every parameter checked", "∂L/∂θ, all of them", 8},
      {22, "sanity", "Sanity before training", "L₀ = ln K", 10},
      {23, "optimizers", "SGD, momentum, Adam, AdamW by hand", "θ ← θ − η m̂ / (√v̂ + ε)", 15},
      {24, "recipes", "The recipes of the paper", "ηₜ: warm-up, linear, cosine", 12, "4-17 4-18"},
      {25, "digits", "Training on digits", "L at step 100, foretold", 10},
      {26, "inductive_bias", "Inductive bias", "f(shift x) = shift f(x)?", 12, "4-3 4-4"},
      {27, "fine_tuning", "Fine-tuning at a higher resolution", "E_pos (N, D) → (N′, D)", 12,
       "4-13"},
      {28, "miniature", "The paper in miniature", "positions, depth, width, pooling", 12, "1-14"},
      {29, "filters_and_positions", "Filters, positions, distances", "cos(E_pos,i, E_pos,j)", 10,
       "4-20 4-21 4-22"},
      {30, "attention_maps", "Attention maps and rollout", "R = Π (A + I) / 2", 12, "3-6 4-25"},
      {31, "other_weights", "Weights from elsewhere", "timm = torchvision = ours", 10, "1-22"},
      {32, "where_to_read_on", "What was simplified, and where to read on", "PyTorch, timm, JAX",
       10, "1-1 1-2 1-23 1-29 1-30 4-2 4-4 4-16 4-19"},
  };
  return list;
}

const Entry& entry_of(int number) {
  for (const Entry& entry : contents()) {
    if (entry.number == number) return entry;
  }
  fail(Exit::usage, "there is no lesson {}: they go from 1 to {}", number,
       contents().back().number);
}

}  // namespace vitruvian::lessons
