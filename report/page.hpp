#pragma once

#include "vitruvian/charts/chart.hpp"
#include "vitruvian/charts/svg.hpp"  // html_escaped, data_uri
#include "vitruvian/datasets/loader.hpp"
#include "vitruvian/report/figure.hpp"
#include "vitruvian/report/run_group.hpp"
#include "vitruvian/report/run_record.hpp"
#include "vitruvian/train/report.hpp"

#include <string>
#include <string_view>
#include <vector>

// Pages that stand alone, and their parts: one file, no scripts, nothing from a network. They are
// well-formed XML too, so that any parser reads them.

namespace vitruvian {

/// <data value="0.98765">98.77 %</data>: what is shown is rounded, what a program reads is not.
/// NaN is a dash.
std::string html_number(double value, int decimals);
std::string html_percent(double share);

/// <section><h2>title</h2>content</section>, or nothing without content; `content` is HTML, the
/// title is text.
std::string html_section(std::string_view title, std::string_view content);

/// A whole page around `body`, which is HTML; the title is text. Light or dark as the reader's
/// system is set.
std::string html_page(std::string_view title, std::string_view body);

/// What a run recorded over its epochs: loss, accuracy, learning rate, norm of the gradient. Before
/// the first epoch has ended, over its steps. Charts of which nothing was recorded are empty.
std::vector<Chart> charts_of(const RunRecord& run);
/// The same of several runs, one line each, one chart a quantity; of runs that differ in nothing
/// but the seed, their mean over the epochs that all have, with a band of one standard deviation.
std::vector<Chart> charts_of(const std::vector<RunGroup>& groups);

/// The charts side by side, as HTML; empty ones are left out.
std::string html_charts(const std::vector<Chart>& charts);

/// What a report tells of a model besides the curves.
struct ReportExamples {
  const Predictions& predictions;  ///< of all of these
  const Loader& images;
};

/// The report of a run as one HTML page: curves, confusion matrix, the worst mistakes with their
/// pictures and probabilities, samples, figures, epochs and settings. `examples` may be null, and
/// the run unfinished. Some 3 MB at most, whatever the run.
std::string html_report(const RunRecord& run, const ReportExamples* examples,
                        const std::vector<Figure>& figures = {});

/// Reads a run directory and writes its report.html. Throws as read_run and write_file_safely do.
void write_report(const std::string& directory, const ReportExamples* examples,
                  const std::vector<Figure>& figures = {});

}  // namespace vitruvian
