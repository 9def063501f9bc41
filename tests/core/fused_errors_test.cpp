// What the fused ops say when they are given wrong shapes or numbers: every sentence once.

#include "vitruvian/core/error.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/core/scope.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

using namespace vitruvian;

namespace {

using Labels = std::vector<std::size_t>;

std::string message(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace

TEST_CASE("errors name the op, the shapes and the module") {
  const auto z = [](const Shape& shape) { return Tensor(zeros(shape)); };
  {
    const Scope blocks("blocks", 3);
    const Scope mlp("mlp");
    const Scope fc1("fc1");
    CHECK(message([&] {
            linear(z({2, 7}), z({5, 4}));
          }) ==
          "linear: input (2, 7) has 7 features but weight (5, 4) takes 4 - in blocks.3.mlp.fc1");
  }
  const std::vector<std::pair<std::string, std::function<void()>>> cases{
      {"linear: weight (4,) is not a matrix (out, in)", [&] { linear(z({4}), z({4})); }},
      {"linear: input () has no features but weight (5, 4) takes 4",
       [&] {
         linear(z({}), z({5, 4}));
       }},
      {"linear: bias (4,) but weight (5, 4) gives 5 features",
       [&] {
         linear(z({2, 4}), z({5, 4}), z({4}));
       }},
      {"softmax: axis 2 of an array with 2 axes",
       [&] {
         softmax(z({2, 3}), 2);
       }},
      {"log_softmax: axis -3 of an array with 2 axes",
       [&] {
         log_softmax(z({2, 3}), -3);
       }},
      {"layer_norm: the normalized shape needs at least one axis",
       [&] { layer_norm(z({}), {}, {}, {}, 0); }},
      {"layer_norm: input (2, 7) does not end in the normalized shape (5,)",
       [&] {
         layer_norm(z({2, 7}), {5}, {}, {}, 0);
       }},
      {"layer_norm: input (5,) does not end in the normalized shape (2, 5)",
       [&] {
         layer_norm(z({5}), {2, 5}, {}, {}, 0);
       }},
      {"layer_norm: weight (4,) but the normalized shape is (5,)",
       [&] {
         layer_norm(z({2, 5}), {5}, z({4}), {}, 0);
       }},
      {"layer_norm: bias (1, 5) but the normalized shape is (5,)",
       [&] {
         layer_norm(z({2, 5}), {5}, {}, z({1, 5}), 0);
       }},
      {"batch_norm: input (5,) is not (B, C, ...)", [&] { batch_norm(z({5}), {}, {}, 0); }},
      {"batch_norm: weight (2,) but input (2, 3) has 3 channels",
       [&] {
         batch_norm(z({2, 3}), z({2}), {}, 0);
       }},
      {"batch_norm: bias (2,) but input (2, 3) has 3 channels",
       [&] {
         batch_norm(z({2, 3}), {}, z({2}), 0);
       }},
      {"dropout: probability 1.5 is not in [0, 1]", [&] { dropout(z({2}), 1.5, Rng(1)); }},
      {"dropout: probability -0.1 is not in [0, 1]", [&] { dropout(z({2}), -0.1, Rng(1)); }},
      {"dropout: probability nan is not in [0, 1]",
       [&] { dropout(z({2}), std::numeric_limits<double>::quiet_NaN(), Rng(1)); }},
      {"unfold: input (3, 4, 4) is not (B, C, H, W)",
       [&] {
         unfold(z({3, 4, 4}), {2, 2});
       }},
      {"unfold: a window of 5 does not fit into the image's height of 3 with padding 0",
       [&] {
         unfold(z({1, 1, 3, 9}), {5, 5});
       }},
      {"unfold: window 2 and stride 0 along the width must be at least 1",
       [&] {
         unfold(z({1, 1, 4, 4}), {2, 2, 1, 0});
       }},
      {"conv2d: weight (2, 3) is not (O, C, kh, kw)",
       [&] {
         conv2d(z({1, 3, 4, 4}), z({2, 3}), {});
       }},
      {"conv2d: input (3, 4, 4) is not (B, C, H, W)",
       [&] {
         conv2d(z({3, 4, 4}), z({2, 3, 2, 2}), {});
       }},
      {"conv2d: input (1, 1, 4, 4) has 1 channels but weight (2, 3, 2, 2) takes 3",
       [&] {
         conv2d(z({1, 1, 4, 4}), z({2, 3, 2, 2}), {});
       }},
      {"conv2d: bias (3,) but weight (2, 3, 2, 2) gives 2 channels",
       [&] {
         conv2d(z({1, 3, 4, 4}), z({2, 3, 2, 2}), z({3}));
       }},
      {"conv2d: a window of 5 does not fit into the image's width of 2 with padding 1",
       [&] {
         conv2d(z({1, 3, 4, 2}), z({2, 3, 2, 5}), {}, 1, 1);
       }},
      {"attention: k (4,) needs at least the axes (tokens, width)",
       [&] {
         attention(z({3, 4}), z({4}), z({3, 4}));
       }},
      {"attention: q (2, 3, 4), k (1, 3, 4) and v (2, 3, 4) differ in their leading axes",
       [&] {
         attention(z({2, 3, 4}), z({1, 3, 4}), z({2, 3, 4}));
       }},
      {"attention: q (3, 4) is 4 wide but k (3, 5) is 5",
       [&] {
         attention(z({3, 4}), z({3, 5}), z({3, 4}));
       }},
      {"attention: k (3, 4) has 3 tokens but v (2, 4) has 2",
       [&] {
         attention(z({3, 4}), z({3, 4}), z({2, 4}));
       }},
      {"attention: mask (2,) does not broadcast to the scores (3, 3)",
       [&] {
         const Array mask = zeros({2});
         attention(z({3, 4}), z({3, 4}), z({3, 4}), {.mask = mask});
       }},
      {"attention: bias (2, 3, 3) does not broadcast to the scores (3, 3)",
       [&] {
         attention(z({3, 4}), z({3, 4}), z({3, 4}), {.bias = z({2, 3, 3})});
       }},
      {"multi_head_attention: k (3, 4) is not (B, tokens, width)",
       [&] {
         multi_head_attention(z({2, 3, 4}), z({3, 4}), z({2, 3, 4}), 2);
       }},
      {"multi_head_attention: width 4 of q (2, 3, 4) is not a multiple of 3 heads",
       [&] {
         multi_head_attention(z({2, 3, 4}), z({2, 3, 4}), z({2, 3, 4}), 3);
       }},
      {"multi_head_attention: width 4 of q (2, 3, 4) is not a multiple of 0 heads",
       [&] {
         multi_head_attention(z({2, 3, 4}), z({2, 3, 4}), z({2, 3, 4}), 0);
       }},
      {"multi_head_attention: q (2, 1, 4), k (2, 3, 4) and v (2, 4, 4) do not fit: (B, T, D), "
       "(B, S, D), (B, S, D_v)",
       [&] {
         multi_head_attention(z({2, 1, 4}), z({2, 3, 4}), z({2, 4, 4}), 2);
       }},
      {"multi_head_attention: mask (2,) does not broadcast to the scores (2, 2, 1, 3)",
       [&] {
         const Array mask = zeros({2});
         multi_head_attention(z({2, 1, 4}), z({2, 3, 4}), z({2, 3, 4}), 2, {.mask = mask});
       }},
      {"self_attention: dropout probability 2 is not in [0, 1]",
       [&] {
         self_attention(z({2, 3, 12}), 2, {.dropout = 2});
       }},
      {"self_attention: input (3, 12) is not (B, T, 3 D)",
       [&] {
         self_attention(z({3, 12}), 2);
       }},
      {"self_attention: 3 heads do not divide D = 4 of input (2, 3, 12), which is (B, T, 3 D)",
       [&] {
         self_attention(z({2, 3, 12}), 3);
       }},
      {"self_attention: 0 heads do not divide D = 4 of input (2, 3, 12), which is (B, T, 3 D)",
       [&] {
         self_attention(z({2, 3, 12}), 0);
       }},
      {"cross_entropy: logits (3,) is not (B, K)", [&] { cross_entropy(z({3}), Labels{0}); }},
      {"cross_entropy: logits (2, 3) needs 2 labels, not 1",
       [&] {
         cross_entropy(z({2, 3}), Labels{0});
       }},
      {"cross_entropy: label 3 at index 1 is not in [0, 3)",
       [&] {
         cross_entropy(z({2, 3}), Labels{2, 3});
       }},
      {"cross_entropy: label smoothing -1 is not in [0, 1]",
       [&] {
         cross_entropy(z({1, 3}), Labels{2}, -1);
       }},
      {"cross_entropy: targets (3, 2) but logits (2, 3)",
       [&] {
         cross_entropy(z({2, 3}), zeros({3, 2}));
       }},
      {"nll_loss: log_probabilities (3,) is not (B, K)", [&] { nll_loss(z({3}), {0}); }},
      {"nll_loss: label 7 at index 0 is not in [0, 3)",
       [&] {
         nll_loss(z({1, 3}), {7});
       }},
      {"mse_loss: shapes (2,) and (2, 1) differ", [&] {
         mse_loss(z({2}), z({2, 1}));
       }}};
  for (const auto& [expected, f] : cases) CHECK(message(f) == expected);
}
