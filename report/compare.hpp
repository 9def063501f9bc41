#pragma once

#include "vitruvian/report/run_group.hpp"
#include "vitruvian/report/run_record.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace vitruvian {

/// Several runs beside each other: the settings that differ, then what came of them. Those that
/// differ in nothing but the seed share a column, with the mean and the standard deviation of what
/// came of them: "97.70 % +- 0.12".
struct Comparison {
  struct Row {
    std::string name;
    std::vector<std::string> values;  ///< one a column; "-" where there is none
    bool setting = false;
  };
  std::vector<std::string> runs;  ///< their names: the folders', or whole paths where those agree
  std::vector<Row> rows;
};

Comparison comparison_of(const std::vector<RunRecord>& runs);
/// The same with a column for each group.
Comparison comparison_of(const std::vector<RunGroup>& groups);

/// As a table, a column for each run; more than fit into `columns` go into further tables below.
std::string to_text(const Comparison& comparison, std::size_t columns = 80);

/// The table and the runs' curves in one HTML page, as self-contained as a report.
std::string html_comparison(const std::vector<RunRecord>& runs);

}  // namespace vitruvian
