// Matrix products, linear layers, convolutions and pooling: plain loops, readable twins, PyTorch.

#include "tests/core/ops/ops_testing.hpp"
#include "vitruvian/core/base/scope.hpp"

using namespace vitruvian;

namespace {

const Golden golden_products({
    {"matmul", [](const Tensors& x, const Json&) { return matmul(x[0], x[1]); }},
    {"linear", [](const Tensors& x, const Json&) { return linear(x[0], x[1], given(x, 2)); }},
    {"unfold",
     [](const Tensors& x, const Json& a) {
       return unfold(x[0], {a["height"], a["width"], a["stride_y"], a["stride_x"], a["padding_y"],
                            a["padding_x"]});
     }},
    {"conv2d",
     [](const Tensors& x, const Json& a) {
       return conv2d(x[0], x[1], given(x, 2), a["stride"].get<std::size_t>(), a["padding"]);
     }},
    {"avg_pool2d",
     [](const Tensors& x, const Json& a) {
       return avg_pool2d(x[0], a["size"], a["stride"], a["padding"]);
     }},
    {"max_pool2d",
     [](const Tensors& x, const Json& a) {
       return max_pool2d(x[0], a["size"], a["stride"], a["padding"]);
     }},
});

}  // namespace

TEST_CASE("matmul is numpy's: batches broadcast, vectors lose their axis again") {
  struct Row {
    Shape a, b, result;
  };
  for (const Row& row : std::vector<Row>{{{3}, {3}, {}},
                                         {{3}, {3, 2}, {2}},
                                         {{2, 3}, {3}, {2}},
                                         {{2, 3}, {3, 4}, {2, 4}},
                                         {{5, 2, 3}, {3, 4}, {5, 2, 4}},
                                         {{2, 3}, {5, 3, 4}, {5, 2, 4}},
                                         {{5, 2, 3}, {5, 3, 4}, {5, 2, 4}},
                                         {{2, 1, 2, 3}, {4, 3, 2}, {2, 4, 2, 2}},
                                         {{1, 5, 2, 3}, {6, 1, 3, 2}, {6, 5, 2, 2}},
                                         {{1, 1, 2, 3}, {3, 4}, {1, 1, 2, 4}},
                                         {{2, 3}, {1, 1, 3, 4}, {1, 1, 2, 4}},
                                         {{3}, {5, 3, 2}, {5, 2}},
                                         {{5, 2, 3}, {3}, {5, 2}},
                                         {{2, 0}, {0, 3}, {2, 3}},
                                         {{0, 2}, {2, 3}, {0, 3}},
                                         {{0, 2, 3}, {3, 4}, {0, 2, 4}},
                                         {{1, 2, 3}, {0, 3, 4}, {0, 2, 4}},
                                         {{70, 33}, {33, 65}, {70, 65}}}) {
    const Array a = random_normal(row.a, 1);
    const Array b = random_normal(row.b, 2);
    const std::size_t inner = row.a.back();
    check_elements(
        matmul(a, b), row.result,
        [&](const Index& i) {
          Index left = i;
          Index right = i;
          if (row.b.size() > 1) left.pop_back();  // the result's column
          if (row.a.size() > 1) right.erase(right.end() - (row.b.size() > 1 ? 2 : 1));  // its row
          left.push_back(0);
          right.insert(row.b.size() > 1 ? right.end() - 1 : right.end(), 0);
          double sum = 0;
          for (std::size_t k = 0; k < inner; ++k) {
            left.back() = k;
            right[right.size() - (row.b.size() > 1 ? 2 : 1)] = k;
            sum += at(a, left) * at(b, right);
          }
          return sum;
        },
        64, 4);
  }
}

