#include "vitruvian/core/base/byte_source.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/json.hpp"
#include "vitruvian/datasets/formats/folder.hpp"
#include "vitruvian/train/data_config.hpp"
#include "vitruvian/train/predict.hpp"

#include <filesystem>
#include <sstream>
#include <system_error>

namespace vitruvian {

void PredictOptions::validate() const {
  if (images.empty()) fail(Exit::usage, "which pictures?");
  if (top == 0) fail(Exit::usage, "--top must be at least 1");
  if (max_pixels == 0) fail(Exit::usage, "--max-pixels must be at least 1");
  check_normalisation(mean, std);
}

std::string Prediction::to_json() const {
  Json json;
  json["image"] = image;
  if (!error.empty()) {
    json["error"] = error;
  } else {
    auto& list = json["predictions"] = Json::array();
    for (const Guess& guess : guesses) {
      Json entry;
      entry["class"] = guess.index;
      if (!guess.name.empty()) entry["name"] = guess.name;
      entry["probability"] = guess.probability;
      list.push_back(std::move(entry));
    }
  }
  // A path need not be UTF-8.
  return dump_json(json);
}

std::string numbers_to_json(const std::string& image, const std::string& what,
                            const std::vector<double>& numbers) {
  const Json json{{"image", image}, {what, numbers}};
  return dump_json(json);
}

std::vector<std::string> pictures_of(const std::vector<std::string>& paths) {
  std::vector<std::string> pictures;
  for (const std::string& path : paths) {
    std::error_code unknown;  // what is none will not be read either
    if (!std::filesystem::is_directory(path, unknown)) {
      pictures.push_back(path);
      continue;
    }
    const std::vector<std::string> below = files_below(path);
    if (below.empty()) fail(Exit::data, "{}: there are no pictures in it", path);
    pictures.insert(pictures.end(), below.begin(), below.end());
  }
  return pictures;
}

std::vector<std::string> read_labels(const std::string& path, std::size_t K) {
  constexpr std::uint64_t largest = 16U << 20U;
  std::vector<std::string> names;
  std::istringstream lines(RegularFile(path, Exit::data).text(largest, "a list of names"));
  for (std::string line; std::getline(lines, line);) {
    // Windows' editors begin a file so.
    if (names.empty() && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
    if (!line.empty() && line.back() == '\r') line.pop_back();
    for (char& c : line) {
      if (static_cast<unsigned char>(c) < 0x20) c = ' ';
    }
    names.push_back(line);
  }
  while (!names.empty() && names.back().empty()) names.pop_back();
  if (names.size() != K) {
    fail(Exit::data, "{}: {}, but the model has {}", path, counted(names.size(), "line"),
         counted(K, "class"));
  }
  return names;
}

}  // namespace vitruvian
