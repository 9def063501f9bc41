#include "vitruvian/core/base/error.hpp"

#include <algorithm>

namespace vitruvian {
namespace {

// The optimal string alignment distance.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

void fail_formatted(fmt::string_view format, fmt::format_args args) {
  throw Error(Exit::failure, fmt::vformat(format, args) + in_scope());
}

void fail_formatted(Exit exit, fmt::string_view format, fmt::format_args args) {
  throw Error(exit, fmt::vformat(format, args));
}

std::string closest_match(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr std::size_t longest = 64;  // what is longer is no typing mistake
  std::string best;
  std::size_t smallest = (std::min(word.size(), longest) + 2) / 3 + 1;
  for (const std::string& candidate : candidates) {
    if (word.size() > longest) break;
    // A beginning of the candidate is nearer than any misspelling.
    const bool prefix = word.size() >= 4 && candidate.starts_with(word);
    const std::size_t d = prefix ? 0 : distance(word, candidate);
    if (d < smallest) {
      smallest = d;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                         const std::string& otherwise) {
  const std::string near = closest_match(word, candidates);
  if (!near.empty()) return fmt::format("did you mean {}?", near);
  return otherwise.empty() ? fmt::format("there are {}", joined(candidates)) : otherwise;
}

std::size_t index_of(std::string_view name, const std::vector<std::string>& names,
                     std::string_view kind, const std::string& otherwise) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  fail(Exit::usage, "there is no {} '{}'; {}", kind, name, did_you_mean(name, names, otherwise));
}

}  // namespace vitruvian
