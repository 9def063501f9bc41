#include "vitruvian/report/report.hpp"
#include "apps/commands.hpp"
#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/safe_file.hpp"
#include "vitruvian/report/compare.hpp"
#include "vitruvian/report/run_record.hpp"
#include "vitruvian/train/run/run_directory.hpp"

#include <string>
#include <utility>
#include <vector>

namespace vitruvian {
namespace {

struct ReportFlags {
  ReportOptions options;
  std::string csv;
};

struct CompareOptions {
  std::vector<std::string> directories;
  std::string out;
};

void run_compare(const CompareOptions& options) {
  std::vector<RunRecord> runs;
  for (const std::string& directory : options.directories) {
    for (RunRecord& run : read_runs(directory)) runs.push_back(std::move(run));
  }
  if (runs.size() < 2) {
    fail(Exit::usage, "compare needs two runs or more, and {} is one", options.directories[0]);
  }
  console::print("{}", console::lines(to_text(comparison_of(runs))));
  if (options.out.empty()) return;
  check_no_file_of_run(options.out);
  make_folder_of(options.out);
  write_file_safely(options.out, html_comparison(runs));
  console::print("curves   {}\n", options.out);
}

void run_report(const ReportFlags& flags) {
  const ReportOptions& options = flags.options;
  if (!flags.csv.empty()) {
    const std::string to = flags.csv == "-" ? "/dev/stdout" : flags.csv;
    const std::string table = metrics_csv(options.directory);
    check_no_file_of_run(to);
    make_folder_of(to);
    write_file_safely(to, table);
    if (!is_standard_output(to)) console::print("metrics  {}\n", to);
    return;
  }
  if (read_run(options.directory).setting("precision") == "double")
    in_precision(Precision::float64);
  const bool whole = rewrite_report(options, note);
  console::print("report   {}/report.html{}\n", options.directory,
                 whole ? "" : " (no model.safetensors yet: without images)");
}

}  // namespace

void add_report(const Parser& app, std::function<void()>& chosen) {
  auto [command, flags] = add_command<ReportFlags>(
      app, chosen, "report", "Write a run directory's report.html again, of an unfinished run too",
      run_report);
  ReportOptions& options = flags.options;
  command.add_value("DIR", "", options.directory, "The run directory").required();
  command.add_value("--data", "DIR", options.data,
                    "The folder with the data set's files, if it is not where it was");
  command.add_value(
      "--csv", "FILE", flags.csv,
      "Write metrics.jsonl as a table for a spreadsheet or pandas instead: a row for\n"
      "each step, epoch and test (column kind); - for a pipe");
  add_threads(command);
}

void add_compare(const Parser& app, std::function<void()>& chosen) {
  auto [command, options] = add_command<CompareOptions>(
      app, chosen, "compare",
      "Put runs side by side: settings that differ, and results; those that differ in nothing\n"
      "but the seed as their mean",
      run_compare);
  command
      .add_value("DIR", "", options.directories,
                 "Run directories, two or more, or folders of them as train --seeds makes them")
      .required()
      .several();
  command.add_value("--out", "FILE", options.out,
                    "Write the table and the curves as one HTML page");
}

}  // namespace vitruvian
