#pragma once

#include "lessons/telling/events.hpp"

#include <vector>

// What lessons quote and do not measure: tables and Figure 1 of the ViT paper (arXiv 2010.11929),
// and the arguments of PyTorch's modules.

namespace vitruvian::lessons {

/// Appendix D.4: what each kind of positions is worth.
Table paper_positions();

/// Table 5: top-1 accuracy in %, pre-trained on one set and fine-tuned on another, at 384 px.
struct Accuracies {
  enum Data { imagenet, imagenet21k, jft };
  Data pretrained;
  const char* task;
  double b16, b32, l16, l32, h14;  ///< 0 where the paper has none
};
/// Six tasks for each of three sets, in this order.
const std::vector<Accuracies>& paper_table_5();
/// The same, for people.
Table paper_table_5_as_printed();

/// The arguments of torch.nn.MultiheadAttention and of torchvision.ops.MLP, as source S1 lists
/// them: name and default, what it is for, what a ViT wants.
Table arguments_of_multihead_attention();
Table arguments_of_mlp();

}  // namespace vitruvian::lessons
