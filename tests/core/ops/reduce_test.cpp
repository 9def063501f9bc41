// The reductions against plain loops over every set of axes, and where plain loops would go wrong.

#include "tests/core/ops/ops_testing.hpp"

using namespace vitruvian;

namespace {

// Every set of axes of an array of this rank.
std::vector<Axes> axis_sets(std::size_t rank) {
  std::vector<Axes> sets;
  for (std::size_t bits = 0; bits < (std::size_t{1} << rank); ++bits) {
    Axes axes;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      if ((bits >> axis & 1U) != 0) axes.push_back(static_cast<int>(axis));
    }
    sets.push_back(axes);
  }
  return sets;
}

bool reduced(const Axes& axes, std::size_t axis) {
  return axes.empty() || std::find(axes.begin(), axes.end(), static_cast<int>(axis)) != axes.end();
}

Shape reduced_shape(const Shape& shape, const Axes& axes, bool keepdim) {
  Shape result;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (!reduced(axes, axis)) result.push_back(shape[axis]);
    if (reduced(axes, axis) && keepdim) result.push_back(1);
  }
  return result;
}

// The elements of x that meet in one element of the result.
std::vector<double> group(const Array& x, const Axes& axes, const Index& kept) {
  std::vector<double> values;
  for (const Index& index : indices(x.shape())) {
    Index rest;
    for (std::size_t axis = 0; axis < index.size(); ++axis) {
      if (!reduced(axes, axis)) rest.push_back(index[axis]);
    }
    if (rest == kept) values.push_back(at(x, index));
  }
  return values;
}

double mean_of(const std::vector<double>& v) {
  return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}

double var_of(const std::vector<double>& v, double correction) {
  double s = 0;
  for (const double value : v) s += (value - mean_of(v)) * (value - mean_of(v));
  return s / (static_cast<double>(v.size()) - correction);
}

double lse_of(const std::vector<double>& v) {
  double s = 0;
  for (const double value : v) s += std::exp(value);
  return std::log(s);
}

using Reduce = Tensor (*)(const Tensor&, const Axes&, bool);
GoldenOp golden(Reduce op) {
  return [=](const Tensors& x, const Json& a) {
    return op(x[0], a["axes"].get<Axes>(), a["keepdim"].get<bool>());
  };
}
const Golden golden_reduce({{"sum", golden(sum)},
                            {"mean", golden(mean)},
                            {"amax", golden(amax)},
                            {"logsumexp", golden(logsumexp)},
                            {"var", [](const Tensors& x, const Json& a) {
                               return var(x[0], a["axes"].get<Axes>(), a["correction"],
                                          a["keepdim"].get<bool>());
                             }}});

}  // namespace

TEST_CASE("reductions agree with plain loops over every set of axes") {
  for (const Shape& shape : Shapes{{}, {5}, {2, 3}, {2, 3, 4}, {3, 1, 2, 4}, {3, 0, 2}}) {
    const Array x = random_normal(shape, 4);
    const Tensor t(x);
    for (const Axes& axes : axis_sets(shape.size())) {
      const Shape short_shape = reduced_shape(shape, axes, false);
      const auto check = [&](const auto& op, const auto& plain) {
        check_elements(
            op(false), short_shape, [&](const Index& i) { return plain(group(x, axes, i)); }, 8);
        const Tensor kept = op(true);
        REQUIRE(to_string(kept.shape()) == to_string(reduced_shape(shape, axes, true)));
        CHECK(distance(reshape(kept, short_shape), op(false)) == 0);
      };
      check([&](bool keep) { return sum(t, axes, keep); },
            [](const auto& v) { return std::accumulate(v.begin(), v.end(), 0.0); });
      check([&](bool keep) { return mean(t, axes, keep); }, mean_of);
      check([&](bool keep) { return var(t, axes, 0, keep); },
            [](const auto& v) { return var_of(v, 0); });
      if (group(x, axes, Index(short_shape.size(), 0)).size() > 1) {
        check([&](bool keep) { return var(t, axes, 1, keep); },
              [](const auto& v) { return var_of(v, 1); });
      }
      check([&](bool keep) { return logsumexp(t, axes, keep); }, lse_of);
      if (x.size() > 0) {
        check([&](bool keep) { return amax(t, axes, keep); },
              [](const auto& v) { return *std::max_element(v.begin(), v.end()); });
      }
    }
  }
}

TEST_CASE("reductions of nothing") {
  const Tensor x(zeros({0, 3}));
  check_values(sum(x, {0}), {0, 0, 0});
  check_values(mean(x, {0}), {NaN, NaN, NaN});
  check_values(var(x, {0}), {NaN, NaN, NaN});
  check_values(logsumexp(x, {0}), {-inf, -inf, -inf});
  CHECK_FAILS_WITH(amax(x, {0}), "amax: no elements to choose from in (0, 3)");
  CHECK(amax(x, {1}).shape() == Shape{0});
  check_values(mean(x), {NaN});
}

TEST_CASE("a mean of 1e6 costs a variance no digits, a float sum does not drift") {
  check_values(var(vector({1e6 - 1, 1e6, 1e6 + 1})), {2.0 / 3});
  const Tensor x(full({1'000'000}, real(0.1)));
  const double tenth = static_cast<double>(real(0.1));
  CHECK(std::abs(static_cast<double>(sum(x).item()) / (tenth * 1e6) - 1) < 1e-7);
  CHECK(std::abs(static_cast<double>(mean(x).item()) / tenth - 1) < 1e-7);
  check_values(var(vector({5}), {}, 1), {NaN});
  check_values(var(vector({5, 5, 5})), {0});
}

TEST_CASE("logsumexp neither overflows nor loses rows of -inf") {
  check_values(logsumexp(vector({1e30, 1e30})), {1e30});
  check_values(logsumexp(vector({-1e30, -1e30})), {-1e30});
  check_values(logsumexp(vector({-inf, -inf})), {-inf});
  check_values(logsumexp(vector({-inf, 0})), {0});
  check_values(logsumexp(vector({inf, 0})), {inf});
  check_values(logsumexp(vector({NaN, inf})), {NaN});
  const Tensor x = vector({-inf, 1, 1});
  check_elements(slopes(logsumexp(x), {x})[0], {3},
                 [](const Index& i) { return i[0] == 0 ? 0 : 0.5; });
  const Tensor beside = vector({1000, inf, 1});
  check_values(slopes(logsumexp(beside), {beside})[0], {0, NaN, 0});
}

TEST_CASE("the largest: ties share, a NaN wins") {
  const Tensor x = vector({3, 1, 3, 3});
  check_values(slopes(amax(x), {x})[0], {1.0 / 3, 0, 1.0 / 3, 1.0 / 3});
  check_values(amax(vector({1, NaN, 3})), {NaN});
  check_values(amax(vector({NaN, 3})), {NaN});
  const Tensor with_NaN = vector({1, NaN, 2});
  check_values(slopes(amax(with_NaN), {with_NaN})[0], {0, 1, 0});
  check_values(amax(vector({-inf, -inf})), {-inf});
}

TEST_CASE("axes that do not exist or come twice are refused") {
  const Tensor x(zeros({2, 3}));
  CHECK_FAILS_WITH(sum(x, {2}), "sum: axis 2 of an array with 2 axes");
  CHECK_FAILS_WITH(mean(x, {-3}), "mean: axis -3 of an array with 2 axes");
  CHECK_FAILS_WITH(var(x, {0, -2}), "var: axis 0 is named twice");
}
