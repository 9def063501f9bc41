// The fused ops where luck would not do: extreme values, golden numbers, properties.

#include "tests/core/twins.hpp"
#include "vitruvian/core/composed.hpp"
#include "vitruvian/core/parallel.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

using namespace vitruvian;

namespace {

using Labels = std::vector<std::size_t>;

constexpr bool is_double = sizeof(real) == 8;
constexpr real inf = std::numeric_limits<real>::infinity();
constexpr real NaN = std::numeric_limits<real>::quiet_NaN();

Array row(std::initializer_list<real> values) {
  Array a = empty({1, values.size()});
  std::copy(values.begin(), values.end(), a.data());
  return a;
}

Array gradient(const std::function<Tensor(const Tensor&)>& f, const Array& x, const Array& g) {
  const Tensor leaf(x, true);
  return grad(f(leaf), {leaf}, g)[0];
}

Tensor ones(const Shape& shape) { return full(shape, 1); }

}  // namespace

TEST_CASE("softmax of huge, missing and broken logits") {
  const real huge{1e30F};
  CHECK(distance(softmax(row({huge, 0, -huge})).value(), row({1, 0, 0})) == 0);
  CHECK(distance(softmax(row({huge, huge})).value(), row({0.5, 0.5})) == 0);
  CHECK(distance(log_softmax(row({huge, huge, -huge})).value(),
                 row({-std::log(real{2}), -std::log(real{2}), -2 * huge})) <= 1e-7);
  CHECK(distance(softmax(row({-inf, 2, -inf, 2})).value(), row({0, 0.5, 0, 0.5})) == 0);
  CHECK(distance(log_softmax(row({-inf, 2})).value(), row({-inf, 0})) == 0);
  CHECK(distance(softmax(row({-inf, -inf})).value(), row({NaN, NaN})) == 0);
  CHECK(distance(softmax(row({1, NaN, 2})).value(), row({NaN, NaN, NaN})) == 0);
  CHECK(distance(log_softmax(row({1, NaN, 2})).value(), row({NaN, NaN, NaN})) == 0);
  CHECK(distance(softmax(row({1, inf})).value(), row({NaN, NaN})) == 0);
  // What is masked gets no gradient, and breaks nobody else's.
  const Array g =
      gradient([](const Tensor& x) { return softmax(x); }, row({-inf, 2, 2}), row({5, 1, 3}));
  CHECK(distance(g, row({0, -0.5, 0.5})) <= 1e-6);
}

TEST_CASE("softmax of no elements, and its rows sum to one") {
  CHECK(to_string(softmax(zeros({3, 0})).shape()) == "(3, 0)");
  CHECK(to_string(log_softmax(zeros({2, 0, 3}), 1).shape()) == "(2, 0, 3)");
  const Array y = softmax(random_normal({40, 33}, 1)).value();
  for (std::size_t r = 0; r < 40; ++r) {
    double sum = 0;
    for (std::size_t i = 0; i < 33; ++i) sum += static_cast<double>(y(r, i));
    CHECK(std::abs(sum - 1) <= (is_double ? 1e-15 : 1e-6));
  }
}

TEST_CASE("layer norm of a constant row is exactly the bias") {
  for (const double c : {0.0, 0.1, -3.7, 1e6, 1e-20}) {
    for (const std::size_t n : {1, 2, 3, 7, 16, 65, 192}) {
      const Array b = random_normal({n}, 2);
      const Array y =
          layer_norm(full({2, n}, static_cast<real>(c)), {n}, random_normal({n}, 3), b, 1e-6)
              .value();
      CAPTURE(c);
      CAPTURE(n);
      for (std::size_t i = 0; i < 2 * n; ++i) CHECK(y.data()[i] == b.data()[i % n]);
    }
  }
}

TEST_CASE("layer norm sees a spread of 1 around a mean of 1e6") {
  // 1e6 + (0, 1, 2, 3) is exact in float; (x - mean) / sigma = (-1.5, -.5, .5, 1.5) / sqrt(1.25)
  const Array y = layer_norm(row({1e6, 1e6 + 1, 1e6 + 2, 1e6 + 3}), {4}, {}, {}, 0).value();
  const double sigma = std::sqrt(1.25);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(std::abs(static_cast<double>(y.data()[i]) - (static_cast<double>(i) - 1.5) / sigma) <=
          (is_double ? 1e-15 : 2e-7));
  }
  const auto f = [](const Tensor& x) { return layer_norm(x, {4}, {}, {}, 0); };
  const Array g = row({1, 2, -1, 3});
  const Array near = gradient(f, row({0, 1, 2, 3}), g);
  const Array far = gradient(f, row({1e6, 1e6 + 1, 1e6 + 2, 1e6 + 3}), g);
  CHECK(distance(near, far) <= (is_double ? 1e-14 : 1e-6));
}

