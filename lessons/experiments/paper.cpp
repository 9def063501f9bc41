#include "lessons/experiments/paper.hpp"

#include <fmt/format.h>

// [region figure 1]
//   an image, cut into patches                x_p^1   x_p^2   ...   x_p^N
//                                               |       |             |
//   a linear projection                         E       E             E
//                                               |       |             |
//   a class token in front           x_class    |       |             |
//                                       +       +       +             +
//   the positions 0, 1, 2 to N        E_pos   E_pos   E_pos   ...   E_pos
//                                       |       |       |             |
//                                 +-----------------------------------------+
//   the Transformer's encoder:    |  z' = attention of norm(z), plus z       |
//   L blocks of two halves each   |  z  = MLP of norm(z'), plus z'           |
//                                 +-----------------------------------------+
//                                       |       |       |             |
//   norm and "MLP head", of the       head      .       .             .
//   class token alone                   |
//                                       |
//   K logits                    bird, ball, car, ...
// [end]

namespace vitruvian::lessons {

Table paper_positions() {
  return {{"positions (the paper's Appendix D.4)", "accuracy, 5 images a class"},
          {{"none", "0.614"},
           {"learned, one for each place", "0.642"},
           {"learned, one for each row and each column", "0.640"},
           {"relative", "0.640"}}};
}

const std::vector<Accuracies>& paper_table_5() {
  static const std::vector<Accuracies> rows = {
      {Accuracies::imagenet, "CIFAR-10", 98.13, 97.77, 97.86, 97.94, 0},
      {Accuracies::imagenet, "CIFAR-100", 87.13, 86.31, 86.35, 87.07, 0},
      {Accuracies::imagenet, "ImageNet", 77.91, 73.38, 76.53, 71.16, 0},
      {Accuracies::imagenet, "ImageNet ReaL", 83.57, 79.56, 82.19, 77.83, 0},
      {Accuracies::imagenet, "Flowers-102", 89.49, 85.43, 89.66, 86.36, 0},
      {Accuracies::imagenet, "Pets", 93.81, 92.04, 93.64, 91.35, 0},
      {Accuracies::imagenet21k, "CIFAR-10", 98.95, 98.79, 99.16, 99.13, 99.27},
      {Accuracies::imagenet21k, "CIFAR-100", 91.67, 91.97, 93.44, 93.04, 93.82},
      {Accuracies::imagenet21k, "ImageNet", 83.97, 81.28, 85.15, 80.99, 85.13},
      {Accuracies::imagenet21k, "ImageNet ReaL", 88.35, 86.63, 88.40, 85.65, 88.70},
      {Accuracies::imagenet21k, "Flowers-102", 99.38, 99.11, 99.61, 99.19, 99.51},
      {Accuracies::imagenet21k, "Pets", 94.43, 93.02, 94.73, 93.09, 94.82},
      {Accuracies::jft, "CIFAR-10", 99.00, 98.61, 99.38, 99.19, 99.50},
      {Accuracies::jft, "CIFAR-100", 91.87, 90.49, 94.04, 92.52, 94.55},
      {Accuracies::jft, "ImageNet", 84.15, 80.73, 87.12, 84.37, 88.04},
      {Accuracies::jft, "ImageNet ReaL", 88.85, 86.27, 89.99, 88.28, 90.33},
      {Accuracies::jft, "Flowers-102", 99.56, 99.27, 99.56, 99.45, 99.68},
      {Accuracies::jft, "Pets", 95.80, 93.40, 97.11, 95.83, 97.56}};
  return rows;
}

Table paper_table_5_as_printed() {
  const auto cell = [](double x) { return x == 0 ? std::string("-") : fmt::format("{:.2f}", x); };
  Table table{{"pre-trained on", "fine-tuned on", "B/16", "B/32", "L/16", "L/32", "H/14"}, {}};
  for (const Accuracies& a : paper_table_5()) {
    const char* const names[] = {"ImageNet", "ImageNet-21k", "JFT-300M"};
    table.rows.push_back({names[a.pretrained], a.task, cell(a.b16), cell(a.b32), cell(a.l16),
                          cell(a.l32), cell(a.h14)});
  }
  return table;
}

Table arguments_of_multihead_attention() {
  return {{"nn.MultiheadAttention(", "what it is for", "in a ViT"},
          {{"embed_dim, num_heads", "D and h; D_h = D / h", "of Table 1"},
           {"dropout = 0", "of the shares in A", "0"},
           {"bias = True", "of U_qkv and U_msa", "True"},
           {"add_bias_kv = False", "a learned key and value more, T + 1 columns in A", "False"},
           {"add_zero_attn = False", "a key and value of zeros: a place to look away", "False"},
           {"kdim, vdim = None", "keys and values of other tokens, of another width", "D"},
           {"batch_first = False", "(B, T, D) instead of (T, B, D)", "True"},
           {"query, key, value", "one tensor thrice: self-attention, U_qkv in one product",
            "all three LN(z)"},
           {"need_weights = True", "also returns the mean of the heads' A", "False is faster"}}};
}

Table arguments_of_mlp() {
  return {
      {"torchvision.ops.MLP(", "what it is for", "in a ViT"},
      {{"in_channels", "the width that comes in", "D"},
       {"hidden_channels", "all other widths; the last goes out", "[M, D]"},
       {"norm_layer = None", "before each activation", "None: the block has its own"},
       {"activation_layer = ReLU", "after each layer but the last", "GELU"},
       {"inplace = None", "activations overwrite their input: less memory, same numbers", "None"},
       {"bias = True", "of every layer", "True"},
       {"dropout = 0.0", "after each activation, and at the end", "the model's rate"}}};
}

}  // namespace vitruvian::lessons
