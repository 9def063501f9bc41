#include "lessons/telling/lesson.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/rng.hpp"
#include "vitruvian/nn/init.hpp"

#include <type_traits>

namespace vitruvian::lessons {
inline namespace VITRUVIAN_PRECISION {
namespace {

double at(const Array& a, std::size_t i) { return static_cast<double>(a.data()[i]); }

Array random_cotangent(const Tensor& y) {
  return y.size() == 1 ? full(y.shape(), 1)
                       : random_normal(y.shape(), Rng(7).fork("cotangent").key());
}

std::vector<Tensor> tensors_of(const std::vector<Leaf>& leaves) {
  std::vector<Tensor> tensors;
  for (const Leaf& leaf : leaves) tensors.push_back(leaf.tensor);
  return tensors;
}

// sum(f() * c), nothing recorded.
double observed(const std::function<Tensor()>& f, const Array& c) {
  const NoGrad no_grad;
  const Tensor y = f();
  double sum = 0;
  for (std::size_t i = 0; i < y.size(); ++i) sum += at(y.value(), i) * at(c, i);
  return sum;
}

// (f(x + h) - f(x - h)) / 2h in one entry of a leaf.
double difference(const std::function<Tensor()>& f, const Array& c, const Tensor& leaf,
                  std::size_t i, double h) {
  const WriteGuard value = leaf.mutable_value();
  real& x = value->data()[i];
  const real kept = x;
  x = static_cast<real>(static_cast<double>(kept) + h);
  const double ahead = observed(f, c);
  x = static_cast<real>(static_cast<double>(kept) - h);
  const double behind = observed(f, c);
  x = kept;
  return (ahead - behind) / (2 * h);
}

// Agreement of two arrays, in numbers: `passed` is the caller's to decide.
Check compared(std::string_view what, std::string_view left_name, const Array& a,
               std::string_view right_name, const Array& b) {
  Check c{std::string(what), std::string(left_name), 0, std::string(right_name), 0};
  c.compared = b.size();
  if (a.shape() != b.shape()) {
    c.error = INFINITY;
    c.reason = "The shapes differ: " + to_string(a.shape()) + " and " + to_string(b.shape()) + ".";
    return c;
  }
  if (b.size() == 0) return c;
  std::size_t worst = 0;
  double largest = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    largest = std::max({largest, std::abs(at(a, i)), std::abs(at(b, i))});
    // Written so that a NaN counts as the worst.
    if (!(std::abs(at(a, i) - at(b, i)) <= std::abs(at(a, worst) - at(b, worst)))) worst = i;
  }
  c.error = largest == 0 ? 0 : std::abs(at(a, worst) - at(b, worst)) / largest;
  c.left = at(a, worst);
  c.right = at(b, worst);
  return c;
}

}  // namespace

std::vector<Leaf> leaves_of(const std::vector<NamedParameter>& parameters) {
  std::vector<Leaf> leaves;
  for (const NamedParameter& p : parameters) leaves.push_back({p.name, p.tensor});
  return leaves;
}

void draw(const std::vector<NamedParameter>& parameters, const Rng& rng) {
  for (const auto& [name, role, tensor] : parameters) {
    const bool scale = role == Role::norm && name.ends_with("weight");
    init::normal(tensor, rng.fork(name), .5, scale ? 1 : 0);
  }
}

void shapes(Narrator& say, std::string_view name_and_symbols, const Tensor& tensor) {
  const std::size_t at = name_and_symbols.rfind(" (");
  say.shape(name_and_symbols.substr(0, at), name_and_symbols.substr(at + 1),
            {tensor.shape().begin(), tensor.shape().end()});
}

void shapes(Narrator& say, const Trace& trace) {
  for (const Trace::Entry& e : trace.entries()) shapes(say, e.name + " " + e.symbols, e.tensor);
}

void check_gradients(Narrator& say, const std::function<Tensor()>& f,
                     const std::vector<Leaf>& leaves, const GradcheckOptions& options) {
  for (const Leaf& leaf : leaves) {
    const GradcheckReport report = gradcheck(f, std::vector<Tensor>{leaf.tensor}, options);
    Check c{"gradient of " + leaf.name, "analytic", report.analytic, "numeric", report.numeric};
    c.error = report.error;
    c.tolerance = std::is_same_v<real, float> ? 2e-2 : options.strict ? 1e-8 : 1e-6;
    const std::size_t n = leaf.tensor.size();
    c.compared = options.entries == 0 ? n : std::min(n, options.entries);
    c.passed = report.passed;
    if (!report.problem.empty()) {
      c.error = INFINITY;
      c.reason = "It stopped: " + report.problem;
    }
    if (report.passed && leaf.tensor.size() != 0) {
      const Tensor y = f();
      const Array cotangent = random_cotangent(y);
      const Array g = grad(y, {leaf.tensor}, cotangent)[0];
      const std::size_t i = largest_of(g);
      c.left = at(g, i);
      c.right = difference(f, cotangent, leaf.tensor, i, std::is_same_v<real, float> ? 1e-2 : 6e-6);
    }
    say.check(std::move(c));
  }
}

void check_equal(Narrator& say, std::string_view what, std::string_view left_name, const Tensor& a,
                 std::string_view right_name, const Tensor& b, double tolerance) {
  Check c = compared(what, left_name, a.value(), right_name, b.value());
  c.tolerance = tolerance;
  c.passed = c.error <= tolerance;
  if (c.passed && b.size() != 0) {
    const std::size_t i = largest_of(b.value());
    c.left = at(a.value(), i);
    c.right = at(b.value(), i);
  }
  say.check(std::move(c));
}

void check_differs(Narrator& say, std::string_view what, std::string_view left_name,
                   const Tensor& a, std::string_view right_name, const Tensor& b, double at_least) {
  Check c = compared(what, left_name, a.value(), right_name, b.value());
  c.tolerance = at_least;
  c.must_differ = true;
  c.passed = c.error >= at_least;
  say.check(std::move(c));
}

void check_by_hand(Narrator& say, const std::vector<Leaf>& hand, const std::vector<Array>& tape) {
  for (std::size_t i = 0; i < hand.size(); ++i) {
    check_equal(say, hand[i].name, "by hand", hand[i].tensor, "tape", tape[i]);
  }
}

void check_mistake(Narrator& say, std::string_view broken, std::string_view what,
                   std::string_view left_name, const Tensor& wrong, std::string_view right_name,
                   const Tensor& right) {
  say.broken(broken) ? check_equal(say, what, left_name, wrong, right_name, right)
                     : check_differs(say, what, left_name, wrong, right_name, right);
}

void check_twins(Narrator& say, const std::function<Tensor()>& fused,
                 const std::function<Tensor()>& composed, const std::vector<Leaf>& leaves) {
  const Tensor a = fused();
  const Tensor b = composed();
  check_equal(say, "value", "fused", a, "composed", b);
  const Array c = random_cotangent(b);
  const std::vector<Array> da = grad(a, tensors_of(leaves), c);
  const std::vector<Array> db = grad(b, tensors_of(leaves), c);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    check_equal(say, "gradient of " + leaves[i].name, "fused", da[i], "composed", db[i]);
  }
}

Array identity(std::size_t n) {
  Array a = zeros({n, n});
  for (std::size_t i = 0; i < n; ++i) a(i, i) = 1;
  return a;
}

std::size_t largest_of(const Array& a) {
  const auto less = [](real x, real y) { return std::abs(x) < std::abs(y); };
  return static_cast<std::size_t>(std::max_element(a.begin(), a.end(), less) - a.begin());
}

double distance(const Array& a, const Array& b) { return compared("", "", a, "", b).error; }

std::string refusal(const std::function<void()>& attempt) {
  try {
    attempt();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

std::vector<double> numbers_of(const Tensor& tensor) {
  return {tensor.value().begin(), tensor.value().end()};
}

std::string entries_text(const Array& a, int digits) {
  const std::size_t row = a.dimension() == 0 ? 1 : a.shape().back();
  std::string text;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (i != 0) text += i % row == 0 ? "\n" : " ";
    const double x = at(a, i);
    text += std::isnan(x) ? "nan" : fmt::format("{:.{}f}", std::abs(x) < 1e-12 ? 0.0 : x, digits);
  }
  return text;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian::lessons
