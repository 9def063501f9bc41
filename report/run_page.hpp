#pragma once

#include "datasets/loader.hpp"
#include "report/run_record.hpp"
#include "train/predictions.hpp"

#include <string>
#include <vector>

namespace vitruvian {

/// A picture that others add to a report: of attention, of positions.
struct ReportFigure {
  std::string title, caption;
  std::string png{};  ///< the bytes of a PNG file, or
  std::string svg{};  ///< a whole SVG document
};

/// What a report tells of a model besides the curves.
struct ReportExamples {
  const Predictions& predictions;  ///< of all of these
  const Loader& images;
};

/// The report of a run as one HTML page that needs no network and has no scripts: curves, confusion
/// matrix, the worst mistakes with their pictures and probabilities, samples, figures, epochs and
/// settings. `examples` may be null, and the run unfinished. Some 3 MB at most, whatever the run.
std::string html_report(const RunRecord& run, const ReportExamples* examples,
                        const std::vector<ReportFigure>& figures = {});

/// Reads a run directory and writes its report.html. Throws as read_run and write_file_safely do.
void write_report(const std::string& directory, const ReportExamples* examples,
                  const std::vector<ReportFigure>& figures = {});

}  // namespace vitruvian
