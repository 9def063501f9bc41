// Attention in its three layouts: readable twins, closed forms, PyTorch.

#include "tests/core/ops/ops_testing.hpp"

#include <optional>

using namespace vitruvian;

namespace {

const Golden golden_attention({
    {"attention",
     [](const Tensors& x, const Json& a) {
       AttentionOptions options{.bias = given(x, 3)};
       if (a.contains("mask")) options.mask = golden::tensor(a["mask"]);
       return attention(x[0], x[1], x[2], options);
     }},
    {"self_attention",
     [](const Tensors& x, const Json& a) {
       return self_attention(x[0], a["heads"], {.bias = given(x, 1)});
     }},
});

// Of each row the first key, and some 60 % of the others.
Array random_mask(const Shape& shape) {
  const Array draw = random_uniform(shape, 0, 1, 3);
  Array mask = empty(shape);
  for (std::size_t i = 0; i < mask.size(); ++i) {
    mask.data()[i] = i % shape.back() == 0 || draw.data()[i] > real(0.4) ? 1 : 0;
  }
  return mask;
}

struct Row {
  Shapes shapes;  // q, k, v or qkv, perhaps a bias
  std::size_t heads;
  Shape mask;  // empty: none
  double p;
};

// Holds f(inputs, heads, options) against its twin, `inputs` of a row's shapes being no bias.
template <class F>
void check_attention(const Row& row, std::size_t inputs, const F& f) {
  const Rng rng(22);
  const Tensor mask = row.mask.empty() ? Tensor() : Tensor(random_mask(row.mask));
  CAPTURE(to_string(row.mask));
  check_fused(row.shapes, [&](const Tensors& x) {
    return f(x, row.heads, {.mask = mask, .bias = given(x, inputs), .dropout = row.p, .rng = &rng});
  });
}

}  // namespace

TEST_CASE("attention, with and without mask, bias and dropout") {
  for (const Row& row :
       {Row{{{3, 4}, {3, 4}, {3, 4}}, 0, {}, 0},
        {{{2, 3, 4}, {2, 5, 4}, {2, 5, 3}}, 0, {}, 0},
        {{{2, 3, 4, 2}, {2, 3, 5, 2}, {2, 3, 5, 6}}, 0, {4, 5}, 0},
        {{{2, 3, 4, 2}, {2, 3, 5, 2}, {2, 3, 5, 6}}, 0, {2, 1, 1, 5}, 0},
        {{{2, 3, 4, 2}, {2, 3, 5, 2}, {2, 3, 5, 6}}, 0, {1, 3, 4, 5}, 0.3},
        {{{2, 3, 4, 2}, {2, 3, 5, 2}, {2, 3, 5, 6}, {4, 5}}, 0, {}, 0},
        {{{2, 3, 4, 2}, {2, 3, 5, 2}, {2, 3, 5, 6}, {3, 4, 5}}, 0, {}, 0},
        {{{2, 3, 4, 2}, {2, 3, 5, 2}, {2, 3, 5, 6}, {2, 1, 4, 5}}, 0, {3, 1, 5}, 0},
        {{{2, 3, 4, 2}, {2, 3, 5, 2}, {2, 3, 5, 6}, {2, 3, 4, 5}}, 0, {2, 3, 4, 5}, 0.5},
        {{{2, 3, 4, 2}, {2, 3, 5, 2}, {2, 3, 5, 6}, {3, 1, 5}}, 0, {}, 0.1},
        {{{2, 2, 3, 4, 2}, {2, 2, 3, 4, 2}, {2, 2, 3, 4, 2}, {2, 1, 4, 4}}, 0, {}, 0},
        {{{2, 2, 3, 4, 2}, {2, 2, 3, 4, 2}, {2, 2, 3, 4, 2}, {2, 1, 1, 4, 4}},
         0,
         {1, 2, 3, 1, 4},
         0.2},
        {{{1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}}, 0, {}, 0},
        {{{1, 2, 1, 3}, {1, 2, 1, 3}, {1, 2, 1, 3}}, 0, {1}, 0},
        {{{0, 2, 3, 4}, {0, 2, 3, 4}, {0, 2, 3, 4}}, 0, {}, 0},
        {{{2, 0, 4}, {2, 3, 4}, {2, 3, 4}}, 0, {}, 0},
        {{{2, 4, 65, 32}, {2, 4, 65, 32}, {2, 4, 65, 32}}, 0, {}, 0},
        {{{3, 2, 50, 17}, {3, 2, 33, 17}, {3, 2, 33, 9}, {50, 33}}, 0, {50, 33}, 0.1}}) {
    check_attention(row, 3, [](const Tensors& x, std::size_t, const AttentionOptions& options) {
      return attention(x[0], x[1], x[2], options);
    });
  }
}

