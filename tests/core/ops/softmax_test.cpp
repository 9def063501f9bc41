// Softmax and the losses: readable twins, logits that are huge, missing or broken, PyTorch.

#include "tests/core/ops/ops_testing.hpp"

#include <optional>

using namespace vitruvian;

namespace {

Tensor row(const std::vector<double>& values) { return array({1, values.size()}, values); }

Indices labels(const Json& a) { return a["labels"].get<std::vector<std::ptrdiff_t>>(); }

Reduction reduction(const Json& a) {
  const std::string name = a["reduction"].get<std::string>();
  return name == "mean" ? Reduction::mean : name == "sum" ? Reduction::sum : Reduction::none;
}

const Golden golden_softmax({
    {"softmax", [](const Tensors& x, const Json& a) { return softmax(x[0], a["axis"]); }},
    {"log_softmax", [](const Tensors& x, const Json& a) { return log_softmax(x[0], a["axis"]); }},
    {"cross_entropy",
     [](const Tensors& x, const Json& a) {
       const double smoothing = a["label_smoothing"];
       if (a.contains("ignore_index")) {
         CrossEntropyOptions options{.ignore_index = a["ignore_index"].get<std::ptrdiff_t>(),
                                     .label_smoothing = smoothing,
                                     .reduction = reduction(a)};
         if (!a["weights"].is_null()) options.weights = golden::tensor(a["weights"]);
         return cross_entropy(x[0], labels(a), options);
       }
       if (!a.contains("targets")) return cross_entropy(x[0], labels(a), smoothing, reduction(a));
       return cross_entropy(x[0], golden::tensor(a["targets"]), smoothing, reduction(a));
     }},
    {"bce_with_logits",
     [](const Tensors& x, const Json& a) {
       return bce_with_logits(x[0], golden::tensor(a["targets"]), reduction(a));
     }},
    {"nll_loss",
     [](const Tensors& x, const Json& a) { return nll_loss(x[0], labels(a), reduction(a)); }},
    {"mse_loss",
     [](const Tensors& x, const Json& a) { return mse_loss(x[0], x[1], reduction(a)); }},
});

}  // namespace

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
                                 {{600, 65}, -1},  // more than one thread's share
                                 {{7, 100, 3}, -2}}) {
    const int axis = a;
    CAPTURE(axis);
    check_fused({shape}, [axis](const Tensors& x) { return softmax(x[0], axis); });
    check_fused({shape}, [axis](const Tensors& x) { return log_softmax(x[0], axis); });
  }
  for (const bool textbook : {false, true}) {
    const Composed which(textbook);
    CHECK(to_string(softmax(zeros({3, 0})).shape()) == "(3, 0)");
    CHECK(to_string(log_softmax(zeros({2, 0, 3}), 1).shape()) == "(2, 0, 3)");
  }
  CHECK_SAYS(softmax(zeros({2, 3}), 2), "softmax: axis 2 of an array with 2 axes");
  CHECK_SAYS(log_softmax(zeros({2, 3}), -3), "log_softmax: axis -3 of an array with 2 axes");
}

// The kernels' tests have softmax of such logits.
TEST_CASE("log_softmax of huge, missing and broken logits, and softmax's gradient there") {
  const double huge = 1e30F;
  const double half = -std::log(2.0);
  check_values(log_softmax(row({huge, huge, -huge})), {half, half, -2 * huge}, 1e-7);
  check_values(log_softmax(row({-inf, 2})), {-inf, 0});
  check_values(log_softmax(row({1, NaN, 2})), {NaN, NaN, NaN});
  // What is masked gets no gradient, and breaks nobody else's.
  check_values(gradient([](const Tensor& x) { return softmax(x); }, row({-inf, 2, 2}).value(),
                        row({5, 1, 3}).value()),
               {0, -0.5, 0.5}, 1e-6);
}

TEST_CASE("ties beyond 2^53 share the gradient: logsumexp, and log_softmax in both its forms") {
  const Tensor x = vector({1e30, 1e30, 0});
  check_values(slopes(logsumexp(x), {x})[0], {0.5, 0.5, 0});
  const Array g = array({3}, {1, 0, 0});
  for (const bool twins : {false, true}) {
    const Composed which(twins);
    const Tensor y = log_softmax(x);
    const double at_tie = static_cast<double>(y.value().data()[0]);
    CHECK(std::abs(at_tie + 0.6931471805599453) < 1e-6);
    CHECK(y.value().data()[0] == y.value().data()[1]);
    const Array dx = grad(y, {x}, g)[0];  // g - softmax(x) sum(g)
    for (const auto& [i, want] : {std::pair{0, 0.5}, std::pair{1, -0.5}, std::pair{2, 0.0}}) {
      CHECK(std::abs(static_cast<double>(dx.data()[i]) - want) < 1e-6);
    }
  }
}

