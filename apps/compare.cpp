#include "vitruvian/report/compare.hpp"
#include "apps/commands.hpp"
#include "vitruvian/core/console.hpp"
#include "vitruvian/core/safe_file.hpp"

#include <fmt/format.h>

#include <memory>

namespace vitruvian {
namespace {

struct CompareOptions {
  std::vector<std::string> directories;
  std::string out;
};

void run(const CompareOptions& options) {
  std::vector<RunRecord> runs;
  for (const std::string& directory : options.directories) runs.push_back(read_run(directory));
  console::print("{}", console::lines(to_text(comparison_of(runs))));
  if (options.out.empty()) return;
  write_file_safely(options.out, html_comparison(runs));
  console::print("curves   {}\n", options.out);
}

}  // namespace

void add_compare(CLI::App& app, std::function<void()>& chosen) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App& command =
      *app.add_subcommand("compare", "Put runs side by side: settings that differ, and results");
  command.add_option("DIR", options->directories, "Run directories, two or more")
      ->required()
      ->expected(2, 1000)
      ->type_name("");
  command.add_option("--out", options->out, "Write the table and the curves as one HTML page")
      ->type_name("FILE");
  command.callback([options, &chosen] { chosen = [options] { run(*options); }; });
}

}  // namespace vitruvian
