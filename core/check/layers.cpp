// The rows of the fused functions, of attention and of the losses.

#include "vitruvian/core/check/rows.hpp"

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

void linear_rows(Cases& cases) {
  const std::vector<Shapes> places{
      {{2, 3}, {4, 3}, {4}}, {{1, 1}, {1, 1}, {1}}, {{2, 3, 4}, {5, 4}, {5}},
      {{2, 3}, {4, 3}},      {{0, 3}, {2, 3}, {2}}, {{33, 17}, {9, 17}, {9}},
      {{7, 1}, {3, 1}},      {{2, 0}, {3, 0}, {3}}, {{2, 1, 3, 2}, {2, 2}, {2}},
      {{3}, {2, 3}, {2}}};
  add_rows(cases, "linear", places,
           [](const Inputs& x) { return linear(x[0], x[1], optional(x, 2)); });
  add_rows(cases, "linear_gelu", places,
           [](const Inputs& x) { return linear_gelu(x[0], x[1], optional(x, 2)); });
  const AtAll<std::size_t> qkv{
      {{{2, 3, 2}, {6, 2}, {6}}, 1}, {{{2, 3, 4}, {6, 4}, {6}}, 1}, {{{2, 3, 4}, {6, 4}}, 2},
      {{{2, 3, 2}, {6, 2}, {6}}, 0}, {{{2, 3, 2}, {6, 2}, {6}}, 3}, {{{1, 1, 1}, {3, 1}, {3}}, 1},
      {{{3, 5, 2}, {9, 2}, {9}}, 4}, {{{0, 3, 2}, {6, 2}, {6}}, 1}, {{{2, 0, 2}, {6, 2}, {6}}, 0}};
  add_rows(cases, "project_qkv", "queries {}", qkv, [](const Inputs& x, std::size_t queries) {
    return project_qkv(x[0], x[1], optional(x, 2), queries);
  });
}

void softmax_rows(Cases& cases) {
  const At<int> places{{{3, 4}, -1},   {{3, 4}, 0},       {{5}, 0},        {Shape{}, -1},
                       {{2, 3, 4}, 1}, {{2, 1, 3, 2}, 2}, {{3, 1}, -1},    {{0, 3}, 1},
                       {{2, 0}, 1},    {{4, 33}, -1},     {{2, 17, 3}, -2}};
  add_rows(cases, "softmax", "axis {}", places, softmax);
  add_rows(cases, "log_softmax", "axis {}", places, log_softmax);
}

void norm_rows(Cases& cases) {
  // Of the parameters those that there are stand after x.
  const auto norm = [](const Inputs& x, const Shape& over, bool weight, bool bias) {
    return layer_norm(x[0], over, optional(x, 1, weight), optional(x, weight ? 2 : 1, bias), 1e-2);
  };
  const AtAll<Shape, bool, bool> layers{{{{2, 5}, {5}, {5}}, {5}, true, true},
                                        {{{2, 5}}, {5}, false, false},
                                        {{{2, 5}, {5}}, {5}, true, false},
                                        {{{2, 5}, {5}}, {5}, false, true},
                                        {{{7}, {7}, {7}}, {7}, true, true},
                                        {{{2, 3, 5}, {3, 5}, {3, 5}}, {3, 5}, true, true},
                                        {{{2, 2, 2, 3}, {2, 3}}, {2, 3}, true, false},
                                        {{{2, 3, 4}, {2, 3, 4}}, {2, 3, 4}, false, true},
                                        {{{3, 1}, {1}, {1}}, {1}, true, true},
                                        {{{0, 4}, {4}, {4}}, {4}, true, true},
                                        {{{3, 2, 33}, {33}, {33}}, {33}, true, true},
                                        {{{20, 6}, {6}, {6}}, {6}, true, true}};
  add_rows(cases, "layer_norm", "over {}, weight {}, bias {}", layers, norm);
  const AtAll<bool, bool> batches{
      {{{4, 3}, {3}, {3}}, true, true}, {{{0, 2}, {2}, {2}}, true, true},
      {{{4, 3}}, false, false},         {{{17, 5}, {5}, {5}}, true, true},
      {{{2, 3, 2}, {3}}, true, false},  {{{3, 2, 4}, {2}, {2}}, true, true},
      {{{2, 3, 2}, {3}}, false, true},  {{{1, 2, 3}, {2}, {2}}, true, true},
      {{{5, 1}, {1}, {1}}, true, true}, {{{2, 3, 2, 2}, {3}, {3}}, true, true},
      {{{1, 2}, {2}, {2}}, true, true}};
  add_rows(cases, "batch_norm", "weight {}, bias {}", batches,
           [](const Inputs& x, bool weight, bool bias) {
             return batch_norm(x[0], optional(x, 1, weight), optional(x, weight ? 2 : 1, bias),
                               1e-2);
           });
}