TEST_CASE("golden values of layer norm") {
  const auto normed = [](const Tensor& x, double eps, std::size_t i) {
    return static_cast<double>(layer_norm(x, {4}, {}, {}, eps).value()(0, i));
  };
  // (i - 1.5) / sqrt(1.25 + eps)
  const Tensor x = row({1, 2, 3, 4});
  const double tolerance = is_double ? 1e-14 : 2e-7;
  CHECK(std::abs(normed(x, 1e-12, 3) - 1.3416407864993372) <= tolerance);
  CHECK(std::abs(normed(x, 1e-12, 2) - .4472135954997790) <= tolerance);
  CHECK(std::abs(normed(x, 1e-6, 3) - 1.341640249843881) <= tolerance);
  CHECK(std::abs(normed(x, 1e-6, 2) - .447213416614627) <= tolerance);
  CHECK(std::abs(normed(x, 1e-5, 3) - 1.341635419968927) <= tolerance);
  CHECK(std::abs(normed(x, 1e-5, 2) - .447211806656309) <= tolerance);
  CHECK(std::abs(normed(x, 1e-5, 0) - -1.341635419968927) <= tolerance);
  // Where the spread is near sqrt(eps), eps decides.
  const Tensor small = row({0, real(.001), real(.002), real(.003)});
  CHECK(std::abs(normed(small, 1e-12, 3) - 1.34164) <= 5e-6);
  CHECK(std::abs(normed(small, 1e-6, 3) - 1.00000) <= 5e-6);
  CHECK(std::abs(normed(small, 1e-5, 3) - .44721) <= 5e-6);
}

TEST_CASE("golden values of gelu and its derivative") {
  const double tolerance = is_double ? 2e-14 : 2e-7;
  const auto y = [](real x) { return static_cast<double>(gelu(scalar(x)).item()); };
  const auto d = [](real x) {
    return static_cast<double>(
        *gradient([](const Tensor& t) { return gelu(t); }, scalar(x), scalar(1)).data());
  };
  const auto approximate = [](real x) { return static_cast<double>(gelu_tanh(scalar(x)).item()); };
  CHECK(std::abs(y(-3) - -.00404969409489) <= tolerance);
  CHECK(std::abs(y(-1) - -.158655253931457) <= tolerance);
  CHECK(std::abs(y(-.5) - -.154268769362993) <= tolerance);
  CHECK(std::abs(y(.5) - .345731230637007) <= tolerance);
  CHECK(std::abs(y(1) - .841344746068543) <= tolerance);
  CHECK(std::abs(y(3) - 2.99595030590511) <= tolerance);
  CHECK(d(0) == .5);
  CHECK(std::abs(d(1) - 1.08331547058769) <= tolerance);
  CHECK(std::abs(d(-1) - -.0833154705876864) <= tolerance);
  CHECK(std::abs(d(.5) - .867495124656163) <= tolerance);
  CHECK(std::abs(y(real(-.751792)) - -.16997120748) <= std::max(tolerance, 1e-11));
  CHECK(std::abs(approximate(1) - .841191990608277) <= tolerance);
  CHECK(std::abs(approximate(3) - 2.99636260791823) <= tolerance);
  double most = 0;
  for (int i = -6000; i <= 6000; ++i) {
    most = std::max(most, std::abs(y(real(i) / 1000) - approximate(real(i) / 1000)));
  }
  CHECK(std::abs(most - 4.7324e-4) <= (is_double ? 1e-8 : 1e-6));
}

