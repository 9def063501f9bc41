#include "train/rewrite_report.hpp"

#include "core/error.hpp"
#include "train/html_report.hpp"
#include "train/report_figures.hpp"
#include "train/run_directory.hpp"
#include "train/score.hpp"
#include "train/training_data.hpp"
#include "train/weights.hpp"

#include <filesystem>

namespace vitruvian::inline VITRUVIAN_PRECISION {

bool rewrite_report(const ReportOptions& options) {
  const auto weights = (std::filesystem::path(options.directory) / "model.safetensors").string();
  if (!std::filesystem::exists(weights)) {
    write_report(options.directory, nullptr);
    return false;
  }
  const TrainedModel trained = load_weights(weights);
  if (trained.data.mean.empty() || trained.data.std.empty()) {
    fail(Exit::checkpoint, "{}: its metadata has no 'mean' and 'std'", weights);
  }
  std::string note;  // the run has said it
  TestImagesSaid said;
  said.data = options.data;
  const Loader test = test_data(said, options.directory, trained.model.config, trained.data, note);
  const Predictions predictions = predict_all(trained.model, test);
  const ReportExamples examples{predictions, test};
  write_report(options.directory, &examples,
               report_figures(trained.model, test, options.directory));
  return true;
}

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
