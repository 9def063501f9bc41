#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/json.hpp"
#include "vitruvian/datasets/dataset.hpp"
#include "vitruvian/train/data_config.hpp"
#include "vitruvian/train/few_shot.hpp"
#include "vitruvian/train/seeds.hpp"

namespace vitruvian {

void FewShotOptions::validate() const {
  check_dataset_name(dataset);
  check_data_given(dataset, data);
  check_normalisation(mean, std);
  if (shots.empty() || seeds.empty()) fail(Exit::usage, "--shots and --seeds need a number each");
  for (const std::size_t n : shots) {
    if (n == 0) fail(Exit::usage, "--shots 0: a class is learned from one image at least");
  }
  if (!(ridge > 0 && ridge <= 1e12)) {
    fail(Exit::usage, "--ridge {}: expected a number above 0 and at most 1e12", ridge);
  }
}

std::string FewShotResult::to_json() const {
  Json json{{"dataset", dataset},
            {"classes", classes},
            {"features", features},
            {"test_images", test_images}};
  auto& list = json["shots"] = Json::array();
  for (const Row& row : rows) {
    const Spread spread = spread_of(row.accuracies);
    // Of one draw there is no deviation: NaN becomes null.
    list.push_back({{"shots", row.shots},
                    {"mean", spread.mean},
                    {"deviation", spread.deviation},
                    {"accuracies", row.accuracies}});
  }
  return dump_json(json);
}

}  // namespace vitruvian
