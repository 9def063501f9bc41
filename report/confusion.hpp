#pragma once

#include "vitruvian/train/report.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace vitruvian {

/// The confusion matrix: how often an image of one class was taken for one of another.
struct Confusion {
  std::size_t classes = 0;          ///< K
  std::vector<std::size_t> counts;  ///< (K, K): a row is the true class, a column the guess

  struct Pair {
    std::size_t truth = 0, guess = 0, count = 0;
  };

  [[nodiscard]] std::size_t at(std::size_t truth, std::size_t guess) const {
    return counts[truth * classes + guess];
  }
  [[nodiscard]] std::size_t images_of(std::size_t truth) const;
  /// The share of a class's images that was classified rightly; NaN for a class without images.
  [[nodiscard]] double accuracy_of(std::size_t truth) const;
  /// At most `n` pairs of different classes, the most frequent first; none that never occurred.
  [[nodiscard]] std::vector<Pair> worst_pairs(std::size_t n) const;
  /// At most `n` classes that have images, the lowest accuracy first.
  [[nodiscard]] std::vector<std::size_t> weakest(std::size_t n) const;
};

Confusion confusion_of(const Predictions& predictions);

/// A matrix of more classes is shown by its worst pairs and weakest classes.
inline constexpr std::size_t most_classes_shown = 20;

/// The matrix as text, with each class's accuracy beside its row. Where it has more than
/// `most_classes_shown` classes or does not fit into `columns`: the ten most confused pairs and the
/// ten weakest classes. `names` may be empty; `styled` adds a terminal's bold and dim.
std::string to_text(const Confusion& confusion, const std::vector<std::string>& names,
                    std::size_t columns = 80, bool styled = false);

/// {"dataset":...,"images":n,"loss":...,"accuracy":...,"classes":[{"name":...,"images":n,
/// "accuracy":...}],"confusion":[[...]]}: a row of the matrix is a true class.
std::string to_json(const Evaluation& evaluation);

/// The name of class k, made visible; its number where there are no names.
std::string class_name(const std::vector<std::string>& names, std::size_t k);

}  // namespace vitruvian