TEST_CASE("matmul refuses numbers and sizes that do not meet") {
  CHECK_FAILS_WITH(matmul(zeros({2, 3}), zeros({4, 5})),
                   "matmul: (2, 3) and (4, 5): the inner sizes 3 and 4 differ");
  CHECK_FAILS_WITH(matmul(zeros({}), zeros({4, 5})), "matmul: () and (4, 5)");
  CHECK_FAILS_WITH(matmul(zeros({2, 2, 3}), zeros({3, 3, 2})), "shapes (2,) and (3,) do not");
}

TEST_CASE("linear and linear_gelu") {
  for (const Shapes& shapes :
       {Shapes{{2, 3}, {4, 3}, {4}}, Shapes{{2, 3}, {4, 3}}, Shapes{{7}, {3, 7}, {3}},
        Shapes{{1}, {1, 1}, {1}}, Shapes{{2, 5, 4}, {3, 4}, {3}}, Shapes{{2, 1, 3, 4}, {6, 4}, {6}},
        Shapes{{0, 3}, {4, 3}, {4}}, Shapes{{3, 0}, {4, 0}, {4}}, Shapes{{3, 4}, {0, 4}, {0}},
        Shapes{{130, 65}, {33, 65}, {33}}, Shapes{{600, 17}, {100, 17}, {100}}}) {
    check_fused(shapes, [](const Tensors& x) { return linear(x[0], x[1], given(x, 2)); });
    check_fused(shapes, [](const Tensors& x) { return linear_gelu(x[0], x[1], given(x, 2)); });
  }
  CHECK(std::isnan(linear(array({1, 2}, {1, NaN}), full({1, 2}, 1)).value()(0, 0)));
  const Tensor x(random_normal({5, 7}, 1));  // without a tape the same values
  const Tensor w(random_normal({6, 7}, 2), true);
  const Tensor b(random_normal({6}, 3));
  const Tensor recorded = linear_gelu(x, w, b);
  const NoGrad no_grad;
  CHECK(distance(linear_gelu(x, w, b), recorded) <= (in_double ? 1e-15 : 1e-6));
}

TEST_CASE("project_qkv asks for the first tokens only") {
  for (const auto& [shapes, queries] :
       std::vector<std::pair<Shapes, std::size_t>>{{{{2, 3, 4}, {6, 4}, {6}}, 1},
                                                   {{{2, 3, 4}, {6, 4}}, 2},
                                                   {{{2, 3, 4}, {6, 4}, {6}}, 0},
                                                   {{{1, 1, 1}, {3, 1}, {3}}, 1},
                                                   {{{0, 3, 4}, {6, 4}, {6}}, 1},
                                                   {{{3, 17, 64}, {192, 64}, {192}}, 1},
                                                   {{{20, 65, 32}, {96, 32}, {96}}, 65}}) {
    check_fused(shapes, [q = queries](const Tensors& x) {
      return project_qkv(x[0], x[1], given(x, 2), q);
    });
  }
  const Array y = project_qkv(full({1, 2, 1}, 1), full({3, 1}, 2), full({3}, 1), 1).value();
  CHECK(y == array({1, 2, 3}, {3, 3, 3, 0, 3, 3}));
  CHECK_SAYS(
      project_qkv(zeros({2, 3, 4}), zeros({6, 4}), {}, 4),
      "project_qkv: 4 queries, input (2, 3, 4) and weight (6, 4); expected at most T, (B, T, "
      "D), (3 E, D)");
}

TEST_CASE("linear names the shapes and the module") {
  CHECK_SAYS(linear(zeros({4}), zeros({4})), "linear: weight (4,) is not a matrix (out, in)");
  CHECK_SAYS(linear(zeros({}), zeros({5, 4})),
             "linear: input () has no features but weight (5, 4) takes 4");
  CHECK_SAYS(linear(zeros({2, 4}), zeros({5, 4}), zeros({4})),
             "linear: bias (4,) but weight (5, 4) gives 5 features");
  const Scope blocks("blocks", 3);
  const Scope mlp("mlp");
  const Scope fc1("fc1");
  CHECK_SAYS(linear(zeros({2, 7}), zeros({5, 4})),
             "linear: input (2, 7) has 7 features but weight (5, 4) takes 4 - in blocks.3.mlp.fc1");
}