TEST_CASE("NaN and infinities go through") {
  CHECK(std::isnan(gelu(scalar(NaN)).item()));
  CHECK(std::isnan(gelu(scalar(-inf)).item()));  // -inf * 0, as PyTorch
  CHECK(gelu(scalar(inf)).item() == inf);
  CHECK(std::isnan(gelu_tanh(scalar(NaN)).item()));
  CHECK(std::isnan(dropout(scalar(NaN), 0.0, Rng(1)).item()));
  CHECK(distance(layer_norm(row({1, NaN, 2}), {3}, {}, {}, 1e-5).value(), row({NaN, NaN, NaN})) ==
        0);
  CHECK(std::isnan(linear(row({1, NaN}), ones({1, 2})).value()(0, 0)));
  CHECK(std::isnan(mse_loss(scalar(NaN), scalar(0)).item()));
  CHECK(std::isnan(cross_entropy(row({1, NaN}), Labels{0}).item()));
  const Tensor q = row({1, NaN});
  CHECK(std::isnan(attention(q, row({1, 1}), row({1, 1})).value()(0, 0)));
  CHECK(cross_entropy(row({-inf, 1}), Labels{1}).item() == 0);
  CHECK(cross_entropy(row({-inf, 1}), Labels{0}).item() == inf);
  // A query that may look at nothing is NaN; its neighbours are not.
  const Array mask = array({2, 2}, {0, 0, 1, 0});
  const Array y =
      attention(random_normal({2, 3}, 1), random_normal({2, 3}, 2), ones({2, 3}), {.mask = mask})
          .value();
  CHECK(std::isnan(y(0, 0)));
  CHECK(y(1, 0) == 1);
}

TEST_CASE("means over no rows are NaN, sums are 0") {
  const Tensor no_rows = zeros({0, 3});
  CHECK(std::isnan(cross_entropy(no_rows, Labels{}).item()));
  CHECK(cross_entropy(no_rows, Labels{}, 0, Reduction::sum).item() == 0);
  CHECK(std::isnan(nll_loss(no_rows, {}).item()));
  CHECK(std::isnan(mse_loss(no_rows, no_rows).item()));
  CHECK(to_string(batch_norm(zeros({0, 3}), {}, {}, 1e-5).shape()) == "(0, 3)");
  // Queries without any key get nothing.
  const Tensor nothing = attention(ones({2, 3}), zeros({0, 3}), zeros({0, 4}));
  CHECK(distance(nothing.value(), zeros({2, 4})) == 0);
  CHECK(to_string(self_attention(zeros({2, 0, 12}), 2).shape()) == "(2, 0, 4)");
}

TEST_CASE("dropout with probability 0 is the identity and with 1 gives zeros") {
  const Array x = random_normal({5, 7}, 1);
  CHECK(distance(dropout(x, 0, Rng(1)).value(), x) == 0);
  CHECK(distance(dropout(x, 1, Rng(1)).value(), zeros({5, 7})) == 0);
  const auto all = [](const Tensor& t) { return dropout(t, 1, Rng(1)); };
  CHECK(distance(gradient(all, x, x), zeros({5, 7})) == 0);
  const Rng rng(1);
  const Tensor q(random_normal({3, 4}, 2), true);
  const Tensor o = attention(q, q, q, {.dropout = 1, .rng = &rng});
  CHECK(distance(o.value(), zeros({3, 4})) == 0);
  CHECK(distance(grad(o, {q}, o.value())[0], zeros({3, 4})) == 0);
}

