// The rows of attention and of the losses.

#include "vitruvian/core/check/rows.hpp"

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

// Where the causal query t may not look: keys after t.
Array causal(std::size_t T, std::size_t S) {
  Array mask = zeros({T, S});
  for (std::size_t t = 0; t < T; ++t) {
    for (std::size_t s = 0; s <= t && s < S; ++s) mask(t, s) = 1;
  }
  return mask;
}

// Attention with the last input as a bias when there is one more than `plain`.
Function attending(std::size_t plain, bool masked, double p, std::size_t heads,
                   std::optional<std::size_t> queries = {}) {
  return [=](const Inputs& x) {
    const Rng rng(11);
    const Array mask =
        masked ? causal(queries.value_or(x[0].size(-2)), x[plain == 1 ? 0 : 1].size(-2)) : Array();
    AttentionOptions options;
    if (masked) options.mask = mask;
    options.bias = optional(x, x.size() > plain, plain);
    options.dropout = p;
    options.rng = &rng;
    return plain == 1 ? self_attention(x[0], heads, options, queries)
                      : attention(x[0], x[1], x[2], options);
  };
}

void cross_attention_rows(Cases& cases) {
  struct Row {
    std::vector<Shape> shapes;
    bool masked;
    double p;
  };
  for (const Row& row : std::vector<Row>{
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
           {{{2, 9, 5}, {2, 9, 5}, {2, 9, 5}}, true, 0.2}}) {
    add_row(cases, "attention", row.shapes,
            fmt::format("{}p {}", row.masked ? "causal, " : "", row.p),
            attending(3, row.masked, row.p, 0));
  }
  add_twice(cases, "attention", {{2, 3, 2}, {2, 4, 2}, {2, 4, 2}, {3, 4}},
            attending(3, false, 0, 0));
}

void project_qkv_rows(Cases& cases) {
  struct Row {
    std::vector<Shape> shapes;
    std::size_t queries;
  };
  const auto of_first = [](std::size_t queries) {
    return [queries](const Inputs& x) {
      return project_qkv(x[0], x[1], optional(x, x.size() > 2, 2), queries);
    };
  };
  for (const Row& row : std::vector<Row>{{{{2, 3, 4}, {6, 4}, {6}}, 1},
                                         {{{2, 3, 4}, {6, 4}}, 2},
                                         {{{2, 3, 2}, {6, 2}, {6}}, 0},
                                         {{{2, 3, 2}, {6, 2}, {6}}, 3},
                                         {{{1, 1, 1}, {3, 1}, {3}}, 1},
                                         {{{3, 5, 2}, {9, 2}, {9}}, 4},
                                         {{{0, 3, 2}, {6, 2}, {6}}, 1},
                                         {{{2, 0, 2}, {6, 2}, {6}}, 0}}) {
    add_row(cases, "project_qkv", row.shapes, fmt::format("queries {}", row.queries),
            of_first(row.queries));
  }
  add_twice(cases, "project_qkv", {{2, 3, 2}, {6, 2}, {6}}, of_first(1));
}

void self_attention_rows(Cases& cases) {
  struct Row {
    std::vector<Shape> shapes;
    std::size_t heads;
    bool masked;
    double p;
    std::optional<std::size_t> queries = {};
  };
  for (const Row& row : std::vector<Row>{{{{2, 3, 12}}, 2, false, 0},
                                         {{{1, 4, 6}}, 1, false, 0},
                                         {{{2, 3, 9}}, 3, true, 0},
                                         {{{2, 3, 12}, {2, 3, 3}}, 2, false, 0},
                                         {{{2, 3, 12}, {2, 1, 3, 3}}, 2, true, 0},
                                         {{{2, 1, 12}}, 2, false, 0},
                                         {{{1, 1, 3}}, 1, false, 0},
                                         {{{0, 3, 6}}, 1, false, 0},
                                         {{{2, 0, 6}}, 2, false, 0},
                                         {{{2, 3, 12}, {}}, 2, false, 0.3},
                                         {{{2, 9, 24}, {9, 9}}, 4, true, 0.2},
                                         {{{2, 4, 12}}, 2, false, 0, 1},
                                         {{{2, 5, 6}, {2, 5}}, 1, true, 0.3, 2},
                                         {{{2, 3, 12}, {2, 2, 1, 3}}, 2, false, 0.2, 1},
                                         {{{1, 3, 6}}, 2, false, 0, 0}}) {
    add_row(cases, "self_attention", row.shapes,
            fmt::format("h {}{}{}, p {}", row.heads, row.masked ? ", causal" : "",
                        row.queries ? fmt::format(", {} queries", *row.queries) : "", row.p),
            attending(1, row.masked, row.p, row.heads, row.queries));
  }
  add_twice(cases, "self_attention", {{2, 3, 12}, {3, 3}}, attending(1, false, 0, 2));
}

