#include "vitruvian/report/report.hpp"
#include "apps/commands.hpp"
#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/safe_file.hpp"
#include "vitruvian/report/compare.hpp"
#include "vitruvian/report/run_record.hpp"

#include <fmt/format.h>

namespace vitruvian {
namespace {

struct CompareOptions {
  std::vector<std::string> directories;
  std::string out;
};

void run_compare(const CompareOptions& options) {
  std::vector<RunRecord> runs;
  for (const std::string& directory : options.directories) runs.push_back(read_run(directory));
  console::print("{}", console::lines(to_text(comparison_of(runs))));
  if (options.out.empty()) return;
  write_file_safely(options.out, html_comparison(runs));
  console::print("curves   {}\n", options.out);
}

void run_report(const ReportOptions& options) {
  if (read_run(options.directory).setting("precision") == "double")
    in_precision(Precision::float64);
  const bool whole = rewrite_report(options);
  console::print("report   {}/report.html{}\n", options.directory,
                 whole ? "" : " (no model.safetensors yet: without images)");
}

}  // namespace

void add_report(CLI::App& app, std::function<void()>& chosen) {
  auto [command, options] = add_command<ReportOptions>(
      app, chosen, "report", "Write a run directory's report.html again, of an unfinished run too",
      run_report);
  command.add_option("DIR", options.directory, "The run directory")->required()->type_name("");
  command
      .add_option("--data", options.data,
                  "The folder with the data set's files, if it is not where it was")
      ->type_name("DIR");
  add_threads(command);
}

void add_compare(CLI::App& app, std::function<void()>& chosen) {
  auto [command, options] = add_command<CompareOptions>(
      app, chosen, "compare", "Put runs side by side: settings that differ, and results",
      run_compare);
  command.add_option("DIR", options.directories, "Run directories, two or more")
      ->required()
      ->expected(2, 1000)
      ->type_name("");
  command.add_option("--out", options.out, "Write the table and the curves as one HTML page")
      ->type_name("FILE");
}

}  // namespace vitruvian
