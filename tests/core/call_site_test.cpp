// Ops as a user calls them: arrays of any value category, labels in braces, absent tensors, and
// what an error says. xtensor's functions of the same names are all in sight here.

#include "tests/expect.hpp"
#include "tests/reference.hpp"
#include "vitruvian/core/error.hpp"
#include "vitruvian/core/gradcheck.hpp"
#include "vitruvian/core/ops.hpp"

#if __has_include(<xtensor/core/xmath.hpp>)
#include <xtensor/core/xmath.hpp>
#else
#include <xtensor/xmath.hpp>
#endif

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using namespace vitruvian;

namespace {

// Calls f with x as every kind of expression, and holds each result against f(Tensor(x)).
template <class F>
void of_every_kind(const Array& x, const F& f) {
  const Tensor constant(x);
  const Array want = f(constant).value();
  const std::vector<double> values(want.data(), want.data() + want.size());
  Array left = x;
  Array moved = x;
  static_assert(std::is_same_v<decltype(f(left)), Tensor>);
  static_assert(std::is_same_v<decltype(f(std::as_const(left))), Tensor>);
  static_assert(std::is_same_v<decltype(f(std::move(moved))), Tensor>);
  check_values(f(left).value(), values);
  check_values(f(std::as_const(left)).value(), values);
  check_values(f(std::move(moved)).value(), values);
}

#define OF_EVERY_KIND(x, call) \
  of_every_kind(x, []<class X>(X&& v) { return [](auto&& a) { return call; }(std::forward<X>(v)); })
#define A std::forward<decltype(a)>(a)

}  // namespace

TEST_CASE("an op of an array is that of a constant tensor, whatever kind of expression it is") {
  const Array x = array({2, 3}, {0.5, 1, 2, 0.25, 3, 1.5});
  OF_EVERY_KIND(x, exp(A));
  OF_EVERY_KIND(x, expm1(A));
  OF_EVERY_KIND(x, log(A));
  OF_EVERY_KIND(x, log1p(A));
  OF_EVERY_KIND(x, sqrt(A));
  OF_EVERY_KIND(x, rsqrt(A));
  OF_EVERY_KIND(x, square(A));
  OF_EVERY_KIND(x, sin(A));
  OF_EVERY_KIND(x, cos(A));
  OF_EVERY_KIND(x, tanh(A));
  OF_EVERY_KIND(x, erf(A));
  OF_EVERY_KIND(x, abs(A));
  OF_EVERY_KIND(x, sigmoid(A));
  OF_EVERY_KIND(x, relu(A));
  OF_EVERY_KIND(x, pow(A, 2));
  OF_EVERY_KIND(x, sum(A));
  OF_EVERY_KIND(x, sum(A, {0}));
  OF_EVERY_KIND(x, sum(A, {0, 1}));
  OF_EVERY_KIND(x, mean(A, {-1}));
  OF_EVERY_KIND(x, amax(A, Axes{1}));
  OF_EVERY_KIND(x, softmax(A));
  const double e = static_cast<double>(exp(array({1}, {1})).item());
  CHECK(std::abs(e - 2.718281828459045) < 1e-6);
}

TEST_CASE("where, maximum and minimum take arrays and tensors of any kind, in any mixture") {
  Array mask = array({3}, {1, 0, 1});
  Array left = array({3}, {1, 2, 3});
  const Array right = array({3}, {3, 2, 1});
  Tensor a(left, true);
  const Tensor b(right);
  check_values(where(mask, a, b).value(), {1, 2, 3});
  check_values(where(mask, Tensor(left), b).value(), {1, 2, 3});
  check_values(where(array({3}, {0, 0, 1}), left, right).value(), {3, 2, 3});
  check_values(where(std::as_const(mask), left, b).value(), {1, 2, 3});
  check_values(where(mask, a, scalar(7)).value(), {1, 7, 3});
  check_values(slopes(where(mask, a, right), {a})[0], {1, 0, 1});

  check_values(maximum(left, right).value(), {3, 2, 3});
  check_values(maximum(left, b).value(), {3, 2, 3});
  check_values(maximum(a, right).value(), {3, 2, 3});
  check_values(maximum(a, scalar(2)).value(), {2, 2, 3});
  check_values(minimum(array({3}, {1, 2, 3}), right).value(), {1, 2, 1});
  check_values(minimum(b, left).value(), {1, 2, 1});
  check_values(slopes(maximum(a, right), {a})[0], {0, 0.5, 1});
}

