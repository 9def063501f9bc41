#include "vitruvian/core/error.hpp"
#include "vitruvian/train/predict.hpp"

#include <nlohmann/json.hpp>

#include <cmath>

namespace vitruvian {

void PredictOptions::validate() const {
  if (images.empty()) fail(Exit::usage, "which pictures?");
  if (top == 0) fail(Exit::usage, "top must be at least 1");
  if (max_pixels == 0) fail(Exit::usage, "max-pixels must be at least 1");
  for (const double m : mean) {
    if (!std::isfinite(m)) fail(Exit::usage, "a mean of {} is not finite", m);
  }
  for (const double s : std) {
    if (!(s > 0 && std::isfinite(s))) fail(Exit::usage, "a std of {} is not above 0", s);
  }
}

std::string Prediction::to_json() const {
  nlohmann::ordered_json json;
  json["image"] = image;
  if (!error.empty()) {
    json["error"] = error;
  } else {
    auto& list = json["predictions"] = nlohmann::ordered_json::array();
    for (const Guess& guess : guesses) {
      nlohmann::ordered_json entry;
      entry["class"] = guess.index;
      if (!guess.name.empty()) entry["name"] = guess.name;
      entry["probability"] = guess.probability;
      list.push_back(std::move(entry));
    }
  }
  // A path need not be UTF-8.
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace vitruvian
