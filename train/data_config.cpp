#include "vitruvian/train/data_config.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/json.hpp"
#include "vitruvian/datasets/dataset.hpp"
#include "vitruvian/vit/fields.hpp"

#include <cmath>
#include <optional>

namespace vitruvian {
namespace {

// The list of an entry, of n values where that is said; none where there is no such entry. A file's
// name may hold anything, and so may the metadata of a file that we did not write.
template <class T>
std::vector<T> list_of(const Metadata& metadata, const char* key, std::optional<std::size_t> n,
                       const std::string& path, const std::string& expected) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) return {};
  const auto json = parse_json<SortedJson>(found->second, nullptr, false);
  std::vector<T> values;
  bool fits = json.is_array() && (n ? json.size() == *n : !json.empty());
  for (const auto& value : fits ? json : SortedJson::array()) {
    fits = take_value(value, values.emplace_back()).empty() && fits;
  }
  if (!fits) fail(Exit::checkpoint, "{}: '{}' in its metadata is {}", path, key, expected);
  return values;
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
  const std::vector<std::string> names =
      classes.empty() ? vitruvian::class_names(dataset) : classes;
  return names.size() == K ? names : std::vector<std::string>{};
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
  const std::string numbers = fmt::format("not {} numbers, one for each channel", C);
  DataConfig data{{},
                  list_of<double>(metadata, "mean", C, path, numbers),
                  list_of<double>(metadata, "std", C, path, numbers),
                  list_of<std::string>(metadata, "classes", {}, path, "no list of names")};
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
    if (!(s > 0 && std::isfinite(s)))
      fail(Exit::usage, "a std of {} is not a finite number above 0", s);
  }
}

DataConfig published_normalisation(const std::string& scheme, std::size_t C) {
  if (C != 3) return {};
  if (scheme == "torchvision") return {{}, {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};
  return {{}, {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}};
}

}  // namespace vitruvian