TEST_CASE("labels are written in braces, or come in a vector of any integer type") {
  const Tensor logits(random_normal({2, 3}, 1), true);
  const std::vector<std::size_t> as_sizes{0, 1};
  const real want = cross_entropy(logits, as_sizes).item();
  const Array one_hot = array({2, 3}, {1, 0, 0, 0, 1, 0});
  CHECK(cross_entropy(logits, {0, 1}).item() == want);
  CHECK(cross_entropy(logits, std::vector<int>{0, 1}).item() == want);
  CHECK(cross_entropy(logits, {0, 1}, 0.0, Reduction::none).shape() == Shape{2});
  CHECK(std::abs(static_cast<double>(cross_entropy(logits, one_hot).item() - want)) < 1e-6);
  CHECK(std::abs(static_cast<double>(cross_entropy(logits, {0, 1}, {.ignore_index = -1}).item() -
                                     want)) < 1e-6);
  CHECK(
      std::abs(static_cast<double>(cross_entropy(logits, {0, -100}, {.ignore_index = -100}).item() -
                                   cross_entropy(slice(logits, 0, 0, 1), {0}).item())) < 1e-6);
  CHECK(nll_loss(log_softmax(logits), {0, 1}).size() == 1);

  CHECK(message_of([&] {
          cross_entropy(logits, {0, -1});
        }) == "cross_entropy: label -1 at index 1 is not in [0, 3)");
  CHECK(message_of([&] {
          nll_loss(logits, {-2, 0});
        }) == "nll_loss: label -2 at index 0 is not in [0, 3)");
  CHECK(message_of([&] {
          cross_entropy(logits, {0, 3}, {.ignore_index = -1});
        }) == "cross_entropy: label 3 at index 1 is not in [0, 3)");
  CHECK_FAILS_WITH(cross_entropy(logits, {0}),
                   "cross_entropy: logits (2, 3) needs 2 labels, not 1");
  CHECK_FAILS_WITH(cross_entropy(logits, {0, 1}, {.weights = zeros({2})}),
                   "cross_entropy: weights (2,) but logits (2, 3)");
  CHECK(message_of([&] {
          index_select(logits, 1, {2, -1});
        }) == "index_select: index -1 on axis 1 of (2, 3), which has length 3");
}

TEST_CASE("the newer ops refuse what has no meaning, and say what would have") {
  const Tensor x(zeros({2, 3, 4}));
  const Tensor image(zeros({1, 2, 4, 5}));
  CHECK_FAILS_WITH(gather(x, 1, {{2, 2}, {0, 1, 3, 0}}),
                   "gather: index 3 on axis 1 of (2, 3, 4), which has length 3");
  CHECK_FAILS_WITH(gather(x, 1, {{2, 1}, {0, -4}}), "gather: index -4 on axis 1");
  CHECK_FAILS_WITH(gather(x, 1, {{3, 2}, {0, 0, 0, 0, 0, 0}}),
                   "gather: indices (3, 2) at axis 1 of (2, 3, 4): but for that axis");
  CHECK_FAILS_WITH(gather(x, 1, {0, 1}), "gather: indices (2,) at axis 1");
  CHECK_FAILS_WITH(Indices({2, 2}, {1}), "indices: shape (2, 2) takes 4 values, not 1");
  CHECK_FAILS_WITH(embedding({0, 2}, Tensor(zeros({2, 3}))),
                   "embedding: index 2 on axis 0 of (2, 3), which has length 2");
  CHECK_FAILS_WITH(embedding({0}, x), "embedding: weight (2, 3, 4) is not (V, D)");
  CHECK_FAILS_WITH(masked_fill(x, zeros({3}), 0),
                   "masked_fill: shapes (3,) and (2, 3, 4) do not broadcast");
  CHECK_FAILS_WITH(masked_fill(Tensor(zeros({4})), zeros({2, 4}), 0),
                   "masked_fill: mask (2, 4) does not broadcast to (4,)");
  CHECK_FAILS_WITH(squeeze(x, 1), "squeeze: axis 1 of (2, 3, 4) has length 3, not 1");
  CHECK_FAILS_WITH(unsqueeze(x, 4), "unsqueeze: axis 4");
  CHECK_FAILS_WITH(flatten(x, 2, 1), "flatten: axis 2 of (2, 3, 4) comes after axis 1");
  CHECK_FAILS_WITH(pad(x, 0, -1, 0), "pad: before is -1; slice takes entries away");
  CHECK_FAILS_WITH(pad(x, 0, PTRDIFF_MAX, PTRDIFF_MAX), "no array is so long");
  CHECK_FAILS_WITH(pad(x, 0, 0, PTRDIFF_MAX), "no array is so long");
  CHECK_FAILS_WITH(roll(x, 1, 3), "roll: axis 3 of an array with 3 axes");
  CHECK_FAILS_WITH(avg_pool2d(x, 2), "avg_pool2d: input (2, 3, 4) is not (B, C, H, W)");
  CHECK_FAILS_WITH(max_pool2d(image, 5), "max_pool2d: a window of 5 does not fit into images");
  CHECK_FAILS_WITH(max_pool2d(image, 3, 1, 2),
                   "a padding of 2 is more than half of the window's 3");
  CHECK_FAILS_WITH(avg_pool2d(image, 0), "avg_pool2d: a window of side 0");
  CHECK_FAILS_WITH(avg_pool2d(image, 2, static_cast<std::size_t>(-2)),
                   "avg_pool2d: stride is -2, a negative number");
  CHECK_FAILS_WITH(bce_with_logits(x, zeros({2, 3})),
                   "bce_with_logits: targets (2, 3) but logits (2, 3, 4)");
  CHECK_FAILS_WITH(self_attention(Tensor(zeros({1, 2, 18})), 4),
                   "self_attention: 4 heads do not divide D = 6 of input (1, 2, 18)");
  CHECK_FAILS_WITH(self_attention(Tensor(zeros({1, 2, 7})), 1),
                   "self_attention: the width 7 of input (1, 2, 7) is not 3 D");
}

