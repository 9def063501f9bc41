#pragma once

#include "vitruvian/datasets/loader.hpp"
#include "vitruvian/report/figure.hpp"
#include "vitruvian/report/run_record.hpp"
#include "vitruvian/train/report.hpp"

#include <string>
#include <vector>

namespace vitruvian {

/// What a report tells of a model besides the curves.
struct ReportExamples {
  const Predictions& predictions;  ///< of all of these
  const Loader& images;
};

/// The report of a run as one HTML page that needs no network and has no scripts: curves, confusion
/// matrix, the worst mistakes with their pictures and probabilities, samples, figures, epochs and
/// settings. `examples` may be null, and the run unfinished. Some 3 MB at most, whatever the run.
std::string html_report(const RunRecord& run, const ReportExamples* examples,
                        const std::vector<Figure>& figures = {});

/// Reads a run directory and writes its report.html. Throws as read_run and write_file_safely do.
void write_report(const std::string& directory, const ReportExamples* examples,
                  const std::vector<Figure>& figures = {});

}  // namespace vitruvian