TEST_CASE("losses") {
  for (const Reduction reduction : {Reduction::mean, Reduction::sum, Reduction::none}) {
    for (const Shape& shape :
         Shapes{{4, 3}, {1, 5}, {3, 1}, {1, 1}, {0, 3}, {65, 10}, {40, 1000}}) {
      std::vector<std::size_t> y(shape[0]);
      for (std::size_t b = 0; b < y.size(); ++b) y[b] = (7 * b + 1) % shape[1];
      const Array soft = softmax(random_normal(shape, 4)).value();
      for (const double e : {0.0, 0.1, 1.0}) {
        CAPTURE(e);
        check_fused({shape},
                    [&](const Tensors& x) { return cross_entropy(x[0], y, e, reduction); });
        check_fused({shape},
                    [&](const Tensors& x) { return cross_entropy(x[0], soft, e, reduction); });
      }
      check_fused({shape}, [&](const Tensors& x) { return nll_loss(x[0], y, reduction); });
      check_fused({shape, shape},
                  [&](const Tensors& x) { return mse_loss(x[0], x[1], reduction); });
    }
  }
}

TEST_CASE("losses of NaN, of infinities, and of no rows") {
  check_values(mse_loss(scalar(static_cast<real>(NaN)), scalar(0)), {NaN});
  check_values(cross_entropy(row({1, NaN}), {0}), {NaN});
  check_values(cross_entropy(row({-inf, 1}), {1}), {0});
  check_values(cross_entropy(row({-inf, 1}), {0}), {inf});
  check_values(
      bce_with_logits(vector({inf, -inf, inf, -inf}), array({4}, {0, 1, 1, 0}), Reduction::none),
      {inf, inf, 0, 0});
  // 0 log 0 is 0, and no class is no loss: in the readable form as well.
  for (const bool readable : {false, true}) {
    const std::optional<Composed> twins =
        readable ? std::optional<Composed>(std::in_place) : std::nullopt;
    check_values(cross_entropy(row({-inf, 3}), array({1, 2}, {0, 1})), {0});
    check_values(cross_entropy(zeros({2, 0}), zeros({2, 0})), {0});
  }
  const Tensor no_rows = zeros({0, 3});  // a mean is NaN, a sum 0
  const std::vector<std::size_t> none;
  check_values(cross_entropy(no_rows, none), {NaN});
  check_values(cross_entropy(no_rows, none, 0, Reduction::sum), {0});
  check_values(nll_loss(no_rows, none), {NaN});
  check_values(mse_loss(no_rows, no_rows), {NaN});
}

TEST_CASE("losses refuse labels and targets that do not fit") {
  const Tensor logits(zeros({2, 3}));
  CHECK_SAYS(cross_entropy(zeros({3}), {0}), "cross_entropy: logits (3,) is not (B, K)");
  CHECK_SAYS(cross_entropy(logits, {0}), "cross_entropy: logits (2, 3) needs 2 labels, not 1");
  CHECK_SAYS(cross_entropy(logits, {2, 3}), "cross_entropy: label 3 at index 1 is not in [0, 3)");
  CHECK_SAYS(cross_entropy(logits, {0, -1}), "cross_entropy: label -1 at index 1 is not in [0, 3)");
  CHECK_SAYS(cross_entropy(logits, {0, 3}, {.ignore_index = -1}),
             "cross_entropy: label 3 at index 1 is not in [0, 3)");
  CHECK_SAYS(cross_entropy(zeros({1, 3}), {2}, -1.0),
             "cross_entropy: label smoothing -1 is not in [0, 1]");
  CHECK_SAYS(cross_entropy(logits, zeros({3, 2})),
             "cross_entropy: targets (3, 2) but logits (2, 3)");
  CHECK_FAILS_WITH(cross_entropy(logits, {0, 1}, {.weights = zeros({2})}),
                   "cross_entropy: weights (2,) but logits (2, 3)");
  CHECK_SAYS(nll_loss(zeros({3}), {0}), "nll_loss: log_probabilities (3,) is not (B, K)");
  CHECK_SAYS(nll_loss(zeros({1, 3}), {7}), "nll_loss: label 7 at index 0 is not in [0, 3)");
  CHECK_SAYS(nll_loss(logits, {-2, 0}), "nll_loss: label -2 at index 0 is not in [0, 3)");
  CHECK(composed::cross_entropy(logits, {1, 2}).item() ==
        composed::nll_loss(composed::log_softmax(logits), Indices{1, 2}).item());
  CHECK_FAILS_WITH(composed::cross_entropy(logits, {3, 0}), "index 3 on axis 1 of (2, 3)");
  CHECK_FAILS_WITH(composed::cross_entropy(logits, Indices{1}), "gather: indices (1, 1)");
  CHECK_SAYS(mse_loss(zeros({2}), zeros({2, 1})), "mse_loss: shapes (2,) and (2, 1) differ");
  CHECK_FAILS_WITH(bce_with_logits(zeros({2, 3, 4}), zeros({2, 3})),
                   "bce_with_logits: targets (2, 3) but logits (2, 3, 4)");
}
