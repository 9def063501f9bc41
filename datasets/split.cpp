#include "vitruvian/datasets/split.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/rng.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace vitruvian {

Parts split_validation(std::span<const std::size_t> labels, double fraction, std::uint64_t seed) {
  if (!(fraction > 0 && fraction < 1)) {
    fail(Exit::usage, "a validation share of {} is not between 0 and 1", fraction);
  }
  std::map<std::size_t, std::vector<std::size_t>> members;
  for (std::size_t i = 0; i < labels.size(); ++i) members[labels[i]].push_back(i);

  // Each class gives the whole part of its share; those that lose most by that give one more.
  const auto wanted =
      static_cast<std::size_t>(std::llround(fraction * static_cast<double>(labels.size())));
  std::map<std::size_t, std::size_t> taken;
  std::vector<std::pair<double, std::size_t>> losses;
  std::size_t total = 0;
  for (const auto& [label, numbers] : members) {
    const double share = fraction * static_cast<double>(numbers.size());
    taken[label] = static_cast<std::size_t>(share);
    total += taken[label];
    losses.emplace_back(std::floor(share) - share, label);
  }
  std::sort(losses.begin(), losses.end());
  for (std::size_t k = 0; total < wanted && k < losses.size(); ++k, ++total) {
    ++taken[losses[k].second];
  }

  std::vector<bool> chosen(labels.size());
  for (const auto& [label, numbers] : members) {
    const auto order = Rng(seed).fork("validation", {label}).permutation(numbers.size());
    for (std::size_t k = 0; k < taken[label]; ++k) chosen[numbers[order[k]]] = true;
  }
  Parts parts;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    (chosen[i] ? parts.validation : parts.train).push_back(i);
  }
  if (parts.train.empty() || parts.validation.empty()) {
    fail(Exit::usage,
         "a validation share of {} leaves {} of {} images to train on and {} to validate", fraction,
         parts.train.size(), labels.size(), parts.validation.size());
  }
  return parts;
}

}  // namespace vitruvian
