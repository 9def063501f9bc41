// Each fused op against its readable twin; attention in fused_attention_test.cpp, hard cases in
// fused_cases_test.cpp, errors in fused_errors_test.cpp.

#include "tests/core/twins.hpp"
#include "vitruvian/core/composed.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <utility>

using namespace vitruvian;

namespace {

using Shapes = std::vector<Shape>;
using Inputs = std::vector<Tensor>;

// Which words of the generator keep their element: the definition, written out a second time.
Array dropout_mask(const Shape& shape, double p, const Rng& rng) {
  Array mask = empty(shape);
  const std::array key{static_cast<std::uint32_t>(rng.key()),
                       static_cast<std::uint32_t>(rng.key() >> 32U)};
  const std::size_t axes = shape.size();  // the last two are a matrix
  const std::size_t n = (axes > 0 ? shape[axes - 1] : 1) * (axes > 1 ? shape[axes - 2] : 1);
  for (std::size_t i = 0; i < mask.size(); ++i) {
    const auto place = static_cast<std::uint32_t>(i % n);
    const auto matrix = static_cast<std::uint32_t>(i / n);
    const std::uint32_t word = philox({place / 4, 0, matrix, 0}, key)[place % 4];
    mask.data()[i] = static_cast<double>(word) >= p * 0x1p32 ? 1 : 0;
  }
  return mask;
}

}  // namespace

TEST_CASE("linear and linear_gelu") {
  const auto f = [](const Inputs& x) { return linear(x[0], x[1], given(x, 2)); };
  const auto twin = [](const Inputs& x) { return composed::linear(x[0], x[1], given(x, 2)); };
  for (const Shapes& shapes :
       {Shapes{{2, 3}, {4, 3}, {4}}, Shapes{{2, 3}, {4, 3}}, Shapes{{7}, {3, 7}, {3}},
        Shapes{{1}, {1, 1}, {1}}, Shapes{{2, 5, 4}, {3, 4}, {3}}, Shapes{{2, 1, 3, 4}, {6, 4}, {6}},
        Shapes{{0, 3}, {4, 3}, {4}}, Shapes{{3, 0}, {4, 0}, {4}}, Shapes{{3, 4}, {0, 4}, {0}},
        Shapes{{130, 65}, {33, 65}, {33}}, Shapes{{600, 17}, {100, 17}, {100}}}) {
    check_twins(shapes, f, twin);
    check_twins(
        shapes, [](const Inputs& x) { return linear_gelu(x[0], x[1], given(x, 2)); },
        [](const Inputs& x) { return composed::linear_gelu(x[0], x[1], given(x, 2)); });
  }
}

TEST_CASE("softmax and log_softmax") {
  for (const auto& [shape, a] : {std::pair{Shape{3, 4}, -1},
                                 {{3, 4}, 0},
                                 {{5}, 0},
                                 {{}, -1},
                                 {{2, 3, 4}, 1},
                                 {{2, 3, 4}, 0},
                                 {{2, 3, 4, 5}, 2},
                                 {{4, 1}, 1},
                                 {{1, 4}, 0},
                                 {{0, 3}, 1},
                                 {{3, 0, 2}, 0},
                                 {{50, 65}, -1},
                                 {{7, 100, 3}, -2}}) {
    const int axis = a;
    CAPTURE(axis);
    check_twins(
        Shapes{shape}, [axis](const Inputs& x) { return softmax(x[0], axis); },
        [axis](const Inputs& x) { return composed::softmax(x[0], axis); });
    check_twins(
        Shapes{shape}, [axis](const Inputs& x) { return log_softmax(x[0], axis); },
        [axis](const Inputs& x) { return composed::log_softmax(x[0], axis); });
  }
}

TEST_CASE("layer_norm") {
  for (const auto& [shape, over] : {std::pair{Shape{2, 5}, Shape{5}},
                                    {{6}, {6}},
                                    {{2, 3, 5}, {3, 5}},
                                    {{2, 3, 5}, {5}},
                                    {{2, 3, 4}, {2, 3, 4}},
                                    {{2, 2, 3, 2}, {2}},
                                    {{0, 5}, {5}},
                                    {{3, 65}, {65}},
                                    {{300, 33}, {33}},
                                    {{1, 2}, {2}}}) {
    const Shape n = over;
    CAPTURE(to_string(n));
    // Of two elements the normalised ones are 1 and -1 but for eps: with a small one the gradient
    // is what is left of numbers that cancel.
    const double eps = n == Shape{2} ? 0.1 : 1e-5;
    check_twins(
        Shapes{shape, n, n}, [=](const Inputs& x) { return layer_norm(x[0], n, x[1], x[2], eps); },
        [=](const Inputs& x) { return composed::layer_norm(x[0], n, x[1], x[2], eps); });
    check_twins(
        Shapes{shape}, [=](const Inputs& x) { return layer_norm(x[0], n, {}, {}, eps); },
        [=](const Inputs& x) { return composed::layer_norm(x[0], n, {}, {}, eps); });
    check_twins(
        Shapes{shape, n}, [=](const Inputs& x) { return layer_norm(x[0], n, x[1], {}, eps); },
        [=](const Inputs& x) { return composed::layer_norm(x[0], n, x[1], {}, eps); });
    check_twins(
        Shapes{shape, n}, [=](const Inputs& x) { return layer_norm(x[0], n, {}, x[1], eps); },
        [=](const Inputs& x) { return composed::layer_norm(x[0], n, {}, x[1], eps); });
  }
}

