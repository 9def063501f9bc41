#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace vitruvian {

/// What a model says of n labelled images: the probabilities of K classes for each.
struct Predictions {
  std::size_t classes = 0;            ///< K
  std::vector<std::size_t> labels;    ///< (n), each below K
  std::vector<double> probabilities;  ///< (n, K)

  [[nodiscard]] std::size_t size() const { return labels.size(); }
  /// The K probabilities of image i.
  [[nodiscard]] std::span<const double> of(std::size_t i) const;
  /// The likeliest class of image i; of equal ones the first.
  [[nodiscard]] std::size_t guess(std::size_t i) const;
  /// The `n` likeliest classes of image i, the likeliest first; equal ones in their order.
  [[nodiscard]] std::vector<std::size_t> likeliest(std::size_t i, std::size_t n) const;
  /// The `n` images that were classified wrongly with the least probability for the right class:
  /// those that cost the most. Equal ones in their order.
  [[nodiscard]] std::vector<std::size_t> worst_mistakes(std::size_t n) const;
};

}  // namespace vitruvian
