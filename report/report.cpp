#include "vitruvian/report/report.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/report/draw.hpp"
#include "vitruvian/report/page.hpp"
#include "vitruvian/train/run/run_directory.hpp"
#include "vitruvian/train/step.hpp"
#include "vitruvian/train/training_data.hpp"
#include "vitruvian/train/weights.hpp"

#include <filesystem>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

// Of the inside of a model.
std::vector<Figure> figures_of(const VisionTransformer& model, const Loader& images,
                               const std::string& directory) {
  constexpr std::size_t enough = 8;
  const InspectObserver nobody;
  FigureList list{nobody};
  draw_weights(model, list);
  const Samples samples = samples_of(images, enough, model.config);
  draw_attention(model, samples, {}, list);
  draw_explanations(model, samples, {}, list);
  draw_layers(model, samples, list);
  const std::size_t epochs = checkpoints_of(directory, 1).size();
  if (epochs > 1 && learns_position_table(model.config)) {
    constexpr std::size_t most = 12;
    draw_strip(checkpoints_of(directory, (epochs + most - 1) / most), {}, list);
  }
  return list.figures;
}

}  // namespace

void write_report(const Outcome& outcome) {
  if (outcome.directory.empty()) return;
  const ReportExamples examples{outcome.predictions, outcome.test};
  std::vector<Figure> figures;  // of the inside of a ViT
  if (const VisionTransformer* const vit = outcome.learner.vit) {
    figures = figures_of(*vit, outcome.test, outcome.directory);
  }
  vitruvian::write_report(outcome.directory, &examples, figures);
}

bool rewrite_report(const ReportOptions& options,
                    const std::function<void(const std::string&)>& note) {
  const auto weights = (std::filesystem::path(options.directory) / "model.safetensors").string();
  if (!std::filesystem::exists(weights)) {
    vitruvian::write_report(options.directory, nullptr);
    return false;
  }
  settings_of_run(options.directory);  // refuses the run of a program's own model
  const TrainedModel trained = load_weights(weights);
  if (trained.data.mean.empty() || trained.data.std.empty()) {
    fail(Exit::checkpoint, "{}: its metadata has no 'mean' and 'std'", weights);
  }
  std::string known;
  TestImageOptions said;
  said.data = options.data;
  const Loader test = test_data(said, options.directory, trained.model.config, trained.data, known);
  if (note && !known.empty()) note(known);
  const bool classifies = trained.model.config.head != Head::none;
  const Predictions predictions = classifies ? predict_all(trained.model, test) : Predictions{};
  write_report({trained.model, test, predictions, options.directory});
  return true;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
