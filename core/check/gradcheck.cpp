#include "vitruvian/core/check/gradcheck.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/rng.hpp"
#include "vitruvian/core/guards.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <numeric>
#include <type_traits>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

constexpr std::size_t largest_jacobian = 20'000;

// How derivatives are estimated, and how close they must come. The float steps are as coarse as
// float's seven digits make them.
struct Form {
  std::vector<double> steps;
  bool four_points;
  double tolerance;
};

Form form_of(const GradcheckOptions& options) {
  if constexpr (!std::is_same_v<real, double>) return {{1e-2, 3e-2}, options.strict, 2e-2};
  if (options.strict) return {{1e-3, 1e-4}, true, 1e-8};
  return {{6e-6}, false, 1e-6};  // the cube root of epsilon: truncation and rounding balance
}

// What is differentiated: all elements of the result y of f (then the derivatives are the whole
// Jacobian), or the one number sum(y * c).
struct Observation {
  std::vector<Array> cotangents;  // one for each observed number
  bool whole = false;

  // The derivatives of the observed numbers, from those of y's elements. The sum comes last, after
  // the differences: what does not move cancels exactly.
  [[nodiscard]] std::vector<double> operator()(std::vector<double> dy) const {
    if (whole) return dy;
    return {std::inner_product(dy.begin(), dy.end(), cotangents[0].data(), 0.0)};
  }
};

Observation observe(const Array& y, std::size_t input_elements, const GradcheckOptions& options) {
  Observation o;
  o.whole = y.size() > 0 && y.size() * input_elements <= largest_jacobian;
  if (!o.whole) {
    o.cotangents.push_back(random_normal(y.shape(), Rng(options.seed).fork("cotangent").key()));
    return o;
  }
  for (std::size_t i = 0; i < y.size(); ++i) {
    o.cotangents.push_back(zeros(y.shape()));
    o.cotangents.back().data()[i] = 1;
  }
  return o;
}

// The elements of y when one element of a leaf is moved by h. Nothing is recorded, and the leaf is
// put back.
std::vector<double> moved(const std::function<Tensor()>& f, const Tensor& leaf, std::size_t index,
                          double h) {
  const NoGrad no_grad;
  struct PutBack {
    real& x;
    real kept;
    ~PutBack() { x = kept; }
  };
  const WriteGuard value = leaf.mutable_value();
  real& x = value->data()[index];
  const PutBack put_back{x, x};
  x = static_cast<real>(static_cast<double>(x) + h);
  const Tensor y = f();
  return {y.value().data(), y.value().data() + y.size()};
}

//  two points: (f(h) - f(-h)) / 2h, wrong by h^2 f''' / 6
// four points: (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12h, wrong by h^4 f''''' / 30
std::vector<double> differences(const Form& form, const std::function<Tensor()>& f,
                                const Tensor& leaf, std::size_t index, double h) {
  const auto difference = [&](double step) {  // f(step) - f(-step)
    std::vector<double> d = moved(f, leaf, index, step);
    const std::vector<double> back = moved(f, leaf, index, -step);
    std::transform(d.begin(), d.end(), back.begin(), d.begin(), std::minus());
    return d;
  };
  std::vector<double> d = difference(h);
  if (!form.four_points) {
    for (double& value : d) value /= 2 * h;
    return d;
  }
  const std::vector<double> far = difference(2 * h);
  for (std::size_t i = 0; i < d.size(); ++i) d[i] = (8 * d[i] - far[i]) / (12 * h);
  return d;
}

// |a - n| / max(|a|, |n|, 1e-3 max|g|). An array whose derivatives are all below 1e-6 has a zero
// gradient but for rounding: there the difference is judged absolutely, in units of 1e-3.
double relative_error(double a, double n, double largest) {
  const double scale = largest < 1e-6 ? 1e-3 : std::max({std::abs(a), std::abs(n), 1e-3 * largest});
  return std::abs(a - n) / scale;
}

// One derivative: its value by the tape, and by differences at each step.
struct Entry {
  std::size_t index;
  double analytic;
  std::vector<double> numeric;
};

