#pragma once

#include "vitruvian/charts/chart.hpp"
#include "vitruvian/report/run_record.hpp"

#include <string>
#include <vector>

namespace vitruvian {

/// What a run recorded over its epochs: loss, accuracy, learning rate, norm of the gradient. Before
/// the first epoch has ended, over its steps. Charts of which nothing was recorded are empty.
std::vector<Chart> charts_of(const RunRecord& run);
/// The same of several runs, one line each, one chart a quantity.
std::vector<Chart> charts_of(const std::vector<RunRecord>& runs);

/// The charts side by side, as HTML; empty ones are left out.
std::string html_charts(const std::vector<Chart>& charts);

}  // namespace vitruvian
