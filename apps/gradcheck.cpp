// gradcheck: every derivative of the project against differences, one line for each row of the
// table, and then one for each parameter of a whole ViT.

#include "vitruvian/core/check/gradcheck.hpp"
#include "apps/command_line.hpp"
#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/vit/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace vitruvian;

constexpr std::size_t label_width = 42;  // so that a row fits into 100 columns, or a few more

struct Options {
  GradcheckOptions check;
  std::string op;
};

// What is checked: an op at one shape, or a parameter of the ViT.
struct Row {
  std::string op;
  std::string label;
  std::function<GradcheckReport(const GradcheckOptions&)> check;
};

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (const GradcheckCase& c : gradcheck_cases()) {
    rows.push_back({c.op, c.label, [c](const GradcheckOptions& options) {
                      return gradcheck(c.f, c.inputs, options);
                    }});
  }
  // Every parameter of a small ViT: d(logits)/d(parameter).
  const auto model = std::make_shared<VisionTransformer>(tiny_vit_of_order_one(Rng(1)));
  const Tensor images(random_normal({2, model->config.C, model->config.H, model->config.W}, 2));
  for (const NamedParameter& p : named_parameters(*model)) {
    rows.push_back({"vit", fmt::format("{} {}", p.name, to_string(p.tensor.shape())),
                    [model, images, tensor = p.tensor](const GradcheckOptions& options) {
                      return gradcheck([&] { return (*model)(images); }, {tensor}, options);
                    }});
  }
  return rows;
}

// All rows, or those of one op.
std::vector<Row> chosen(const std::string& op) {
  std::vector<Row> all = all_rows();
  if (op.empty()) return all;
  std::vector<Row> rows;
  std::set<std::string> names;
  for (Row& row : all) {
    names.insert(row.op);
    if (row.op == op) rows.push_back(std::move(row));
  }
  if (!rows.empty()) return rows;
  fail(Exit::usage, "--op: there is no op '{}'; {}", op,
       did_you_mean(op, {names.begin(), names.end()}));
}

void print_row(const Row& row, std::size_t op_width, const GradcheckReport& report, bool colour) {
  std::string label = row.label;
  if (label.size() > label_width) label = label.substr(0, label_width - 3) + "...";
  const std::string verdict = report.passed ? "ok" : "FAIL";
  const char* const paint = !colour ? "" : report.passed ? "\033[32m" : "\033[31m";
  console::print("{:<{}} {:<{}} {:>5} {:>10.4g} {:>10.4g} {:>7.1e} {}{}{}\n", row.op, op_width,
                 label, label_width, report.checked, report.analytic, report.numeric, report.error,
                 console::raw(paint), verdict, console::raw(colour ? "\033[0m" : ""));
  if (!report.problem.empty()) console::print("    {}\n", report.problem);
}

void run(const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  const std::vector<Row> rows = chosen(options.op);
  const bool colour = console::terminal_of(stdout).colour;
  std::size_t op_width = 14;
  for (const Row& row : rows) op_width = std::max(op_width, row.op.size());
  console::print("{:<{}} {:<{}} {:>5} {:>10} {:>10} {:>7}\n", "op", op_width, "inputs", label_width,
                 "count", "analytic", "numeric", "error");
  std::size_t failed = 0;
  std::size_t entries = 0;
  double worst = 0;
  for (const Row& row : rows) {
    const GradcheckReport report = row.check(options.check);
    print_row(row, op_width, report, colour);
    failed += report.passed ? 0 : 1;
    entries += report.checked;
    if (!std::isnan(worst) && !(report.error <= worst)) worst = report.error;
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  console::print("{}, {} entries, worst error {:.1e}, {} failed, {:.1f} s\n",
                 counted(rows.size(), "row"), entries, worst, failed, seconds.count());
  if (failed > 0) fail("{} of {} failed", failed, counted(rows.size(), "row"));
}

int run(int argc, char** argv) {
  Options options;
  const Parser app(
      "Checks the derivative of every op against differences, in float64. A row shows how many\n"
      "derivatives were compared, and the one with the largest error:\n"
      "  |a - n| / max(|a|, |n|, 1e-3 max|g|).",
      "gradcheck");
  app.add_flag("--strict", options.check.strict,
               "Four-point differences, error at most 1e-8 (without: two points, 1e-6)");
  app.add_value("--op", "NAME", options.op, "Only the rows of this op; vit is the whole model");
  app.add_count("--seed", options.check.seed,
                "Of the random cotangents that stand for Jacobians too large to compare whole",
                largest_seed);
  run_command_line(app, argc, argv, [&] { run(options); });
  return static_cast<int>(Exit::ok);
}

}  // namespace

int main(int argc, char** argv) {
  return console::run("gradcheck", [&] { return run(argc, argv); });
}
