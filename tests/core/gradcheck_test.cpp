// The table of gradient checks: every row passes, every op is in it, and every check can fail.

#include "vitruvian/core/check/gradcheck.hpp"
#include "tests/expect.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/fault.hpp"
#include "vitruvian/core/ops.hpp"

#include <fstream>
#include <regex>
#include <unordered_set>

using namespace vitruvian;

namespace {

using Rows = std::vector<GradcheckCase>;

const std::map<std::string, Rows>& table() {
  static const std::map<std::string, Rows> by_op = [] {
    std::map<std::string, Rows> rows;
    for (GradcheckCase& row : gradcheck_cases()) rows[row.op].push_back(std::move(row));
    return rows;
  }();
  return by_op;
}

template <class F>  // clang 14 captures no structured binding
void for_each_op(const F& f) {
  for (const auto& entry : table()) {
    INFO(entry.first);
    f(entry.first, entry.second);
  }
}

// What a row's graph holds: the names of its ops, and which inputs of its own op have a gradient.
struct Recorded {
  std::set<std::string> ops;
  std::set<std::size_t> differentiable;
};

Recorded recorded(const GradcheckCase& row) {
  std::vector<Tensor> xs;
  for (const Array& x : row.inputs) xs.emplace_back(x, true);
  const Tensor y = row.f(xs);
  Recorded found;
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> stack{&y.node()};
  while (!stack.empty()) {
    const Node& node = *stack.back();
    stack.pop_back();
    if (!seen.insert(&node).second) continue;
    if (node.vjp) found.ops.insert(node.op);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.has(i)) stack.push_back(node.inputs[i].node.get());
      if (node.op == row.op && node.needs(i)) found.differentiable.insert(i);
    }
  }
  return found;
}

// Whether a row turns red under a fault. Where the fault makes a wrong number, the number must be
// what is noticed; a forgotten unbroadcast is noticed by the engine's check of the shape.
bool turns_red(const GradcheckCase& row, Fault::Kind kind, std::size_t input) {
  const Fault fault(row.op, kind, input);
  const GradcheckReport report = gradcheck(row.f, row.inputs);
  if (report.passed) return false;
  if (kind == Fault::Kind::forget_unbroadcast) {
    return report.problem.find("the rule of '" + row.op + "' returned a cotangent of shape") !=
           std::string::npos;
  }
  return report.problem.empty();
}

bool any_turns_red(const Rows& rows, Fault::Kind kind, std::size_t input = 0) {
  for (const GradcheckCase& row : rows) {
    const bool has_input = kind == Fault::Kind::skip_accumulation ||
                           kind == Fault::Kind::forget_unbroadcast ||
                           recorded(row).differentiable.contains(input);
    if (has_input && turns_red(row, kind, input)) return true;
  }
  return false;
}

// x, with any derivative.
Function wrong_by(real factor, real offset = 0) {
  return [=](const std::vector<Tensor>& xs) {
    return record("wrong", xs[0].value(), {xs[0]},
                  [=](const Node&, const Array& g) { return cotangents(g * factor + offset); });
  };
}

const std::vector<Array> some{random_normal({2, 3}, 1)};
const GradcheckOptions strict{.strict = true};

}  // namespace

TEST_CASE("every row of the table passes the strict check, and the readable one") {
  for_each_op([](const std::string&, const Rows& rows) {
    for (const GradcheckCase& row : rows) {
      for (const GradcheckOptions& options : {strict, GradcheckOptions{}}) {
        const GradcheckReport report = gradcheck(row.f, row.inputs, options);
        INFO(row.label, ": ", report.problem, " error ", report.error, " at input ", report.input,
             " element ", report.index, ": ", report.analytic, " ", report.numeric);
        CHECK(report.passed);
      }
    }
  });
}

TEST_CASE("every op is in the table, and used there at eight shapes or more") {
  std::set<std::string> used;
  for_each_op([&](const std::string& op, const Rows& rows) {
    std::set<std::string> labels;
    for (const GradcheckCase& row : rows) {
      const Recorded found = recorded(row);
      used.insert(found.ops.begin(), found.ops.end());
      if (found.ops.contains(op)) labels.insert(row.label);  // dropout with p = 0 is no op
    }
    CHECK(labels.size() >= 8);
  });
  // What the rows of other ops are made of is in the table itself,
  for (const std::string& op : used) CHECK_MESSAGE(table().contains(op), op);
  // and so is every function that ops.hpp declares.
  std::ifstream header(VITRUVIAN_TEST_DATA "/../core/ops.hpp");
  REQUIRE(header.is_open());
  const std::regex declaration(R"(^(?:std::vector<Tensor>|[A-Z]\w*) (\w+)\()");
  std::size_t declared = 0;
  for (std::string line; std::getline(header, line);) {
    std::smatch match;
    if (!std::regex_search(line, match, declaration)) continue;
    ++declared;
    CHECK_MESSAGE(table().contains(match[1]), match[1].str());
  }
  CHECK(declared > 50);
}

TEST_CASE("a flipped sign or a missing cotangent of any input of any op is noticed") {
  for_each_op([&](const std::string&, const Rows& rows) {
    std::set<std::size_t> differentiable;
    for (const GradcheckCase& row : rows) differentiable.merge(recorded(row).differentiable);
    CHECK_FALSE(differentiable.empty());
    for (const std::size_t input : differentiable) {
      CAPTURE(input);
      CHECK(any_turns_red(rows, Fault::Kind::flip_sign, input));
      CHECK(any_turns_red(rows, Fault::Kind::drop_cotangent, input));
    }
  });
}

TEST_CASE("a lost accumulation is noticed for every op") {
  for_each_op([&](const std::string&, const Rows& rows) {
    CHECK(any_turns_red(rows, Fault::Kind::skip_accumulation));
  });
}