// --- absent tensors ------------------------------------------------------------------------------

TEST_CASE("an absent tensor is refused by every op, with its own name and the argument's") {
  const Tensor none;
  const Tensor x(zeros({2, 3}));
  const Tensor image(zeros({1, 1, 2, 2}));
  const Tensor tokens(zeros({1, 2, 3}));
  const Array c = zeros({2, 3});
  const Rng rng(1);
#define ABSENT(op, argument, call)                         \
  CHECK(message_of([&] { static_cast<void>(call); }) == op \
        ": " argument " is absent; it must be a tensor that has a value")
#define ABSENT_UNARY(op) ABSENT(#op, "x", op(none))
  ABSENT_UNARY(neg);
  ABSENT_UNARY(exp);
  ABSENT_UNARY(expm1);
  ABSENT_UNARY(log);
  ABSENT_UNARY(log1p);
  ABSENT_UNARY(sqrt);
  ABSENT_UNARY(rsqrt);
  ABSENT_UNARY(square);
  ABSENT_UNARY(sin);
  ABSENT_UNARY(cos);
  ABSENT_UNARY(tanh);
  ABSENT_UNARY(sigmoid);
  ABSENT_UNARY(erf);
  ABSENT_UNARY(silu);
  ABSENT_UNARY(softplus);
  ABSENT_UNARY(relu);
  ABSENT_UNARY(abs);
  ABSENT_UNARY(gelu);
  ABSENT_UNARY(gelu_tanh);
  ABSENT_UNARY(sum);
  ABSENT_UNARY(mean);
  ABSENT_UNARY(var);
  ABSENT_UNARY(amax);
  ABSENT_UNARY(logsumexp);
  ABSENT_UNARY(transpose);
  ABSENT_UNARY(flatten);
  ABSENT_UNARY(softmax);
  ABSENT_UNARY(log_softmax);
  ABSENT("pow", "x", pow(none, real{2}));
  ABSENT("clamp", "x", clamp(none, 0, 1));
  ABSENT("add", "a", none + x);
  ABSENT("add", "b", x + none);
  ABSENT("sub", "b", x - none);
  ABSENT("mul", "a", none * x);
  ABSENT("div", "b", x / none);
  ABSENT("add", "a", none + real{1});
  ABSENT("mul", "a", none * real{2});
  ABSENT("maximum", "b", maximum(x, none));
  ABSENT("minimum", "a", minimum(none, x));
  ABSENT("where", "a", where(c, none, x));
  ABSENT("where", "b", where(c, x, none));
  ABSENT("masked_fill", "x", masked_fill(none, c, 0));
  ABSENT("matmul", "a", matmul(none, x));
  ABSENT("matmul", "b", matmul(x, none));
  ABSENT("permute", "x", permute(none, {0}));
  ABSENT("reshape", "x", reshape(none, {1}));
  ABSENT("squeeze", "x", squeeze(none, 0));
  ABSENT("unsqueeze", "x", unsqueeze(none, 0));
  ABSENT("broadcast_to", "x", broadcast_to(none, {1}));
  ABSENT("pad", "x", pad(none, 0, 1, 1));
  ABSENT("roll", "x", roll(none, 1, 0));
  ABSENT("slice", "x", slice(none, 0, 0, 1));
  ABSENT("index_select", "x", index_select(none, 0, {0}));
  ABSENT("gather", "x", gather(none, 0, {0}));
  ABSENT("embedding", "weight", embedding({0}, none));
  ABSENT("select", "x", select(none, 0, 0));
  ABSENT("split", "x", split(none, {1}, 0));
  ABSENT("concat", "one of the tensors", concat({x, none}, 0));
  ABSENT("stack", "one of the tensors", stack({none}, 0));
  ABSENT("linear", "x", linear(none, x));
  ABSENT("linear", "weight", linear(x, none));
  ABSENT("linear", "x", linear_gelu(none, x));
  ABSENT("linear", "weight", linear_gelu(x, none));
  ABSENT("layer_norm", "x", layer_norm(none, {3}, {}, {}, 1e-6));
  ABSENT("batch_norm", "x", batch_norm(none, {}, {}, 1e-6));
  ABSENT("dropout", "x", dropout(none, 0.5, rng));
  ABSENT("stochastic_depth", "x", stochastic_depth(none, 0.5, rng));
  ABSENT("unfold", "x", unfold(none, {1, 1}));
  ABSENT("conv2d", "x", conv2d(none, image, {}));
  ABSENT("conv2d", "weight", conv2d(image, none, {}));
  ABSENT("avg_pool2d", "x", avg_pool2d(none, 2));
  ABSENT("max_pool2d", "x", max_pool2d(none, 2));
  ABSENT("attention", "q", attention(none, x, x));
  ABSENT("attention", "k", attention(x, none, x));
  ABSENT("attention", "v", attention(x, x, none));
  ABSENT("multi_head_attention", "k", multi_head_attention(tokens, none, tokens, 1));
  ABSENT("self_attention", "qkv", self_attention(none, 1));
  ABSENT("cross_entropy", "logits", cross_entropy(none, {0}));
  ABSENT("cross_entropy", "logits", cross_entropy(none, c));
  ABSENT("cross_entropy", "logits", cross_entropy(none, {0}, {.ignore_index = 0}));
  ABSENT("nll_loss", "log_probabilities", nll_loss(none, {0}));
  ABSENT("bce_with_logits", "logits", bce_with_logits(none, c));
  ABSENT("mse_loss", "a", mse_loss(none, x));
  ABSENT("mse_loss", "b", mse_loss(x, none));
#undef ABSENT_UNARY
#undef ABSENT
}

// --- the list of ops -----------------------------------------------------------------------------

TEST_CASE("docs/ops.md has a line for every op of ops.hpp, and for nothing else") {
  const auto names = [](const std::string& file, const std::regex& line_with_a_name) {
    std::ifstream in(std::string(VITRUVIAN_TEST_DATA) + "/../" + file);
    REQUIRE(in.is_open());
    std::set<std::string> found;
    for (std::string line; std::getline(in, line);) {
      std::smatch match;
      if (std::regex_search(line, match, line_with_a_name)) found.insert(match[1]);
    }
    return found;
  };
  const std::set<std::string> declared =
      names("core/ops.hpp", std::regex(R"(^(?:std::vector<Tensor>|[A-Z]\w*) (\w+)\()"));
  const std::set<std::string> listed = names("docs/ops.md", std::regex(R"(^\| `(\w+)\()"));
  CHECK(declared.size() > 70);
  for (const std::string& op : declared) CHECK_MESSAGE(listed.contains(op), op);
  for (const std::string& op : listed) CHECK_MESSAGE(declared.contains(op), op);
}
