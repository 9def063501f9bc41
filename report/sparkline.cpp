#include "report/sparkline.hpp"

#include <algorithm>
#include <cmath>

namespace vitruvian {

void Sparkline::add(double value) {
  if (!std::isfinite(value)) return;
  sum_ += value;
  if (++count_ < each_) return;
  means_.push_back(sum_ / static_cast<double>(count_));
  sum_ = 0;
  count_ = 0;
  if (means_.size() < 64) return;
  for (std::size_t i = 0; i < 32; ++i) means_[i] = (means_[2 * i] + means_[2 * i + 1]) / 2;
  means_.resize(32);
  each_ *= 2;
}

std::string Sparkline::text(std::size_t width) const {
  std::vector<double> values = means_;
  if (count_ > 0) values.push_back(sum_ / static_cast<double>(count_));
  const std::size_t n = values.size();
  if (n == 0 || width == 0) return "";
  std::vector<double> bars;
  const std::size_t parts = std::min(n, width);
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t begin = part * n / parts;
    const std::size_t end = (part + 1) * n / parts;
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += values[i];
    bars.push_back(sum / static_cast<double>(end - begin));
  }
  // By its logarithm: a loss that falls from 2.3 to 0.2 would hide a later fall to 0.05.
  const double least = *std::max_element(bars.begin(), bars.end()) * 1e-4;
  for (double& value : bars) value = least > 0 ? std::log(std::max(value, least)) : value;
  const auto [low, high] = std::minmax_element(bars.begin(), bars.end());
  std::string text;
  for (const double value : bars) {
    const double share = *high > *low ? (value - *low) / (*high - *low) : 0;
    text += "\xE2\x96";  // U+2581 to U+2588
    text += static_cast<char>(0x81 + std::min(7, static_cast<int>(8 * share)));
  }
  return text;
}

}  // namespace vitruvian
