#include "vitruvian/train/report.hpp"

#include <nlohmann/json.hpp>

namespace vitruvian {

using Json = nlohmann::ordered_json;

std::string StepReport::to_json() const {
  Json line;
  line["kind"] = "step";
  line["step"] = step;
  line["epoch"] = epoch;
  line["loss"] = loss;
  line["lr"] = lr;
  line["grad_norm"] = grad_norm;
  return line.dump();
}

std::string EpochReport::to_json() const {
  Json line;
  line["kind"] = "epoch";
  line["epoch"] = epoch;
  line["step"] = step;
  line["train_loss"] = train_loss;
  line["train_accuracy"] = train_accuracy;
  line[validation ? "val_loss" : "test_loss"] = test_loss;
  line[validation ? "val_accuracy" : "test_accuracy"] = test_accuracy;
  line["lr"] = lr;
  line["grad_norm"] = grad_norm;
  return line.dump();
}

std::string EpochReport::timing_to_json() const {
  Json line;
  line["epoch"] = epoch;
  line["seconds"] = seconds;
  line["images_per_second"] = images_per_second;
  return line.dump();
}

std::string TestReport::to_json() const {
  Json line;
  line["kind"] = "test";
  line["epoch"] = epoch;
  line["test_loss"] = loss;
  line["test_accuracy"] = accuracy;
  return line.dump();
}

}  // namespace vitruvian