TEST_CASE("self_attention reads heads where a linear layer left them") {
  for (const Row& row : {Row{{{2, 3, 12}}, 2, {}, 0},
                         {{{2, 3, 12}}, 1, {}, 0},
                         {{{2, 3, 12}}, 4, {3, 3}, 0},
                         {{{2, 5, 12}}, 2, {2, 1, 1, 5}, 0.3},
                         {{{2, 5, 12}, {2, 5, 5}}, 2, {}, 0},
                         {{{2, 5, 12}, {2, 1, 5, 5}}, 2, {5, 5}, 0.2},
                         {{{2, 1, 12}}, 2, {}, 0},
                         {{{1, 1, 3}}, 1, {}, 0},
                         {{{0, 4, 12}}, 2, {}, 0},
                         {{{3, 65, 96}}, 4, {}, 0.1},
                         {{{2, 17, 192}, {17, 17}}, 4, {}, 0}}) {
    check_attention(row, 1, [](const Tensors& x, std::size_t h, const AttentionOptions& options) {
      return self_attention(x[0], h, options);
    });
  }
}

TEST_CASE("multi_head_attention reads heads that lie side by side") {
  for (const Row& row : {Row{{{2, 3, 12}, {2, 3, 12}, {2, 3, 12}}, 2, {}, 0},
                         {{{2, 1, 12}, {2, 5, 12}, {2, 5, 8}}, 4, {}, 0},
                         {{{2, 4, 6}, {2, 3, 6}, {2, 3, 3}}, 3, {4, 3}, 0.3},
                         {{{2, 4, 6}, {2, 5, 6}, {2, 5, 6}, {2, 1, 5}}, 2, {2, 1, 1, 5}, 0.2},
                         {{{1, 1, 1}, {1, 1, 1}, {1, 1, 1}}, 1, {}, 0},
                         {{{0, 1, 4}, {0, 3, 4}, {0, 3, 4}}, 2, {}, 0},
                         {{{3, 1, 128}, {3, 65, 128}, {3, 65, 128}}, 4, {}, 0},
                         {{{2, 17, 64}, {2, 17, 64}, {2, 17, 64}}, 4, {}, 0.1}}) {
    check_attention(row, 3, [](const Tensors& x, std::size_t h, const AttentionOptions& options) {
      return multi_head_attention(x[0], x[1], x[2], h, options);
    });
  }
}

TEST_CASE("attention of NaN, to nothing, over nothing, and all dropped") {
  CHECK(std::isnan(attention(array({1, 2}, {1, NaN}), array({1, 2}, {1, 1}), array({1, 2}, {1, 1}))
                       .value()(0, 0)));
  // A query that may look at nothing is NaN; its neighbours are not.
  const Array y = attention(random_normal({2, 3}, 1), random_normal({2, 3}, 2), full({2, 3}, 1),
                            {.mask = array({2, 2}, {0, 0, 1, 0})})
                      .value();
  CHECK(std::isnan(y(0, 0)));
  CHECK(y(1, 0) == 1);
  // Queries without any key get nothing.
  for (const bool readable : {false, true}) {
    const std::optional<Composed> twins =
        readable ? std::optional<Composed>(std::in_place) : std::nullopt;
    CHECK(distance(attention(full({2, 3}, 1), zeros({0, 3}), zeros({0, 4})), zeros({2, 4})) == 0);
    CHECK(to_string(self_attention(zeros({2, 0, 12}), 2).shape()) == "(2, 0, 4)");
  }
  const Rng rng(1);
  const Tensor q(random_normal({3, 4}, 2), true);
  const Tensor o = attention(q, q, q, {.dropout = 1, .rng = &rng});
  CHECK(distance(o, zeros({3, 4})) == 0);
  CHECK(distance(grad(o, {q}, o.value())[0], zeros({3, 4})) == 0);
}

TEST_CASE("softmax does not see a constant that is added to every key, or to every score") {
  const Tensor q = random_normal({2, 3, 5, 4}, 1);
  const Tensor k = random_normal({2, 3, 6, 4}, 2);
  const Tensor v = random_normal({2, 3, 6, 4}, 3);
  const auto unseen = [&](const Tensor& constant, const Tensor& y) {
    CHECK(distance(y, attention(q, k, v)) <= (in_double ? 1e-14 : 5e-6));
    CHECK(largest(grad(y, {constant}, random_normal(y.shape(), 5))[0]) <=
          (in_double ? 1e-14 : 2e-5));
  };
  const Tensor b(random_normal({4}, 4), true);
  unseen(b, attention(q, k + b, v));
  for (const Shape& shape : Shapes{{}, {3, 1, 1}, {2, 1, 5, 1}}) {
    const Tensor bias(random_normal(shape, 4), true);
    unseen(bias, attention(q, k, v, {.bias = bias}));
  }
}