TEST_CASE("batch_norm") {
  const double eps = 1e-5;
  for (const Shape& shape :
       {Shape{4, 3}, {5, 1}, {3, 2, 4}, {2, 3, 4, 5}, {2, 3, 1, 2, 2}, {1, 3, 4}, {65, 7}}) {
    const Shape C{shape[1]};
    check_twins(
        Shapes{shape, C, C}, [=](const Inputs& x) { return batch_norm(x[0], x[1], x[2], eps); },
        [=](const Inputs& x) { return composed::batch_norm(x[0], x[1], x[2], eps); });
    check_twins(
        Shapes{shape}, [=](const Inputs& x) { return batch_norm(x[0], {}, {}, eps); },
        [=](const Inputs& x) { return composed::batch_norm(x[0], {}, {}, eps); });
    check_twins(
        Shapes{shape, C}, [=](const Inputs& x) { return batch_norm(x[0], {}, x[1], eps); },
        [=](const Inputs& x) { return composed::batch_norm(x[0], {}, x[1], eps); });
  }
}

TEST_CASE("gelu and gelu_tanh") {
  for (const Shape& shape :
       {Shape{}, {1}, {7}, {3, 4}, {2, 0}, {2, 3, 4}, {5, 2, 1, 3}, {100, 33}}) {
    check_twins(
        Shapes{shape}, [](const Inputs& x) { return gelu(x[0]); },
        [](const Inputs& x) { return composed::gelu(x[0]); });
    check_twins(
        Shapes{shape}, [](const Inputs& x) { return gelu_tanh(x[0]); },
        [](const Inputs& x) { return composed::gelu_tanh(x[0]); });
  }
}

TEST_CASE("dropout multiplies by the mask of its key") {
  const Rng rng = Rng(5).fork("dropout");
  for (const double p : {0.0, 0.1, 0.5, 0.999}) {
    for (const Shape& shape : {Shape{}, {1}, {4, 3}, {2, 3, 4}, {0, 3}, {33, 35}, {70, 1000}}) {
      const Array mask = dropout_mask(shape, p, rng);
      check_twins(
          Shapes{shape}, [&](const Inputs& x) { return dropout(x[0], p, rng); },
          [&](const Inputs& x) { return x[0] * Tensor(mask) / real(1 - p); });
    }
  }
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
    check_twins(
        row.shapes,
        [&](const Inputs& x) { return conv2d(x[0], x[1], given(x, 2), row.stride, row.padding); },
        [&](const Inputs& x) {
          return composed::conv2d(x[0], x[1], given(x, 2), row.stride, row.padding);
        });
  }
}

TEST_CASE("unfold and a linear layer are a convolution") {
  check_twins(
      Shapes{{2, 3, 7, 6}, {4, 3, 3, 2}, {4}},
      [](const Inputs& x) {
        const Tensor patches = unfold(x[0], {3, 2, 2, 2, 1, 1});
        return linear(patches, reshape(x[1], {4, 18}), x[2]);
      },
      [](const Inputs& x) {
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
  const Array patches = unfold(image, {2, 3, 2, 3}).value();
  CHECK(to_string(patches.shape()) == "(1, 6, 12)");
  for (std::size_t n = 0; n < 6; ++n) {
    for (std::size_t i = 0; i < 12; ++i) {
      const std::size_t y = n / 3 * 2 + i / 3 % 2;
      const std::size_t x = n % 3 * 3 + i % 3;
      CHECK(patches(0, n, i) == static_cast<real>(100 * (i / 6) + 10 * y + x));
    }
  }
  const Array padded = unfold(image, {2, 3, 4, 4, 1, 1}).value();
  CHECK(to_string(padded.shape()) == "(1, 6, 12)");
  const std::vector<double> first{0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 100, 101};
  for (std::size_t i = 0; i < first.size(); ++i) CHECK(padded(0, 0, i) == first[i]);
}

TEST_CASE("losses") {
  for (const Reduction reduction : {Reduction::mean, Reduction::sum, Reduction::none}) {
    for (const Shape& shape : {Shape{4, 3}, {1, 5}, {3, 1}, {1, 1}, {0, 3}, {65, 10}, {9, 1000}}) {
      std::vector<std::size_t> labels(shape[0]);
      for (std::size_t b = 0; b < labels.size(); ++b) labels[b] = (7 * b + 1) % shape[1];
      const Array targets = softmax(random_normal(shape, 4)).value();
      for (const double e : {0.0, 0.1, 1.0}) {
        CAPTURE(e);
        check_twins(
            Shapes{shape},
            [&](const Inputs& x) { return cross_entropy(x[0], labels, e, reduction); },
            [&](const Inputs& x) { return composed::cross_entropy(x[0], labels, e, reduction); });
        check_twins(
            Shapes{shape},
            [&](const Inputs& x) { return cross_entropy(x[0], targets, e, reduction); },
            [&](const Inputs& x) { return composed::cross_entropy(x[0], targets, e, reduction); });
      }
      check_twins(
          Shapes{shape}, [&](const Inputs& x) { return nll_loss(x[0], labels, reduction); },
          [&](const Inputs& x) { return composed::nll_loss(x[0], labels, reduction); });
      check_twins(
          Shapes{shape, shape}, [&](const Inputs& x) { return mse_loss(x[0], x[1], reduction); },
          [&](const Inputs& x) { return composed::mse_loss(x[0], x[1], reduction); });
    }
  }
}