void multi_head_attention_rows(Cases& cases) {
  struct Row {
    std::vector<Shape> shapes;
    std::size_t heads;
  };
  const auto function = [](std::size_t heads) -> Function {
    return [heads](const Inputs& x) {
      AttentionOptions options;
      options.bias = optional(x, x.size() > 3, 3);
      return multi_head_attention(x[0], x[1], x[2], heads, options);
    };
  };
  for (const Row& row : std::vector<Row>{{{{2, 3, 4}, {2, 3, 4}, {2, 3, 4}}, 2},
                                         {{{2, 1, 4}, {2, 5, 4}, {2, 5, 6}}, 2},
                                         {{{1, 2, 3}, {1, 4, 3}, {1, 4, 1}}, 1},
                                         {{{2, 1, 6}, {2, 3, 6}, {2, 3, 6}, {3, 1, 3}}, 3},
                                         {{{2, 3, 4}, {2, 5, 4}, {2, 5, 2}, {2, 2, 3, 5}}, 2},
                                         {{{1, 9, 6}, {1, 9, 6}, {1, 9, 6}}, 3},
                                         {{{1, 1, 1}, {1, 1, 1}, {1, 1, 1}}, 1},
                                         {{{2, 0, 4}, {2, 3, 4}, {2, 3, 4}}, 2},
                                         {{{0, 1, 4}, {0, 3, 4}, {0, 3, 4}}, 2}}) {
    add_row(cases, "multi_head_attention", row.shapes, fmt::format("h {}", row.heads),
            function(row.heads));
  }
  add_twice(cases, "multi_head_attention", {{2, 1, 4}, {2, 3, 4}, {2, 3, 4}, {1, 3}}, function(2));
}

std::vector<std::size_t> labels_for(std::size_t B, std::size_t K) {
  std::vector<std::size_t> labels(B);
  for (std::size_t b = 0; b < B; ++b) labels[b] = (3 * b + 1) % K;
  return labels;
}

// Rows that are probabilities, as mixup makes them.
Array soft_targets(std::size_t B, std::size_t K) {
  const NoGrad constant;
  return softmax(Tensor(random_normal({B, K}, 5))).value();
}

}  // namespace

void attention_rows(Cases& cases) {
  cross_attention_rows(cases);
  multi_head_attention_rows(cases);
  project_qkv_rows(cases);
  self_attention_rows(cases);
}

void loss_rows(Cases& cases) {
  struct Row {
    Shape shape;
    double smoothing;
    Reduction reduction;
    const char* label;
  };
  for (const Row& row : std::vector<Row>{{{4, 3}, 0, Reduction::mean, "mean"},
                                         {{4, 3}, 0, Reduction::sum, "sum"},
                                         {{4, 3}, 0, Reduction::none, "none"},
                                         {{1, 5}, 0, Reduction::mean, "mean"},
                                         {{3, 1}, 0, Reduction::none, "none"},
                                         {{1, 1}, 0, Reduction::sum, "sum"},
                                         {{0, 3}, 0, Reduction::sum, "sum"},
                                         {{0, 3}, 0, Reduction::none, "none"},
                                         {{5, 10}, 0.1, Reduction::mean, "mean"},
                                         {{3, 4}, 0.5, Reduction::none, "none"},
                                         {{9, 33}, 0.2, Reduction::none, "none"}}) {
    const auto labels = labels_for(row.shape[0], row.shape[1]);
    const Array targets = soft_targets(row.shape[0], row.shape[1]);
    const std::string smoothed = fmt::format("{}, smoothing {}", row.label, row.smoothing);
    add_row(cases, "cross_entropy", {row.shape}, "labels, " + smoothed,
            [row, labels](const Inputs& x) {
              return cross_entropy(x[0], labels, row.smoothing, row.reduction);
            });
    add_row(cases, "cross_entropy", {row.shape}, "soft targets, " + smoothed,
            [row, targets](const Inputs& x) {
              return cross_entropy(x[0], targets, row.smoothing, row.reduction);
            });
    if (row.smoothing == 0) {
      add_row(cases, "nll_loss", {row.shape}, row.label,
              [row, labels](const Inputs& x) { return nll_loss(x[0], labels, row.reduction); });
      add_row(cases, "mse_loss", {row.shape, row.shape}, row.label,
              [row](const Inputs& x) { return mse_loss(x[0], x[1], row.reduction); });
    }
  }
  add_row(cases, "mse_loss", {{}, {}}, "mean",
          [](const Inputs& x) { return mse_loss(x[0], x[1]); });
  add_row(cases, "mse_loss", {{2, 1, 3, 2}, {2, 1, 3, 2}}, "mean",
          [](const Inputs& x) { return mse_loss(x[0], x[1]); });
  const auto labels = labels_for(4, 3);
  add_twice(cases, "cross_entropy", {{4, 3}},
            [labels](const Inputs& x) { return cross_entropy(x[0], labels, 0.1); });
  add_twice(cases, "nll_loss", {{4, 3}},
            [labels](const Inputs& x) { return nll_loss(x[0], labels, Reduction::none); });
  add_twice(cases, "mse_loss", {{4, 3}, {4, 3}},
            [](const Inputs& x) { return mse_loss(x[0], x[1], Reduction::none); });
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
