#include "train/report.hpp"

#include <nlohmann/json.hpp>

namespace vitruvian {

std::string EpochReport::to_json() const {
  nlohmann::ordered_json line;
  line["epoch"] = epoch;
  line["train_loss"] = train_loss;
  line["train_accuracy"] = train_accuracy;
  line["test_loss"] = test_loss;
  line["test_accuracy"] = test_accuracy;
  line["lr"] = lr;
  line["grad_norm"] = grad_norm;
  line["images_per_second"] = images_per_second;
  line["seconds"] = seconds;
  return line.dump();
}

}  // namespace vitruvian
