#include "train/rewrite_report.hpp"

#include "core/error.hpp"
#include "train/evaluation.hpp"
#include "train/html_report.hpp"
#include "train/run_directory.hpp"
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
  const ViTConfig& model = trained.model.config;
  const std::string size = run.setting("test_size");
  Dataset test =
      load_test({.name = run.setting("dataset"),
                 .directory = options.data.empty() ? run.setting("data") : options.data,
                 .test_size = size.empty() || size.size() > 18 ||
                                      size.find_first_not_of("0123456789") != std::string::npos
                                  ? 0
                                  : std::stoul(size)});
  if (model.C != test.channels || model.H != test.height || model.W != test.width ||
      model.K != test.classes || trained.data.mean.size() != model.C) {
    fail(Exit::checkpoint, "{}: its model is not one for the images of {}", weights, test.name);
  }
  test.mean = trained.data.mean;
  test.std = trained.data.std;
  const Predictions predictions = predict_all(trained.model, test);
  const ReportExamples examples{predictions, test};
  write_report(options.directory, &examples);
  return true;
}

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