TEST_CASE("conv2d") {
  struct Row {
    Shapes shapes;
    Stride stride;
    std::size_t padding;
  };
  for (const Row& row : {Row{{{2, 3, 8, 8}, {5, 3, 4, 4}, {5}}, 4, 0},
                         {{{1, 1, 1, 1}, {1, 1, 1, 1}, {1}}, 1, 0},
                         {{{2, 2, 5, 4}, {3, 2, 3, 2}}, 1, 0},
                         {{{2, 2, 5, 4}, {3, 2, 3, 3}, {3}}, 2, 1},
                         {{{1, 2, 2, 2}, {2, 2, 3, 3}, {2}}, 1, 2},
                         {{{1, 1, 5, 5}, {2, 1, 2, 2}}, 3, 0},
                         {{{1, 2, 3, 3}, {2, 2, 1, 1}, {2}}, 2, 3},
                         {{{0, 2, 4, 4}, {3, 2, 2, 2}, {3}}, 2, 0},
                         {{{2, 2, 6, 8}, {3, 2, 3, 2}, {3}}, {3, 2}, 0},
                         {{{3, 3, 32, 32}, {16, 3, 4, 4}, {16}}, 4, 0}}) {
    check_fused(row.shapes, [&](const Tensors& x) {
      return conv2d(x[0], x[1], given(x, 2), row.stride, row.padding);
    });
  }
  // A cotangent that nobody wants is not computed.
  const Tensor image = random_normal({2, 3, 8, 8}, 1);
  const Tensor y = conv2d(image, Tensor(random_normal({4, 3, 4, 4}, 2), true), {}, 4);
  Array g = y.value();
  const Cotangents gs = y.node().vjp(y.node(), g);
  CHECK_FALSE(gs[0].has_value());
  CHECK(gs[1].has_value());
}

TEST_CASE("unfold and a linear layer are a convolution") {
  check_twins(
      {{2, 3, 7, 6}, {4, 3, 3, 2}, {4}},
      [](const Tensors& x) {
        return linear(unfold(x[0], {3, 2, 2, 2, 1, 1}), reshape(x[1], {4, 18}), x[2]);
      },
      [](const Tensors& x) {
        const Tensor y = composed::conv2d(x[0], x[1], x[2], 2, 1);
        return transpose(reshape(y, {2, 4, -1}));
      });
}

TEST_CASE("unfold lays out patches in raster order, each as (C, kh, kw)") {
  // x[c, y, x] = 100 c + 10 y + x; two rows of three patches.
  Array image = empty({1, 2, 4, 9});
  for (std::size_t c = 0; c < 2; ++c) {
    for (std::size_t y = 0; y < 4; ++y) {
      for (std::size_t x = 0; x < 9; ++x)
        image(0, c, y, x) = static_cast<real>(100 * c + 10 * y + x);
    }
  }
  check_elements(unfold(image, {2, 3, 2, 3}), {1, 6, 12}, [](const Index& at) {
    const std::size_t n = at[1];
    const std::size_t i = at[2];
    const std::size_t y = n / 3 * 2 + i / 3 % 2;
    const std::size_t x = n % 3 * 3 + i % 3;
    return static_cast<double>(100 * (i / 6) + 10 * y + x);
  });
  const Tensor padded = unfold(image, {2, 3, 4, 4, 1, 1});
  CHECK(to_string(padded.shape()) == "(1, 6, 12)");
  check_values(padded[0][0], {0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 100, 101});
}

