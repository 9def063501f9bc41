// Layer norm and batch norm: readable twins, closed forms, PyTorch.

#include "tests/core/ops/ops_testing.hpp"

using namespace vitruvian;

namespace {

const Golden golden_norm({
    {"layer_norm",
     [](const Tensors& x, const Json& a) {
       return layer_norm(x[0], lengths(a["normalized_shape"]), given(x, 1), given(x, 2), a["eps"]);
     }},
    {"batch_norm",
     [](const Tensors& x, const Json& a) { return batch_norm(x[0], x[1], x[2], a["eps"]); }},
});

}  // namespace

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
                                    {{600, 65}, {65}},  // more than one thread's share
                                    {{1, 2}, {2}}}) {
    const Shape n = over;
    CAPTURE(to_string(n));
    // Of two elements the normalised ones are 1 and -1 but for eps: with a small one the gradient
    // is what is left of numbers that cancel.
    const double eps = n == Shape{2} ? 0.1 : 1e-5;
    const auto norm = [&](const Tensor& x, const Tensor& weight, const Tensor& bias) {
      return layer_norm(x, n, weight, bias, eps);
    };
    check_fused({shape, n, n}, [&](const Tensors& x) { return norm(x[0], x[1], x[2]); });
    check_fused({shape}, [&](const Tensors& x) { return norm(x[0], {}, {}); });
    check_fused({shape, n}, [&](const Tensors& x) { return norm(x[0], x[1], {}); });
    check_fused({shape, n}, [&](const Tensors& x) { return norm(x[0], {}, x[1]); });
  }
}

TEST_CASE("batch_norm") {
  for (const Shape& shape :
       Shapes{{4, 3}, {5, 1}, {3, 2, 4}, {2, 3, 4, 5}, {2, 3, 1, 2, 2}, {1, 3, 4}, {65, 7}}) {
    const Shape C{shape[1]};
    const auto norm = [](const Tensor& x, const Tensor& weight, const Tensor& bias) {
      return batch_norm(x, weight, bias, 1e-5);
    };
    check_fused({shape, C, C}, [&](const Tensors& x) { return norm(x[0], x[1], x[2]); });
    check_fused({shape}, [&](const Tensors& x) { return norm(x[0], {}, {}); });
    check_fused({shape, C}, [&](const Tensors& x) { return norm(x[0], {}, x[1]); });
  }
  CHECK(to_string(batch_norm(zeros({0, 3}), {}, {}, 1e-5).shape()) == "(0, 3)");
}

TEST_CASE("batch norm's dw where the mean is far from 0, and rounded") {
  // dw = sum g (x - mean) / sigma, in doubles
  const double far = 1e6 + 0.5;  // exact in float
  const std::vector<double> steps{0, 1, 2.5, 3, 7, 11, 0.5};
  const std::vector<double> g{1, 2, -1, 3, 0.5, -2, 4};
  const double n = 7;
  std::vector<double> x;
  double mean = 0, variance = 0, dw = 0;
  for (const double s : steps) x.push_back(far + s), mean += s / n;
  for (const double s : steps) variance += (s - mean) * (s - mean) / n;
  for (std::size_t i = 0; i < 7; ++i) dw += g[i] * (steps[i] - mean) / std::sqrt(variance);
  const Tensor w(full({1}, 1), true);
  const Tensor y = batch_norm(Tensor(array({7, 1}, x)), w, {}, 0);
  CHECK(static_cast<double>(grad(y, {w}, array({7, 1}, g))[0](0)) ==
        doctest::Approx(dw).epsilon(in_double ? 1e-12 : 1e-6));
}

TEST_CASE("layer norm sees a spread of 1 around a mean of 1e6") {
  // 1e6 + (0, 1, 2, 3) is exact in float; (x - mean) / sigma = (-1.5, -.5, .5, 1.5) / sqrt(1.25)
  const auto f = [](const Tensor& x) { return layer_norm(x, {4}, {}, {}, 0); };
  const Tensor far = vector({1e6, 1e6 + 1, 1e6 + 2, 1e6 + 3});
  const double sigma = std::sqrt(1.25);
  check_values(f(far), {-1.5 / sigma, -.5 / sigma, .5 / sigma, 1.5 / sigma},
               in_double ? 1e-15 : 2e-7);
  const Array g = array({4}, {1, 2, -1, 3});
  CHECK(distance(gradient(f, vector({0, 1, 2, 3}).value(), g), gradient(f, far.value(), g)) <=
        (in_double ? 1e-14 : 1e-6));
  check_values(layer_norm(vector({1, NaN, 2}), {3}, {}, {}, 1e-5), {NaN, NaN, NaN});
}

TEST_CASE("golden values of layer norm") {
  // (i - 1.5) / sqrt(1.25 + eps); and where the spread is near sqrt(eps), eps decides.
  struct Row {
    double eps, third, fourth, fourth_of_small;
  };
  for (const Row& row : {Row{1e-12, .4472135954997790, 1.3416407864993372, 1.34164},
                         {1e-6, .447213416614627, 1.341640249843881, 1.00000},
                         {1e-5, .447211806656309, 1.341635419968927, .44721}}) {
    check_values(layer_norm(vector({1, 2, 3, 4}), {4}, {}, {}, row.eps),
                 {-row.fourth, -row.third, row.third, row.fourth}, in_double ? 1e-14 : 2e-7);
    const Tensor small = layer_norm(vector({0, .001, .002, .003}), {4}, {}, {}, row.eps);
    CHECK(std::abs(number(small[3]) - row.fourth_of_small) <= 5e-6);
  }
}

TEST_CASE("norms refuse what they cannot normalize") {
  CHECK_SAYS(layer_norm(zeros({}), {}, {}, {}, 0),
             "layer_norm: the normalized shape needs at least one axis");
  CHECK_SAYS(layer_norm(zeros({2, 7}), {5}, {}, {}, 0),
             "layer_norm: input (2, 7) does not end in the normalized shape (5,)");
  CHECK_SAYS(layer_norm(zeros({5}), {2, 5}, {}, {}, 0),
             "layer_norm: input (5,) does not end in the normalized shape (2, 5)");
  CHECK_SAYS(layer_norm(zeros({2, 5}), {5}, zeros({4}), {}, 0),
             "layer_norm: weight (4,) but the normalized shape is (5,)");
  CHECK_SAYS(layer_norm(zeros({2, 5}), {5}, {}, zeros({1, 5}), 0),
             "layer_norm: bias (1, 5) but the normalized shape is (5,)");
  CHECK_SAYS(batch_norm(zeros({2, 3}), {}, {}, -1), "batch_norm: eps is -1: expected at least 0");
  CHECK_SAYS(batch_norm(zeros({5}), {}, {}, 0), "batch_norm: input (5,) is not (B, C, ...)");
  CHECK_SAYS(batch_norm(zeros({2, 3}), zeros({2}), {}, 0),
             "batch_norm: weight (2,) but input (2, 3) has 3 channels");
  CHECK_SAYS(batch_norm(zeros({2, 3}), {}, zeros({2}), 0),
             "batch_norm: bias (2,) but input (2, 3) has 3 channels");
}
