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
  const RunRecord run = read_run(options.directory);
  const std::string weights = weights_file(options.directory);
  if (!std::filesystem::exists(weights)) {
    write_report(options.directory, nullptr);
    return false;
  }
  const TrainedModel trained = load_weights(weights);
  if (trained.data.mean.empty() || trained.data.std.empty()) {
    fail(Exit::checkpoint, "{}: its metadata has no 'mean' and 'std'", weights);
  }
  std::string note;  // the run has said it
  const Loader test =
      test_data({.name = run.setting("dataset"),
                 .directory = options.data.empty() ? run.setting("data") : options.data,
                 .seed = data_seed,
                 .test_size = run.count("test_size"),
                 .skip_bad = run.setting("skip_bad") == "true"},
                trained.model.config, trained.data, note);
  const Predictions predictions = predict_all(trained.model, test);
  const ReportExamples examples{predictions, test};
  write_report(options.directory, &examples,
               report_figures(trained.model, test, options.directory));
  return true;
}

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
