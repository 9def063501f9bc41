#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace vitruvian {

/// A series of any length as a few characters of text, one eighth to eight eighths high, from the
/// least to the greatest mean of neighbours. What is no number is left out. It keeps at most 64
/// numbers: when there are more, two neighbours become their mean.
class Sparkline {
 public:
  void add(double value);
  [[nodiscard]] bool empty() const { return means_.empty() && count_ == 0; }
  /// At most `width` characters (in UTF-8, three bytes each).
  [[nodiscard]] std::string text(std::size_t width) const;

 private:
  std::vector<double> means_;  // of `each_` values
  std::size_t each_ = 1;
  double sum_ = 0;  // of the `count_` latest values, fewer than `each_`
  std::size_t count_ = 0;
};

}  // namespace vitruvian
