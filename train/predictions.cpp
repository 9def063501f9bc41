#include "vitruvian/train/predictions.hpp"

#include <algorithm>
#include <numeric>

namespace vitruvian {

std::span<const double> Predictions::of(std::size_t i) const {
  return std::span(probabilities).subspan(i * classes, classes);
}

std::size_t Predictions::guess(std::size_t i) const {
  const auto p = of(i);
  return static_cast<std::size_t>(std::max_element(p.begin(), p.end()) - p.begin());
}

std::vector<std::size_t> Predictions::likeliest(std::size_t i, std::size_t n) const {
  const auto p = of(i);
  std::vector<std::size_t> order(classes);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [p](std::size_t a, std::size_t b) { return p[a] > p[b]; });
  order.resize(std::min(n, classes));
  return order;
}

std::vector<std::size_t> Predictions::worst_mistakes(std::size_t n) const {
  std::vector<std::size_t> wrong;
  for (std::size_t i = 0; i < size(); ++i) {
    if (guess(i) != labels[i]) wrong.push_back(i);
  }
  std::stable_sort(wrong.begin(), wrong.end(), [this](std::size_t a, std::size_t b) {
    return of(a)[labels[a]] < of(b)[labels[b]];
  });
  wrong.resize(std::min(n, wrong.size()));
  return wrong;
}

}  // namespace vitruvian
