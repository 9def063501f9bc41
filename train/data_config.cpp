#include "vitruvian/train/data_config.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/json.hpp"
#include "vitruvian/datasets/dataset.hpp"

#include <cmath>

namespace vitruvian {
namespace {

// The numbers of an entry; none where there is no such entry.
std::vector<double> channel_values(const Metadata& metadata, const char* key, std::size_t C,
                                   const std::string& path) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) return {};
  const auto json = parse_json<SortedJson>(found->second, nullptr, false);
  std::vector<double> values;
  for (const auto& value : json.is_array() ? json : SortedJson::array()) {
    if (value.is_number()) values.push_back(value.get<double>());
  }
  if (values.size() != C || values.size() != json.size()) {
    fail(Exit::checkpoint, "{}: '{}' in its metadata is not {} numbers, one for each channel", path,
         key, C);
  }
  return values;
}

// A file's name may hold anything, and so may the metadata of a file that we did not write.
std::vector<std::string> class_values(const Metadata& metadata, const std::string& path) {
  const auto found = metadata.find("classes");
  if (found == metadata.end()) return {};
  const auto json = parse_json<SortedJson>(found->second, nullptr, false);
  std::vector<std::string> names;
  for (const auto& value : json.is_array() ? json : SortedJson::array()) {
    if (value.is_string()) names.push_back(value.get<std::string>());
  }
  if (names.empty() || names.size() != json.size()) {
    fail(Exit::checkpoint, "{}: 'classes' in its metadata is no list of names", path);
  }
  return names;
}

// Whether the edge of a picture is light: ink on paper.
bool on_paper(const Image& image) {
  std::size_t light = 0, all = 0;
  for (std::size_t y = 0; y < image.height; ++y) {
    const std::size_t step = y == 0 || y + 1 == image.height ? 1 : image.width - 1;
    for (std::size_t x = 0; x < image.width; x += std::max<std::size_t>(1, step), ++all) {
      light += image.pixels[(y * image.width + x) * image.channels] > 127 ? 1 : 0;
    }
  }
  return 2 * light > all;
}

}  // namespace

std::vector<std::string> DataConfig::class_names(std::size_t K) const {
  std::vector<std::string> names = classes.empty() ? vitruvian::class_names(dataset) : classes;
  if (names.size() != K) return {};
  for (std::string& name : names) {
    for (char& c : name) {
      if (static_cast<unsigned char>(c) < 0x20) c = ' ';
    }
  }
  return names;
}

std::string note_on_picture(const DataConfig& data, const Image& picture, const std::string& path) {
  const bool of_digits = data.dataset == "digits" || data.dataset == "mnist";
  if (!of_digits || !on_paper(picture)) return "";
  return path + " is dark on light; this model learned light digits on black: invert the picture";
}

Metadata to_metadata(const ViTConfig& config, const DataConfig& data) {
  Metadata metadata = to_metadata(data);
  metadata["config"] = config.to_json();
  return metadata;
}

Metadata to_metadata(const DataConfig& data) {
  // The format says that tensors lie as PyTorch's do: other readers ask for it.
  Metadata metadata{{"format", "pt"}};
  if (!data.dataset.empty()) metadata["dataset"] = data.dataset;
  if (!data.mean.empty()) metadata["mean"] = dump_json(SortedJson(data.mean));
  if (!data.std.empty()) metadata["std"] = dump_json(SortedJson(data.std));
  if (!data.classes.empty()) metadata["classes"] = dump_json(SortedJson(data.classes));
  return metadata;
}

DataConfig data_config_of(const Metadata& metadata, std::size_t C, const std::string& path) {
  DataConfig data{{},
                  channel_values(metadata, "mean", C, path),
                  channel_values(metadata, "std", C, path),
                  class_values(metadata, path)};
  if (const auto found = metadata.find("dataset"); found != metadata.end()) {
    data.dataset = found->second;
  }
  for (const double s : data.std) {
    if (!(s > 0 && std::isfinite(s))) {
      fail(Exit::checkpoint, "{}: 'std' in its metadata holds {}", path, s);
    }
  }
  return data;
}

void check_normalisation(const std::vector<double>& mean, const std::vector<double>& std) {
  for (const double m : mean) {
    if (!std::isfinite(m)) fail(Exit::usage, "a mean of {} is not finite", m);
  }
  for (const double s : std) {
    if (!(s > 0 && std::isfinite(s))) fail(Exit::usage, "a std of {} is not above 0", s);
  }
}

DataConfig published_normalisation(const std::string& scheme, std::size_t C) {
  if (C != 3) return {};
  if (scheme == "torchvision") return {{}, {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};
  return {{}, {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}};
}

}  // namespace vitruvian
