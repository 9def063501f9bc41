#include "train/trained_on.hpp"

#include "core/error.hpp"

#include <nlohmann/json.hpp>

#include <cmath>

namespace vitruvian {
namespace {

const std::string& entry(const Metadata& metadata, const char* key, const std::string& path) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) {
    fail(Exit::checkpoint,
         "{}: its metadata has no '{}'; weights made by 'vitruvian train' have one", path, key);
  }
  return found->second;
}

std::vector<double> channel_values(const Metadata& metadata, const char* key, std::size_t C,
                                   const std::string& path) {
  const auto json = nlohmann::json::parse(entry(metadata, key, path), nullptr, false);
  std::vector<double> values;
  for (const auto& value : json.is_array() ? json : nlohmann::json::array()) {
    if (value.is_number()) values.push_back(value.get<double>());
  }
  if (values.size() != C || values.size() != json.size()) {
    fail(Exit::checkpoint, "{}: '{}' in its metadata is not {} numbers, one for each channel", path,
         key, C);
  }
  return values;
}

ViTConfig config_of(const std::string& json, const std::string& path) {
  try {
    return ViTConfig::from_json(json);
  } catch (const Error& error) {
    fail(Exit::checkpoint, "{}: {}", path, error.what());
  }
}

}  // namespace

Metadata to_metadata(const Provenance& provenance) {
  return {{"format", "pt"},  // the layout of PyTorch's tensors: what other readers ask for
          {"config", provenance.config.to_json()},
          {"dataset", provenance.data.dataset},
          {"mean", nlohmann::json(provenance.data.mean).dump()},
          {"std", nlohmann::json(provenance.data.std).dump()}};
}

Provenance from_metadata(const Metadata& metadata, const std::string& path) {
  const ViTConfig config = config_of(entry(metadata, "config", path), path);
  TrainedOn data{entry(metadata, "dataset", path), channel_values(metadata, "mean", config.C, path),
                 channel_values(metadata, "std", config.C, path)};
  for (const double s : data.std) {
    if (!(s > 0 && std::isfinite(s))) {
      fail(Exit::checkpoint, "{}: 'std' in its metadata holds {}", path, s);
    }
  }
  return {config, std::move(data)};
}

}  // namespace vitruvian