TEST_CASE("attention over equal keys is the mean of the values") {
  check_values(attention(random_normal({3, 2}, 1), zeros({4, 2}), array({4, 1}, {1, 2, 3, 6})),
               {3, 3, 3}, 1e-6);
}

TEST_CASE("composed attention hands out what inspection needs") {
  const Rng rng(4);
  const composed::Attention a =
      composed::self_attention(random_normal({2, 5, 12}, 1), 2, {.dropout = 0.5, .rng = &rng});
  CHECK(to_string(a.scores.shape()) == "(2, 2, 5, 5)");
  CHECK(to_string(a.probs.shape()) == "(2, 2, 5, 5)");
  CHECK(to_string(a.output.shape()) == "(2, 5, 4)");
  CHECK(distance(sum(a.probs, {-1}), full({2, 2, 5}, 1)) <= 1e-6);  // before dropout
}

TEST_CASE("attention refuses shapes that do not fit") {
  const Tensor x(zeros({3, 4}));
  const Tensor tokens(zeros({2, 3, 4}));
  const Tensor qkv(zeros({2, 3, 12}));
  CHECK_SAYS(attention(x, zeros({4}), x),
             "attention: k (4,) needs at least the axes (tokens, width)");
  CHECK_SAYS(attention(tokens, zeros({1, 3, 4}), tokens),
             "attention: q (2, 3, 4), k (1, 3, 4) and v (2, 3, 4) differ in their leading axes");
  CHECK_SAYS(attention(x, zeros({3, 5}), x), "attention: q (3, 4) is 4 wide but k (3, 5) is 5");
  CHECK_SAYS(attention(x, x, zeros({2, 4})), "attention: k (3, 4) has 3 tokens but v (2, 4) has 2");
  CHECK_SAYS(attention(x, x, x, {.mask = zeros({2})}),
             "attention: mask (2,) does not broadcast to the scores (3, 3)");
  CHECK_SAYS(attention(x, x, x, {.bias = zeros({2, 3, 3})}),
             "attention: bias (2, 3, 3) does not broadcast to the scores (3, 3)");
  CHECK_SAYS(multi_head_attention(tokens, x, tokens, 2),
             "multi_head_attention: k (3, 4) is not (B, tokens, width)");
  CHECK_SAYS(multi_head_attention(tokens, tokens, tokens, 3),
             "multi_head_attention: width 4 of q (2, 3, 4) is not a multiple of 3 heads");
  CHECK_SAYS(multi_head_attention(tokens, tokens, tokens, 0),
             "multi_head_attention: width 4 of q (2, 3, 4) is not a multiple of 0 heads");
  const Tensor one(zeros({2, 1, 4}));
  CHECK_SAYS(multi_head_attention(one, tokens, zeros({2, 4, 4}), 2),
             "multi_head_attention: q (2, 1, 4), k (2, 3, 4) and v (2, 4, 4) do not fit: "
             "(B, T, D), (B, S, D), (B, S, D_v)");
  CHECK_SAYS(multi_head_attention(one, tokens, tokens, 2, {.mask = zeros({2})}),
             "multi_head_attention: mask (2,) does not broadcast to the scores (2, 2, 1, 3)");
  CHECK_SAYS(self_attention(qkv, 2, {.dropout = 2}),
             "self_attention: dropout probability 2 is not in [0, 1]");
  CHECK_SAYS(self_attention(zeros({3, 12}), 2), "self_attention: input (3, 12) is not (B, T, 3 D)");
  CHECK_SAYS(self_attention(qkv, 3),
             "self_attention: 3 heads do not divide D = 4 of input "
             "(2, 3, 12), which is (B, T, 3 D)");
  CHECK_SAYS(self_attention(qkv, 0),
             "self_attention: 0 heads do not divide D = 4 of input "
             "(2, 3, 12), which is (B, T, 3 D)");
  const Tensor six(zeros({1, 2, 6}));
  CHECK_FAILS_WITH(composed::self_attention(six, 0),
                   "self_attention: 0 heads; expected at least 1");
  CHECK_FAILS_WITH(composed::multi_head_attention(six, six, six, 0),
                   "multi_head_attention: 0 heads");
  CHECK_FAILS_WITH(self_attention(zeros({1, 2, 18}), 4),
                   "self_attention: 4 heads do not divide D = 6 of input (1, 2, 18)");
  CHECK_FAILS_WITH(self_attention(zeros({1, 2, 7}), 1),
                   "self_attention: the width 7 of input (1, 2, 7) is not 3 D");
}
