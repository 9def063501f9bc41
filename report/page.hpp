#pragma once

#include "vitruvian/charts/chart.hpp"
#include "vitruvian/charts/svg.hpp"  // html_escaped, data_uri
#include "vitruvian/report/run_record.hpp"

#include <string>
#include <string_view>
#include <vector>

// The parts of a page that stands alone: one file, no scripts, nothing from a network. Pages are
// well-formed XML too, so that any parser reads them.

namespace vitruvian {

/// <data value="0.98765">98.77 %</data>: what is shown is rounded, what a program reads is not.
/// NaN is a dash.
std::string html_number(double value, int decimals);
std::string html_percent(double share);

/// <section><h2>title</h2>content</section>; `content` is HTML, the title is text.
std::string html_section(std::string_view title, std::string_view content);

/// A whole page around `body`, which is HTML; the title is text. Light or dark as the reader's
/// system is set.
std::string html_page(std::string_view title, std::string_view body);

/// What a run recorded over its epochs: loss, accuracy, learning rate, norm of the gradient. Before
/// the first epoch has ended, over its steps. Charts of which nothing was recorded are empty.
std::vector<Chart> charts_of(const RunRecord& run);
/// The same of several runs, one line each, one chart a quantity.
std::vector<Chart> charts_of(const std::vector<RunRecord>& runs);

/// The charts side by side, as HTML; empty ones are left out.
std::string html_charts(const std::vector<Chart>& charts);

}  // namespace vitruvian
