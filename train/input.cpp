#include "vitruvian/train/input.hpp"

#include "vitruvian/core/error.hpp"

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

// One number for each channel from what the user said: none, one for all, or all.
void resolve_settings(std::vector<double>& values, const std::vector<double>& said, std::size_t C,
                      const char* what) {
  if (said.empty()) return;
  if (said.size() != 1 && said.size() != C) {
    fail(Exit::usage, "--{} has {} numbers, but the model's images have {} channels", what,
         said.size(), C);
  }
  values = said.size() == C ? said : std::vector<double>(C, said.front());
}

}  // namespace

DataConfig normalisation(const TrainedModel& trained, const std::vector<double>& mean,
                         const std::vector<double>& std, const std::string& weights,
                         const std::function<void(const std::string&)>& note) {
  const std::size_t C = trained.model.config.C;
  if (C != 1 && C != 3) {
    fail(Exit::usage, "{}: its images have {} channels; pictures have 1 or 3", weights, C);
  }
  DataConfig data = trained.data;
  resolve_settings(data.mean, mean, C, "mean");
  resolve_settings(data.std, std, C, "std");
  if (data.mean.empty() || data.std.empty()) {
    const DataConfig usual = published_normalisation(trained.scheme, C);
    if (usual.mean.empty()) {
      fail(Exit::usage, "{}: it does not say how its images were normalised: --mean and --std?",
           weights);
    }
    if (data.mean.empty()) data.mean = usual.mean;
    if (data.std.empty()) data.std = usual.std;
    note(fmt::format("normalised by mean {} and std {}, as published weights under {} names",
                     fmt::join(data.mean, " "), fmt::join(data.std, " "),
                     names_of(scheme_of(trained.scheme))));
  }
  return data;
}

Array normalised(const Image& image, const DataConfig& data) {
  const std::size_t plane = image.height * image.width;
  Array x = empty({1, image.channels, image.height, image.width});
  for (std::size_t c = 0; c < image.channels; ++c) {
    for (std::size_t i = 0; i < plane; ++i) {
      const double value = static_cast<double>(image.pixels[i * image.channels + c]) / 255;
      x.data()[c * plane + i] = static_cast<real>((value - data.mean[c]) / data.std[c]);
    }
  }
  return x;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