void dropout_rows(Cases& cases) {
  const At<double> places{{{3, 4}, 0.3},    {{1}, 0.1},          {{9}, 0.5},
                          {{2, 3, 4}, 0.9}, {{2, 1, 3, 2}, 0.5}, {{0, 3}, 0.5},
                          {{3, 4}, 0.0},    {{3, 4}, 1.0},       {{7, 33}, 0.2}};
  const auto drop = [](const Tensor& x, double p) { return dropout(x, p, Rng(7)); };
  add_rows(cases, "dropout", "p {}", places, drop);
  add_row(cases, "dropout", {{}}, "p 0.3", [=](const Inputs& x) { return drop(x[0], 0.3); });
  add_rows(cases, "stochastic_depth", "p {}", places,
           [](const Tensor& x, double p) { return stochastic_depth(x, p, Rng(7)); });
}

void convolution_rows(Cases& cases) {
  using std::size_t;
  const At<size_t, size_t, size_t, size_t, size_t, size_t> windows{
      {{2, 3, 4, 4}, 2, 2, 2, 2, 0, 0}, {{1, 1, 1, 1}, 1, 1, 1, 1, 0, 0},
      {{1, 2, 4, 5}, 3, 2, 1, 1, 0, 0}, {{2, 1, 5, 4}, 3, 3, 2, 1, 1, 1},
      {{1, 1, 2, 2}, 3, 3, 1, 1, 2, 2}, {{1, 2, 5, 5}, 2, 2, 3, 3, 0, 0},
      {{0, 2, 4, 4}, 2, 2, 2, 2, 0, 0}, {{1, 1, 1, 6}, 1, 3, 1, 2, 0, 1},
      {{1, 1, 3, 3}, 1, 1, 2, 2, 3, 3}, {{1, 0, 3, 3}, 2, 2, 1, 1, 0, 0}};
  add_rows(cases, "unfold", "window {}x{}, stride {},{}, padding {},{}", windows,
           [](const Tensor& x, auto... window) { return unfold(x, {window...}); });
  const AtAll<size_t, size_t, size_t> places{
      {{{2, 2, 4, 4}, {3, 2, 2, 2}, {3}}, 2, 2, 0}, {{{1, 1, 1, 1}, {1, 1, 1, 1}, {1}}, 1, 1, 0},
      {{{1, 2, 4, 3}, {2, 2, 3, 2}}, 1, 1, 0},      {{{2, 1, 4, 4}, {2, 1, 3, 3}, {2}}, 2, 2, 1},
      {{{1, 1, 2, 2}, {1, 1, 3, 3}, {1}}, 1, 1, 2}, {{{1, 2, 5, 5}, {2, 2, 2, 2}}, 3, 3, 0},
      {{{0, 1, 3, 3}, {2, 1, 2, 2}, {2}}, 1, 1, 0}, {{{3, 3, 2, 2}, {4, 3, 1, 1}, {4}}, 1, 1, 0},
      {{{1, 0, 3, 3}, {2, 0, 2, 2}, {2}}, 1, 1, 0}, {{{1, 2, 4, 3}, {2, 2, 2, 1}, {2}}, 2, 1, 0}};
  add_rows(cases, "conv2d", "stride {},{}, padding {}", places,
           [](const Inputs& x, size_t down, size_t right, size_t padding) {
             return conv2d(x[0], x[1], optional(x, 2), {down, right}, padding);
           });
}

// The bias is the input at `plain`, where there is one. With a causal mask query t sees no key
// after t.
AttentionOptions options_of(const Inputs& x, std::size_t plain, bool causal, std::size_t T,
                            std::size_t S, double p) {
  static const Rng rng(11);
  AttentionOptions options{.bias = optional(x, plain), .dropout = p, .rng = &rng};
  if (!causal) return options;
  Array mask = zeros({T, S});
  for (std::size_t t = 0; t < T; ++t) {
    for (std::size_t s = 0; s <= t && s < S; ++s) mask(t, s) = 1;
  }
  options.mask = mask;
  return options;
}