TEST_CASE("a forgotten unbroadcast is noticed for every op that broadcasts, and only there") {
  const std::set<std::string> broadcasting{
      "add",   "sub",    "mul",          "div",       "maximum",        "minimum",
      "where", "matmul", "broadcast_to", "attention", "self_attention", "multi_head_attention"};
  for_each_op([&](const std::string& op, const Rows& rows) {
    CHECK(any_turns_red(rows, Fault::Kind::forget_unbroadcast) == broadcasting.contains(op));
  });
}

TEST_CASE("a derivative that is wrong by little more than the tolerance fails") {
  CHECK(gradcheck(wrong_by(1), some, strict).passed);
  CHECK_FALSE(gradcheck(wrong_by(1 + 3e-8), some, strict).passed);
  CHECK(gradcheck(wrong_by(1 + 3e-8), some).passed);
  CHECK_FALSE(gradcheck(wrong_by(1 + 3e-6), some).passed);
  const GradcheckReport report = gradcheck(wrong_by(-2), some);
  CHECK_FALSE(report.passed);
  CHECK(report.problem.empty());
  CHECK(report.analytic == -2);
  CHECK(std::abs(report.numeric - 1) < 1e-8);
  CHECK(std::abs(report.error - 1.5) < 1e-8);
}

TEST_CASE("one wrong entry among many right ones is found, and named") {
  const Function f = [](const std::vector<Tensor>& xs) {
    return record("wrong", xs[1].value(), {xs[0], xs[1]}, [](const Node& n, const Array& g) {
      Array dx = g;
      dx.data()[4] *= real(1.001);
      return cotangents(zeros(n.in_shape(0)), dx);
    });
  };
  const GradcheckReport report = gradcheck(f, {zeros({2}), some[0]});
  CHECK_FALSE(report.passed);
  CHECK(report.input == 1);
  CHECK(report.index == 4);
  CHECK(report.checked == 6 * 2 + 6 * 6);
}

TEST_CASE("a NaN in a derivative is the worst error of all") {
  const GradcheckReport report =
      gradcheck(wrong_by(1, std::numeric_limits<real>::quiet_NaN()), some);
  CHECK_FALSE(report.passed);
  CHECK(std::isnan(report.error));
}

TEST_CASE("a zero gradient is judged absolutely, and a spurious one is seen") {
  // f does not depend on x: sum(x) - sum(x), whose differences are rounding noise.
  const Function nothing = [](const std::vector<Tensor>& xs) { return sum(xs[0]) - sum(xs[0]); };
  CHECK(gradcheck(nothing, some, strict).passed);
  const auto constant = [](real slope) {
    return [slope](const std::vector<Tensor>& xs) {
      return record("constant", scalar(3), {xs[0]}, [slope](const Node& n, const Array&) {
        return cotangents(full(n.in_shape(0), slope));
      });
    };
  };
  CHECK(gradcheck(constant(0), some, strict).passed);
  CHECK_FALSE(gradcheck(constant(1e-10), some, strict).passed);
  CHECK_FALSE(gradcheck(constant(1e-5), some).passed);
}

TEST_CASE("what is thrown becomes the report's problem") {
  const Function refuses = [](const std::vector<Tensor>& xs) { return matmul(xs[0], xs[0]); };
  const GradcheckReport report = gradcheck(refuses, some);
  CHECK_FALSE(report.passed);
  CHECK(says(report.problem, "the inner sizes 3 and 2 differ"));
  const Function cut_off = [](const std::vector<Tensor>& xs) { return xs[0].detach(); };
  CHECK(says(gradcheck(cut_off, some).problem, "does not depend on"));
}

TEST_CASE("large functions are checked with a random cotangent, on a sample of entries") {
  const Function f = [](const std::vector<Tensor>& xs) { return matmul(xs[0], xs[1]); };
  const std::vector<Array> large{random_normal({30, 20}, 1), random_normal({20, 40}, 2)};
  const GradcheckReport all = gradcheck(f, large, {.strict = true});
  CHECK(all.passed);
  CHECK(all.checked == 30 * 20 + 20 * 40);
  const GradcheckReport sample = gradcheck(f, large, {.strict = true, .entries = 7});
  CHECK(sample.passed);
  CHECK(sample.checked == 14);
  CHECK(gradcheck(f, large, {.entries = 7, .seed = 2}).index != sample.index);
  const Fault fault("matmul", Fault::Kind::flip_sign, 1);
  CHECK_FALSE(gradcheck(f, large, {.entries = 7}).passed);
}

TEST_CASE("a fault of an input that the op has not is said") {
  const Tensor x(array({2}, {1, 2}), true);
  const Fault fault("add", Fault::Kind::flip_sign, 7);
  CHECK_FAILS_WITH(backward({sum(x + x)}), "fault: 'add' has 2 inputs, and none is input 7");
}

TEST_CASE("nothing of a check stays on the tape") {
  REQUIRE(live_nodes() == 0);
  CHECK(gradcheck(wrong_by(1), some).passed);
  CHECK(live_nodes() == 0);
}

TEST_CASE("arrays for checks: apart from each other and from zero") {
  for (const std::size_t n : {1U, 2U, 3U, 100U}) {
    const Array x = random_distinct({n}, 0.1, n);
    for (std::size_t i = 0; i < n; ++i) {
      CHECK(std::abs(x.data()[i]) >= 0.1);
      for (std::size_t k = 0; k < i; ++k) CHECK(std::abs(x.data()[i] - x.data()[k]) >= 0.1);
    }
  }
  const Array u = random_uniform({1000}, -2, 5, 3);
  for (std::size_t i = 0; i < u.size(); ++i) CHECK((u.data()[i] >= -2 && u.data()[i] < 5));
}