// Judges the derivatives in one input and keeps the worst of all in `report`.
void judge(const std::vector<Entry>& entries, std::size_t input, GradcheckReport& report) {
  double largest = 0;
  for (const Entry& e : entries) {
    largest = std::max({largest, std::abs(e.analytic), std::abs(e.numeric[0])});
  }
  for (const Entry& e : entries) {
    double n = e.numeric[0];
    for (const double other : e.numeric) {
      if (std::abs(e.analytic - other) < std::abs(e.analytic - n)) n = other;
    }
    const double error = relative_error(e.analytic, n, largest);
    ++report.checked;
    // A NaN is worse than any number; the first entry is the worst so far.
    if (report.checked == 1 || !(error <= report.error || std::isnan(report.error))) {
      report.error = error;
      report.input = input;
      report.index = e.index;
      report.analytic = e.analytic;
      report.numeric = n;
    }
  }
}

std::vector<std::size_t> sampled(std::size_t size, std::size_t input,
                                 const GradcheckOptions& options) {
  if (options.entries == 0 || options.entries >= size) {
    std::vector<std::size_t> all(size);
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }
  std::vector<std::size_t> some = Rng(options.seed).fork("entries", {input}).permutation(size);
  some.resize(options.entries);
  return some;
}

void check(const std::function<Tensor()>& f, const std::vector<Tensor>& xs,
           const GradcheckOptions& options, GradcheckReport& report) {
  const Form form = form_of(options);
  if (xs.empty()) fail("gradcheck: there is no input to differentiate by");
  const Tensor y = f();
  std::size_t elements = 0;
  for (const Tensor& x : xs) elements += x.size();
  const Observation observation = observe(y.value(), elements, options);

  std::vector<std::vector<Array>> gradients;  // of each observed number, in each input
  for (const Array& c : observation.cotangents) gradients.push_back(grad(y, xs, c, true));

  for (std::size_t input = 0; input < xs.size(); ++input) {
    std::vector<Entry> entries;
    for (const std::size_t index : sampled(xs[input].size(), input, options)) {
      const std::size_t first = entries.size();
      for (const auto& g : gradients) {
        entries.push_back({index, static_cast<double>(g[input].data()[index]), {}});
      }
      for (const double h : form.steps) {
        const std::vector<double> d = observation(differences(form, f, xs[input], index, h));
        for (std::size_t r = 0; r < d.size(); ++r) entries[first + r].numeric.push_back(d[r]);
      }
    }
    judge(entries, input, report);
  }
  report.passed = report.error <= form.tolerance;
}

}  // namespace

GradcheckReport gradcheck(const Function& f, const std::vector<Array>& inputs,
                          const GradcheckOptions& options) {
  std::vector<Tensor> xs;
  for (const Array& x : inputs) xs.emplace_back(x, true);
  return gradcheck([&] { return f(xs); }, xs, options);
}

GradcheckReport gradcheck(const std::function<Tensor()>& f, const std::vector<Tensor>& xs,
                          const GradcheckOptions& options) {
  GradcheckReport report;
  try {
    check(f, xs, options, report);
  } catch (const std::exception& error) {
    report.passed = false;
    report.problem = error.what();
  }
  return report;
}

Array random_normal(const Shape& shape, std::uint64_t seed) {
  Array x = empty(shape);
  const Rng rng(seed);
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<real>(rng.normal(i));
  return x;
}

Array random_uniform(const Shape& shape, double low, double high, std::uint64_t seed) {
  Array x = empty(shape);
  const Rng rng(seed);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x.data()[i] = static_cast<real>(low + (high - low) * rng.uniform(i));
  }
  return x;
}

Array random_distinct(const Shape& shape, double gap, std::uint64_t seed) {
  // A shuffled grid, 3 gaps wide and half-way off zero, each point moved by at most half a gap.
  Array x = empty(shape);
  const Rng rng(seed);
  const std::vector<std::size_t> place = rng.fork("place").permutation(x.size());
  const std::size_t half = x.size() / 2;
  const auto middle = static_cast<double>(half);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double point = static_cast<double>(place[i]) - middle + 0.5;
    x.data()[i] = static_cast<real>(gap * (3 * point + rng.uniform(i) - 0.5));
  }
  return x;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