void attention_rows(Cases& cases) {
  const AtAll<bool, double> crossed{
      {{{2, 3, 2}, {2, 4, 2}, {2, 4, 2}, {3, 4}}, false, 0},
      {{{3, 4}, {3, 4}, {3, 4}}, false, 0},
      {{{2, 3, 2}, {2, 5, 2}, {2, 5, 3}}, false, 0},
      {{{2, 2, 3, 2}, {2, 2, 3, 2}, {2, 2, 3, 2}}, true, 0},
      {{{2, 2, 3, 2}, {2, 2, 4, 2}, {2, 2, 4, 2}, {3, 4}}, false, 0},
      {{{2, 2, 3, 2}, {2, 2, 3, 2}, {2, 2, 3, 2}, {2, 3, 3}}, true, 0},
      {{{2, 2, 2, 2}, {2, 2, 3, 2}, {2, 2, 3, 2}, {2, 1, 1, 3}}, false, 0.3},
      {{{2, 1, 2, 3, 2}, {2, 1, 2, 3, 2}, {2, 1, 2, 3, 2}, {2, 1, 1, 3, 1}}, false, 0},
      {{{1, 1}, {1, 1}, {1, 1}}, false, 0},
      {{{0, 3, 2}, {0, 3, 2}, {0, 3, 2}}, false, 0},
      {{{2, 0, 2}, {2, 3, 2}, {2, 3, 2}}, false, 0},
      {{{2, 3, 2}, {2, 3, 2}, {2, 3, 2}}, false, 0.4},
      {{{2, 9, 5}, {2, 9, 5}, {2, 9, 5}}, true, 0.2}};
  add_rows(cases, "attention", "causal {}, p {}", crossed,
           [](const Inputs& x, bool causal, double p) {
             const auto options = options_of(x, 3, causal, x[0].size(-2), x[1].size(-2), p);
             return attention(x[0], x[1], x[2], options);
           });
  const AtAll<std::size_t> multi{{{{2, 1, 4}, {2, 3, 4}, {2, 3, 4}, {1, 3}}, 2},
                                 {{{2, 3, 4}, {2, 3, 4}, {2, 3, 4}}, 2},
                                 {{{2, 1, 4}, {2, 5, 4}, {2, 5, 6}}, 2},
                                 {{{1, 2, 3}, {1, 4, 3}, {1, 4, 1}}, 1},
                                 {{{2, 1, 6}, {2, 3, 6}, {2, 3, 6}, {3, 1, 3}}, 3},
                                 {{{2, 3, 4}, {2, 5, 4}, {2, 5, 2}, {2, 2, 3, 5}}, 2},
                                 {{{1, 9, 6}, {1, 9, 6}, {1, 9, 6}}, 3},
                                 {{{1, 1, 1}, {1, 1, 1}, {1, 1, 1}}, 1},
                                 {{{2, 0, 4}, {2, 3, 4}, {2, 3, 4}}, 2},
                                 {{{0, 1, 4}, {0, 3, 4}, {0, 3, 4}}, 2}};
  add_rows(cases, "multi_head_attention", "h {}", multi, [](const Inputs& x, std::size_t heads) {
    return multi_head_attention(x[0], x[1], x[2], heads, {.bias = optional(x, 3)});
  });
  const AtAll<std::size_t, bool, double, std::optional<std::size_t>> own{
      {{{2, 3, 12}, {3, 3}}, 2, false, 0, {}},
      {{{2, 3, 12}}, 2, false, 0, {}},
      {{{1, 4, 6}}, 1, false, 0, {}},
      {{{2, 3, 9}}, 3, true, 0, {}},
      {{{2, 3, 12}, {2, 3, 3}}, 2, false, 0, {}},
      {{{2, 3, 12}, {2, 1, 3, 3}}, 2, true, 0, {}},
      {{{2, 1, 12}}, 2, false, 0, {}},
      {{{1, 1, 3}}, 1, false, 0, {}},
      {{{0, 3, 6}}, 1, false, 0, {}},
      {{{2, 0, 6}}, 2, false, 0, {}},
      {{{2, 3, 12}, {}}, 2, false, 0.3, {}},
      {{{2, 9, 24}, {9, 9}}, 4, true, 0.2, {}},
      {{{2, 4, 12}}, 2, false, 0, 1},
      {{{2, 5, 6}, {2, 5}}, 1, true, 0.3, 2},
      {{{2, 3, 12}, {2, 2, 1, 3}}, 2, false, 0.2, 1},
      {{{1, 3, 6}}, 2, false, 0, 0}};
  add_rows(cases, "self_attention", "h {}, causal {}, p {}, queries {}", own,
           [](const Inputs& x, std::size_t heads, bool causal, double p,
              std::optional<std::size_t> queries) {
             const std::size_t T = x[0].size(1);
             const auto options = options_of(x, 1, causal, queries.value_or(T), T, p);
             return self_attention(x[0], heads, options, queries);
           });
}

