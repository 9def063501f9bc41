#include "train/report.hpp"

#include "train/confusion.hpp"

#include <nlohmann/json.hpp>

#include <utility>

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

std::string Evaluation::to_json() const {
  const Confusion confusion = confusion_of(predictions);
  Json line;
  line["dataset"] = dataset;
  line["images"] = predictions.size();
  line["loss"] = loss;
  line["accuracy"] = accuracy;
  line["classes"] = Json::array();
  line["confusion"] = Json::array();
  for (std::size_t k = 0; k < confusion.classes; ++k) {
    const std::size_t images = confusion.images_of(k);
    const Json accuracy_of = images == 0 ? Json() : Json(confusion.accuracy_of(k));
    line["classes"].push_back(
        {{"name", class_name(class_names, k)}, {"images", images}, {"accuracy", accuracy_of}});
    Json row = Json::array();
    for (std::size_t guess = 0; guess < confusion.classes; ++guess) {
      row.push_back(confusion.at(k, guess));
    }
    line["confusion"].push_back(std::move(row));
  }
  // A folder's name need not be UTF-8.
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace vitruvian