TEST_CASE("windows, images and weights that do not fit are refused with their shapes") {
  CHECK_SAYS(unfold(zeros({3, 4, 4}), {2, 2}), "unfold: input (3, 4, 4) is not (B, C, H, W)");
  CHECK_SAYS(unfold(zeros({1, 1, 3, 9}), {5, 5}),
             "unfold: a window of 5 does not fit into the image's height of 3 with padding 0");
  CHECK_SAYS(unfold(zeros({1, 1, 4, 4}), {2, 2, 1, 0}),
             "unfold: window 2 and stride 0 along the width must be at least 1");
  CHECK_SAYS(conv2d(zeros({1, 3, 4, 4}), zeros({2, 3}), {}),
             "conv2d: weight (2, 3) is not (O, C, kh, kw)");
  CHECK_SAYS(conv2d(zeros({3, 4, 4}), zeros({2, 3, 2, 2}), {}),
             "conv2d: input (3, 4, 4) is not (B, C, H, W)");
  CHECK_SAYS(conv2d(zeros({1, 1, 4, 4}), zeros({2, 3, 2, 2}), {}),
             "conv2d: input (1, 1, 4, 4) has 1 channels but weight (2, 3, 2, 2) takes 3");
  CHECK_SAYS(conv2d(zeros({1, 3, 4, 4}), zeros({2, 3, 2, 2}), zeros({3})),
             "conv2d: bias (3,) but weight (2, 3, 2, 2) gives 2 channels");
  CHECK_SAYS(conv2d(zeros({1, 3, 4, 2}), zeros({2, 3, 2, 5}), {}, 1, 1),
             "conv2d: a window of 5 does not fit into the image's width of 2 with padding 1");
  constexpr auto minus_one = static_cast<std::size_t>(-1);
  for (const bool twins : {false, true}) {
    const Composed which(twins);
    CHECK_FAILS_WITH(conv2d(zeros({1, 1, 5, 5}), zeros({1, 1, 3, 3}), {}, 1, minus_one / 2),
                     "conv2d: a padding of 9223372036854775807 along the height is too large");
    CHECK_FAILS_WITH(conv2d(zeros({1, 1, 5, 5}), zeros({1, 1, 3, 3}), {}, 1, minus_one),
                     "conv2d: padding is -1, a negative number");
    CHECK_FAILS_WITH(conv2d(zeros({1, 1, 5, 5}), zeros({1, 1, 3, 3}), {}, minus_one),
                     "conv2d: stride is -1, a negative number");
    CHECK_FAILS_WITH(conv2d(zeros({1, 1, 5, 5}), zeros({1, 1, 3, 3}), {}, 0), "stride 0 along the");
  }
  CHECK_FAILS_WITH(unfold(zeros({1, 1, 5, 5}), {.height = minus_one, .width = 1}),
                   "unfold: window is -1, a negative number");
  CHECK_FAILS_WITH(composed::conv2d(zeros({1, 1, 5, 5}), zeros({1, 1, 3, 3}), {}, 0),
                   "a window of 3 with stride 0 has no place in (1, 1, 5, 5)");
  CHECK_FAILS_WITH(composed::conv2d(zeros({1, 1, 2, 5}), zeros({1, 1, 3, 3}), {}),
                   "a window of 3 with stride 1 has no place in (1, 1, 2, 5)");
  const Tensor image(zeros({1, 2, 4, 5}));
  CHECK_FAILS_WITH(avg_pool2d(zeros({2, 3, 4}), 2),
                   "avg_pool2d: input (2, 3, 4) is not (B, C, H, W)");
  CHECK_FAILS_WITH(max_pool2d(image, 5), "max_pool2d: a window of 5 does not fit into images");
  CHECK_FAILS_WITH(max_pool2d(image, 3, 1, 2),
                   "a padding of 2 is more than half of the window's 3");
  CHECK_FAILS_WITH(avg_pool2d(image, 0), "avg_pool2d: a window of side 0");
  CHECK_FAILS_WITH(avg_pool2d(image, 2, static_cast<std::size_t>(-2)),
                   "avg_pool2d: stride is -2, a negative number");
}