std::vector<std::size_t> labels_for(const Tensor& x) {
  std::vector<std::size_t> labels(x.size(0));
  for (std::size_t b = 0; b < labels.size(); ++b) labels[b] = (3 * b + 1) % x.size(1);
  return labels;
}

void loss_rows(Cases& cases) {
  const auto mean = Reduction::mean;
  const auto sum = Reduction::sum;
  const auto none = Reduction::none;
  const At<Reduction, double> places{{{4, 3}, mean, 0},   {{4, 3}, sum, 0},    {{4, 3}, none, 0},
                                     {{1, 5}, mean, 0},   {{3, 1}, none, 0},   {{1, 1}, sum, 0},
                                     {{0, 3}, sum, 0},    {{0, 3}, none, 0},   {{5, 10}, mean, 0.1},
                                     {{3, 4}, none, 0.5}, {{9, 33}, none, 0.2}};
  add_rows(cases, "cross_entropy", "labels, {}, smoothing {}", places,
           [](const Tensor& x, Reduction reduction, double e) {
             return cross_entropy(x, labels_for(x), e, reduction);
           });
  add_rows(cases, "cross_entropy", "soft targets, {}, smoothing {}", places,
           [](const Tensor& x, Reduction reduction, double e) {
             const Tensor probabilities = softmax(random_normal(x.shape(), 5));  // as mixup's
             return cross_entropy(x, probabilities.value(), e, reduction);
           });
  add_rows(cases, "nll_loss", "{}", places, [](const Tensor& x, Reduction reduction, double) {
    return nll_loss(x, labels_for(x), reduction);
  });
  const AtAll<Reduction> pairs{{{{4, 3}, {4, 3}}, none}, {{{4, 3}, {4, 3}}, mean},
                               {{{4, 3}, {4, 3}}, sum},  {{{1, 5}, {1, 5}}, mean},
                               {{{3, 1}, {3, 1}}, none}, {{{1, 1}, {1, 1}}, sum},
                               {{{0, 3}, {0, 3}}, sum},  {{{0, 3}, {0, 3}}, none},
                               {{{}, {}}, mean},         {{{2, 1, 3, 2}, {2, 1, 3, 2}}, mean}};
  add_rows(cases, "mse_loss", "{}", pairs,
           [](const Inputs& x, Reduction reduction) { return mse_loss(x[0], x[1], reduction); });
  const At<Reduction> targets{{{2, 3}, none},    {Shape{}, none},   {{1}, sum},
                              {{5}, sum},        {{2, 1, 3}, mean}, {{2, 3, 1, 2}, mean},
                              {{4, 4, 2}, mean}, {{0, 3}, none}};
  add_rows(cases, "bce_with_logits", "{}", targets, [](const Tensor& x, Reduction reduction) {
    return bce_with_logits(x, random_uniform(x.shape(), 0, 1, 7), reduction);
  });
  for (const bool weighed : {false, true}) {
    const At<Reduction, double> options{{{4, 3}, mean, 0}, {{4, 3}, mean, 0.2},
                                        {{4, 3}, sum, 0},  {{4, 3}, sum, 0.2},
                                        {{4, 3}, none, 0}, {{4, 3}, none, 0.2}};
    add_rows(cases, "cross_entropy",
             weighed ? "weights, row ignored, {}, smoothing {}" : "row ignored, {}, smoothing {}",
             options, [weighed](const Tensor& x, Reduction reduction, double e) {
               return cross_entropy(
                   x, Indices{1, -100, 2, 1},
                   {.weights = weighed ? Tensor(array({3}, {0.5, 2, 1})) : Tensor(),
                    .ignore_index = -100,
                    .label_smoothing = e,
                    .reduction = reduction});
             });
  }
}

}  // namespace

void layer_rows(Cases& cases) {
  linear_rows(cases);
  softmax_rows(cases);
  norm_rows(cases);
  dropout_rows(cases);
  convolution_rows(cases);
  attention_rows(cases);
  loss_rows(cases);
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
