// exercise_checks NAME FILE.so SECONDS [--ascii] PART=PART.so...: loads what a learner's file was
// compiled to, and judges it; the parts are earlier answers that it is built on. `lesson check`
// runs it. Exit code 0 when everything agrees, else 1.

#include "lessons/exercises/judge.hpp"

#include "lessons/exercises/own.hpp"
#include "lessons/exercises/stops.hpp"
#include "lessons/telling/events.hpp"
#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/check/gradcheck.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <numeric>
#include <regex>

namespace vitruvian::lessons {
inline namespace VITRUVIAN_PRECISION {
namespace {

constexpr double tolerance = 1e-6;

double largest(const Array& a) {
  double most = 0;
  for (const double x : a) most = std::isnan(x) ? most : std::max(most, std::abs(x));
  return most;
}

// Written so that NaN is far from everything.
bool near(double a, double b, double scale) { return std::abs(a - b) <= tolerance * scale; }

double scale_of(const Array& right) {
  const double most = largest(right);
  return most < 1e-6 ? 1 : most;
}

bool same(const Array& a, const Array& b) {
  const double scale = scale_of(b);
  return a.shape() == b.shape() &&
         std::equal(a.begin(), a.end(), b.begin(),
                    [&](double x, double y) { return near(x, y, scale); });
}

Array sorted(Array a) {
  std::sort(a.data(), a.data() + a.size());
  return a;
}

// The factor that makes `right` of `yours`, if one does: from where `right` is largest.
double factor_between(const Array& yours, const Array& right) {
  const auto at = std::max_element(right.begin(), right.end(),
                                   [](double x, double y) { return std::abs(x) < std::abs(y); });
  return *at == 0 ? 0 : yours.data()[at - right.begin()] / *at;
}

// What every exercise may have wrong. Empty when nothing simple is.
std::string diagnosis(const Array& yours, const Array& right) {
  if (std::any_of(yours.begin(), yours.end(), [](double x) { return std::isnan(x); })) {
    return "NaN is not a number: 0 / 0, or the root or logarithm of something negative.";
  }
  if (yours.size() == 1) return "";
  if (largest(yours) == 0) return "Yours is zero everywhere.";
  if (const double factor = factor_between(yours, right);
      std::isfinite(factor) && factor != 0 && same(yours, Array(right * factor))) {
    if (near(factor, -1, 1)) return "All of it has the opposite sign.";
    return fmt::format("All of yours is {:.7g} times what it should be: a factor is wrong.",
                       factor);
  }
  if (yours.dimension() == 2 && same(transpose(Tensor(yours)).value(), right)) {
    return "Yours is the transpose of what it should be.";
  }
  if (same(sorted(yours), sorted(right))) return "The numbers are right, but in another order.";
  return "";
}

std::string place(const Shape& shape, std::size_t index) {
  if (shape.empty()) return "";
  std::vector<std::size_t> at(shape.size());
  for (std::size_t i = shape.size(); i-- > 0; index /= shape[i]) at[i] = index % shape[i];
  return fmt::format(" at [{}]", joined(at));
}

// An exception in a learner's words. xtensor's assertions, with which their file is compiled, speak
// of a line of xtensor.
std::string stopped_by(const std::string& what) {
  static const std::regex outside(
      R"(index (-?\d+) is out of bounds for axis (\d+) with size (\d+))");
  static const std::regex too_many(
      R"(Number of arguments \((\d+)\) is greater than the number of dimensions \((\d+)\))");
  std::smatch parts;
  if (std::regex_search(what, parts, outside)) {
    const bool negative = parts[1].length() > 18 || *parts[1].first == '-';
    return fmt::format(
        "{} reads or writes outside of an array: index {} of axis {}, which has length {}.",
        thrown_at(), negative ? "below 0" : parts[1].str(), parts[2].str(), parts[3].str());
  }
  if (std::regex_search(what, parts, too_many)) {
    return fmt::format("{} gives {} indices to an array that has {} axes.", thrown_at(),
                       parts[1].str(), parts[2].str());
  }
  if (what.starts_with("map::at")) {  // Weights
    return fmt::format(
        "{} asks for a parameter of a name that is none. They begin with `name` and a "
        "dot: name + \".fc1.weight\".",
        thrown_at());
  }
  if (what.starts_with("mul: ")) {
    return fmt::format(
        "{} stopped with: {}. The product of matrices is matmul(a, b); a * b is that "
        "of numbers at the same place.",
        thrown_at(), what);
  }
  return fmt::format("{} stopped with: {}", thrown_at(), what);
}

}  // namespace

void Judge::expect_type(const char* type) const {
  if (std::string_view(type) != submission_.type) {
    fail("the function's parameters or its result have other types than in the exercise: put back "
         "the line that it begins with (lesson exercise N shows where the file is, --again starts "
         "over)");
  }
}

void Judge::in_case(const std::string& label, const std::function<void()>& body) {
  working_on(label);
  problem_.clear();
  const NoGrad not_recorded;
  try {
    body();
  } catch (const std::exception& error) {
    wrong(stopped_by(error.what()));
  }
  working_on("");
  // Said at once: what the next case does to the program takes nothing of it back.
  const bool agrees = problem_.empty();
  say(fmt::format("  {:8}  {}\n", agrees ? "agree" : "DISAGREE", label));
  if (!agrees && agreed_ == cases_) {  // the first one
    std::string indented;
    for (const char c : problem_) indented += c == '\n' ? "\n            " : std::string(1, c);
    say(fmt::format("            {}\n", indented));
  }
  console::flush();
  ++cases_;
  agreed_ += agrees ? 1 : 0;
}

void Judge::say(const std::string& text) const {
  console::print("{}", console::lines(ascii_ ? to_ascii(text) : text));
}

void Judge::wrong(const std::string& sentence) {
  if (problem_.empty()) problem_ = sentence;
}

void Judge::compare(std::string_view name, const Tensor& yours, const Tensor& expected,
                    std::string_view source, const std::vector<Guess>& guesses) {
  const Array& right = expected.value();
  const std::string what = right.dimension() == 0
                               ? std::string(name)
                               : fmt::format("{} {}", name, to_string(right.shape()));
  if (!yours) {
    return wrong(fmt::format(
        "{}: yours is empty. The gap is still open; look for \"Yours\" in the file.", what));
  }
  const Array& mine = yours.value();
  if (mine.shape() != right.shape()) {
    std::string why;
    for (const Guess& guess : guesses) {
      if (why.empty() && same(mine, guess.value.value())) why = "\n" + guess.why;
    }
    return wrong(fmt::format("{} should have the shape {}; yours has {}.{}", name,
                             to_string(right.shape()), to_string(mine.shape()), why));
  }
  const double scale = scale_of(right);
  std::size_t different = 0;
  std::size_t worst = 0;
  double most = -1;
  for (std::size_t i = 0; i < right.size(); ++i) {
    const double gap = std::abs(mine.data()[i] - right.data()[i]);
    if (gap <= tolerance * scale) continue;
    ++different;
    const double size = std::isnan(gap) ? HUGE_VAL : gap;
    if (size > most) {
      most = size;
      worst = i;
    }
  }
  if (different == 0) return;
  std::string text =
      fmt::format("{}{}: yours {:.6g}, {} {:.6g}.", what, place(right.shape(), worst),
                  mine.data()[worst], source, right.data()[worst]);
  if (right.size() > 1) {
    text += fmt::format("\n{} of {} entries differ; this is the worst.", different, right.size());
  }
  for (const Guess& guess : guesses) {
    if (same(mine, guess.value.value())) return wrong(text + "\n" + guess.why);
  }
  if (const std::string known = diagnosis(mine, right); !known.empty()) text += "\n" + known;
  wrong(text);
}

void Judge::compare(std::string_view name, double yours, double right, std::string_view source,
                    const std::vector<Guess>& guesses) {
  compare(name, Tensor(scalar(yours)), Tensor(scalar(right)), source, guesses);
}

void Judge::compare_gradient(std::string_view name, const Tensor& yours,
                             const std::function<Tensor(const Tensor&)>& f, const Tensor& x,
                             const Tensor& g, const std::vector<Guess>& guesses) {
  compare(name, yours, differences(f, x, g), "differences say", guesses);
}

void Judge::compare_indices(
    std::string_view name, const std::vector<std::size_t>& yours,
    const std::vector<std::size_t>& right,
    const std::vector<std::pair<std::string, std::vector<std::size_t>>>& guesses) {
  if (yours == right) return;
  const auto text = [](const std::vector<std::size_t>& list) {
    return list.empty() ? std::string("none") : joined(list);
  };
  std::string why;
  for (const auto& [reason, guess] : guesses) {
    if (why.empty() && yours == guess) why = "\n" + reason;
  }
  if (yours.empty()) why = fmt::format("\n{}", open_gap);
  wrong(fmt::format("{}: yours {}, right {}.{}", name, text(yours), text(right), why));
}

bool Judge::report() const {
  if (agreed_ < cases_) say(fmt::format("\n{} of {} cases agree.\n", agreed_, cases_));
  return agreed_ == cases_;
}

Tensor differences(const std::function<Tensor(const Tensor&)>& f, const Tensor& x,
                   const Tensor& g) {
  constexpr double h = 1e-3;
  Array result = empty(x.shape());
  const auto moved = [&](std::size_t i, double by) {
    Array there = x.value();
    there.data()[i] += by;
    return sum(f(there) * g).item();
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    result.data()[i] =
        (8 * (moved(i, h) - moved(i, -h)) - (moved(i, 2 * h) - moved(i, -2 * h))) / (12 * h);
  }
  return result;
}

Tensor normal(const Shape& shape, std::uint64_t seed) { return random_normal(shape, seed); }

Tensor counting(const Shape& shape) {
  Array a = empty(shape);
  std::iota(a.data(), a.data() + a.size(), 1.0);
  return a;
}

namespace {

NamedCheck check_of(const std::string& name) {
  for (const auto& list : {tape_checks(), layer_checks(), vit_checks(), training_checks(),
                           inside_checks(), own_checks()}) {
    for (const NamedCheck& named : list) {
      if (named.name == name) return named;
    }
  }
  fail("there is no check for the exercise '{}'", name);
}

Submission submission_of(const char* file) {
  void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fail("your file cannot be loaded: {}", dlerror());
  void* const handed_in = dlsym(library, "vitruvian_submission");
  if (handed_in == nullptr) {
    fail("your file hands nothing in: its line EXERCISE(...), behind the function, is missing");
  }
  return reinterpret_cast<Submission (*)()>(handed_in)();
}

}  // namespace

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian::lessons

int main(int argc, char** argv) {
  using namespace vitruvian;
  using namespace vitruvian::lessons;
  return console::run("", [argc, argv] {
    if (argc < 4) {
      fail(Exit::usage, "usage: exercise_checks NAME FILE.so SECONDS [--ascii] PART=PART.so...");
    }
    const NamedCheck check = check_of(argv[1]);
    const bool ascii = argc > 4 && std::string_view(argv[4]) == "--ascii";
    for (int i = ascii ? 5 : 4; i < argc; ++i) {
      const std::string part = argv[i];
      const std::size_t equals = part.find('=');
      take_part(part.substr(0, equals), submission_of(part.substr(equals + 1).c_str()));
    }
    const Submission submission = submission_of(argv[2]);
    watch_over(submission.file, std::max(std::atoi(argv[3]), check.seconds));
    Judge judge(submission, ascii);
    check.check(judge);
    alarm(0);
    return judge.report() ? 0 : 1;
  });
}