TEST_CASE("dropout keeps the mean") {
  const std::size_t n = 200'000;
  const Array y = dropout(ones({n}), 0.3, Rng(9)).value();
  double sum = 0;
  for (const real v : y) sum += static_cast<double>(v);
  CHECK(std::abs(sum / static_cast<double>(n) - 1) <= 4 * std::sqrt(0.3 / 0.7 / 200'000));
}

TEST_CASE("softmax does not see a constant that is added to every key") {
  const Tensor q = random_normal({2, 3, 5, 4}, 1);
  const Tensor k = random_normal({2, 3, 6, 4}, 2);
  const Tensor v = random_normal({2, 3, 6, 4}, 3);
  const Tensor b(random_normal({4}, 4), true);
  const Tensor y = attention(q, k + b, v);
  CHECK(distance(y.value(), attention(q, k, v).value()) <= (is_double ? 1e-14 : 5e-6));
  CHECK(largest(grad(y, {b}, random_normal(y.shape(), 5))[0]) <= (is_double ? 1e-14 : 2e-5));
}

TEST_CASE("a bias that is the same for every key changes nothing and has no gradient") {
  const Tensor q = random_normal({2, 3, 5, 4}, 1);
  const Tensor v = random_normal({2, 3, 5, 4}, 3);
  for (const Shape& shape : {Shape{}, {3, 1, 1}, {2, 1, 5, 1}}) {
    const Tensor bias(random_normal(shape, 4), true);
    const Tensor y = attention(q, q, v, {.bias = bias});
    CHECK(distance(y.value(), attention(q, q, v).value()) <= (is_double ? 1e-14 : 5e-6));
    CHECK(largest(grad(y, {bias}, random_normal(y.shape(), 5))[0]) <= (is_double ? 1e-14 : 2e-5));
  }
}

TEST_CASE("attention over equal keys is the mean of the values") {
  const Array y =
      attention(random_normal({3, 2}, 1), zeros({4, 2}), array({4, 1}, {1, 2, 3, 6})).value();
  CHECK(distance(y, full({3, 1}, 3)) <= 1e-6);
}

TEST_CASE("composed attention hands out what inspection needs") {
  const Rng rng(4);
  const composed::Attention a =
      composed::self_attention(random_normal({2, 5, 12}, 1), 2, {.dropout = 0.5, .rng = &rng});
  CHECK(to_string(a.scores.shape()) == "(2, 2, 5, 5)");
  CHECK(to_string(a.probs.shape()) == "(2, 2, 5, 5)");
  CHECK(to_string(a.output.shape()) == "(2, 5, 4)");
  CHECK(distance(sum(a.probs, {-1}).value(), full({2, 2, 5}, 1)) <= 1e-6);  // before dropout
}

TEST_CASE("the number of threads does not change a bit") {
  const Rng rng(6);
  const std::vector<Array> values{random_normal({70, 3, 12, 12}, 1), random_normal({96, 27}, 2),
                                  random_normal({96}, 3), random_normal({16, 32, 2, 2}, 4)};
  // Every fused op once, at sizes that are cut into several pieces.
  const auto run = [&] {
    std::vector<Tensor> xs;
    for (const Array& value : values) xs.emplace_back(value, true);
    Tensor z = linear(unfold(xs[0], {3, 3, 3, 3}), xs[1], xs[2]);  // (70, 16, 96)
    z = layer_norm(dropout(z, 0.1, rng), {96}, xs[2], {}, 1e-6);
    z = z + gelu(z);
    z = self_attention(z, 4, {.dropout = 0.1, .rng = &rng});     // (70, 16, 32)
    z = conv2d(reshape(gelu(z), {70, 32, 4, 4}), xs[3], {}, 1);  // (70, 16, 3, 3)
    z = batch_norm(softmax(gelu_tanh(z), 1), {}, {}, 1e-3);
    const Tensor loss = cross_entropy(reshape(z, {70, 144}), Labels(70, 5), 0.1);
    std::vector<Array> results = grad(loss, xs);
    results.push_back(loss.value());
    return results;
  };
  const std::size_t before = threads();
  set_threads(1);
  const std::vector<Array> expected = run();
  for (const std::size_t n : {2, 3, 4, 8}) {
    set_threads(n);
    const std::vector<Array> results = run();
    for (std::size_t i = 0; i < results.size(); ++i) {
      CAPTURE(n);
      CAPTURE(i);
      CHECK(std::equal(results[i].begin(), results[i].end(), expected[i].begin()));
    }
  }
  set_threads(before);
}

TEST_CASE("a cotangent that nobody wants is not computed") {
  const Tensor image = random_normal({2, 3, 8, 8}, 1);
  const Tensor weight(random_normal({4, 3, 4, 4}, 2), true);
  const Tensor y = conv2d(image, weight, {}, 4);
  Array g = y.value();
  const Cotangents gs = y.node().vjp(y.node(), g);
  CHECK_FALSE(gs[0].has_value());
  CHECK(gs[1].has_value());
}

TEST_CASE("linear_gelu without a tape has the same values") {
  const Tensor x(random_normal({5, 7}, 1));
  const Tensor w(random_normal({6, 7}, 2), true);
  const Tensor b(random_normal({6}, 3));
  const Array recorded = linear_gelu(x, w, b).value();
  const NoGrad no_grad;
  CHECK(distance(linear_gelu(x, w, b).value(), recorded) <= (is_double ? 1e-15 : 1e-6));
}
